"""Copies of values with other fields: as Python's own, for every class of values that the core has."""

from __future__ import annotations

import dataclasses
import importlib
from dataclasses import dataclass, field, is_dataclass
from pkgutil import iter_modules
from unittest.mock import sentinel

import pytest

from fawkes.base.values import replace
from fawkes.core import values
from fawkes.core.values.model import Node, NodeId, NodeLife, NodeState

_MODULES = [importlib.import_module(f"fawkes.core.values.{name}") for _, name, _ in iter_modules(values.__path__)]
_CLASSES = {kind for module in _MODULES for kind in vars(module).values() if isinstance(kind, type)}
#: classes that refuse what they cannot be are left to Python
_VALUES = sorted(
    (kind for kind in _CLASSES if is_dataclass(kind) and not hasattr(kind, "__post_init__")),
    key=lambda kind: kind.__name__,
)


@pytest.mark.parametrize("kind", _VALUES, ids=lambda kind: kind.__name__)
def test_a_copy_is_pythons_own_whatever_field_differs(kind: type) -> None:
    names = [each.name for each in dataclasses.fields(kind)]
    value = kind(**{name: getattr(sentinel, name) for name in names})
    for name in names:
        copy = replace(value, **{name: sentinel.other})
        assert type(copy) is kind
        assert copy == dataclasses.replace(value, **{name: sentinel.other})
    assert replace(value) == value


def test_a_copy_is_frozen_and_its_original_stays() -> None:
    old = NodeState(node=Node(id=NodeId("n1"), site="s"))
    new = replace(old, life=NodeLife.OUT)
    assert (old.life, new.life) == (NodeLife.FREE, NodeLife.OUT)
    with pytest.raises(dataclasses.FrozenInstanceError):
        new.life = NodeLife.FREE  # type: ignore[misc]


def test_a_field_that_a_value_does_not_have_is_refused() -> None:
    with pytest.raises(TypeError, match="NodeState has no lief"):
        replace(NodeState(node=Node(id=NodeId("n1"), site="s")), lief=NodeLife.OUT)  # type: ignore[call-arg]


@dataclass(frozen=True)
class _Base:
    x: int = 0


@dataclass(frozen=True, slots=True)
class _Inherits(_Base):
    y: int = 0


@dataclass(frozen=True, slots=True)
class _Counts:
    x: int
    twice: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "twice", 2 * self.x)


@pytest.mark.parametrize("value", [_Base(1), _Inherits(1, 2), _Counts(1)])
def test_other_classes_are_copied_by_python(value: _Base | _Inherits | _Counts) -> None:
    assert replace(value, x=3) == dataclasses.replace(value, x=3)
