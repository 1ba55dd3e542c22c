"""Values of the core as plain data, and back: what the ledger stores and what a replay reads.

A coder for each type is put together once, from its annotations. Rules:

- a frozen dataclass is a mapping of its fields; where the annotation is a union of dataclasses (an event, an effect, a
  change), and at the top, ``kind`` holds the name of the class;
- an enum is its value, a tuple is a list, a mapping has string keys, ``Plain`` is itself;
- a field is left out while it equals an *empty* default (None, "", 0, False, an empty tuple or mapping): half of a
  reading is that. Other defaults are written, or a later version with another default would change the past. So a new
  field needs an empty default, or a migration of the ledger;
- NaN, infinities and numbers of the wrong type are refused here, because nobody could read them back.

A mapping comes back with its keys in the order of the text, which `dumps` sorts: a decision must not depend on the
order of a mapping, or a replay would differ.
"""

from __future__ import annotations

import json
import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum, IntEnum
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar, cast

from fawkes.base.errors import BrokenError
from fawkes.core.values.decision import CHANGES, Change, Decision
from fawkes.core.values.effects import EFFECTS, Effect
from fawkes.core.values.events import EVENTS, Event
from fawkes.core.values.model import Plain

T = TypeVar("T")

KIND = "kind"

_UNION_OF: dict[type, Any] = (
    dict.fromkeys(EVENTS, Event) | dict.fromkeys(EFFECTS, Effect) | dict.fromkeys(CHANGES, Change)
)


class RecordError(BrokenError):
    """A value cannot be written, or a record cannot be read; ``path`` says which part of it."""

    def __init__(self, what: str, path: str = "") -> None:
        super().__init__(what, where=path.lstrip("."))
        self.path = path

    def within(self, step: str) -> RecordError:
        """The same fault, seen from one level further out."""
        return RecordError(self.what, step + self.path)


def to_plain(value: object) -> Plain:
    """Plain data (dict, list, str, int, float, bool, None) for a value of the core; RecordError names what has none."""
    return coder(_UNION_OF.get(type(value), type(value))).encode(value)


def from_plain(form: type[T], plain: Plain) -> T:
    """The value of class ``form`` behind plain data; RecordError names the part that is missing, extra or wrong."""
    value = coder(_UNION_OF.get(form, form)).decode(plain)
    if not isinstance(value, form):
        raise RecordError(f"is a {type(value).__name__}, not a {form.__name__}")
    return value


def event_of(plain: Plain) -> Event:
    """The event behind plain data; RecordError as in `from_plain`."""
    return cast(Event, coder(Event).decode(plain))


def change_of(plain: Plain) -> Change:
    """The change behind plain data; RecordError as in `from_plain`."""
    return cast(Change, coder(Change).decode(plain))


def decision_plain(decision: Decision) -> Plain:
    """A decision as plain data: its changes, effects and reasons."""
    return coder(Decision).encode(decision)


def decision_of(plain: Plain) -> Decision:
    """The decision behind plain data; RecordError as in `from_plain`."""
    return cast(Decision, coder(Decision).decode(plain))


_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False
)


def dumps(plain: Plain) -> str:
    """The one text of plain data: sorted keys, no spaces; equal data gives equal text on every machine.

    A lone surrogate (a byte of some program's output that was no UTF-8) becomes "?", because no file could hold it.
    """
    text = _ENCODER.encode(plain)
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def loads(text: str) -> Plain:
    """Plain data from its text; RecordError when it is none."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise RecordError(f"is not JSON: {error}") from None


class Coder(NamedTuple):
    """The two ways between a value of one type and its plain data; values of the class ``own`` are their own data."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]
    own: type | None = None


@cache
def coder(form: Any) -> Coder:
    """The coder of an annotation; RecordError when plain data cannot carry the type."""
    form = getattr(form, "__supertype__", form)
    if form in _SCALARS:
        return _SCALARS[form]
    if form is Any or form is object:
        return Coder(_plain, _same)
    origin = typing.get_origin(form)
    if origin is not None:
        return _generic(form, origin, typing.get_args(form))
    if isinstance(form, type) and issubclass(form, Enum):
        return _enum(form)
    if is_dataclass(form):
        return _record(cast(type, form))
    raise RecordError(f"no plain data for the type {form}")


def _generic(form: Any, origin: Any, given: tuple[Any, ...]) -> Coder:
    if origin in (types.UnionType, typing.Union):
        return _union(form, given)
    if origin is tuple and len(given) == 2 and given[1] is Ellipsis:
        return _tuple(coder(given[0]))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(coder(given[0]), coder(given[1]))
    raise RecordError(f"no plain data for the type {form}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _refuse(value: object, wanted: str) -> RecordError:
    return RecordError(f"is {_shown(value)}, not {wanted}")


def _same(value: Any) -> Any:
    return value


def _exactly(kind: type, wanted: str) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if type(value) is kind:
            return value
        raise _refuse(value, wanted)

    return check


def _text(value: Any) -> str:
    if type(value) is str:
        return value
    if isinstance(value, str):
        return str(value)
    raise _refuse(value, "a string")


def _real(value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise _refuse(value, "a finite number")


_WHOLE = _exactly(int, "a whole number")
_TRUTH = _exactly(bool, "true or false")
_NOTHING = _exactly(type(None), "nothing")
_SCALARS: dict[Any, Coder] = {
    int: Coder(_WHOLE, _WHOLE, int),
    bool: Coder(_TRUTH, _TRUTH, bool),
    str: Coder(_text, _text, str),
    float: Coder(_real, _real),
    type(None): Coder(_NOTHING, _NOTHING),
}


def _plain(value: Any) -> Any:
    """Facts: whatever JSON can say, with enums as their values and tuples as lists."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if isinstance(value, float):
        return _real(value)
    if isinstance(value, Mapping):
        return _plain_mapping(value)
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, str):
        return str(value)
    if isinstance(value, IntEnum):
        return int(value)
    raise _refuse(value, "plain data")


def _plain_mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    plain = {}
    for key, each in value.items():
        try:
            plain[_text(key)] = _plain(each)
        except RecordError as error:
            raise error.within(f"[{key!r}]") from None
    return plain


def _enum(form: type[Enum]) -> Coder:
    members = {member.value: member for member in form}

    def encode(value: Any) -> Any:
        if isinstance(value, form):
            return value.value
        raise _refuse(value, f"a {form.__name__}")

    def decode(plain: Any) -> Any:
        if isinstance(plain, (str, int)) and plain in members:
            return members[plain]
        raise _refuse(plain, f"one of {', '.join(map(str, members))}")

    return Coder(encode, decode)


def _tuple(each: Coder) -> Coder:
    def run(code: Callable[[Any], Any], values: tuple[Any, ...] | list[Any]) -> list[Any]:
        if set(map(type, values)) == {each.own}:
            return list(values)
        done: list[Any] = []
        try:
            for value in values:
                done.append(code(value))
        except RecordError as error:
            raise error.within(f"[{len(done)}]") from None
        return done

    def encode(values: Any) -> list[Any]:
        if not isinstance(values, (tuple, list)):
            raise _refuse(values, "a tuple")
        return run(each.encode, values)

    def decode(plain: Any) -> tuple[Any, ...]:
        if type(plain) is not list:
            raise _refuse(plain, "a list")
        return tuple(run(each.decode, plain))

    return Coder(encode, decode)


def _mapping(key: Coder, each: Coder) -> Coder:
    def run(name: Callable[[Any], Any], code: Callable[[Any], Any], values: Mapping[Any, Any]) -> dict[Any, Any]:
        if set(map(type, values)) == {key.own} and set(map(type, values.values())) == {each.own}:
            return dict(values)
        done: dict[Any, Any] = {}
        for given, value in values.items():
            try:
                done[name(given)] = code(value)
            except RecordError as error:
                raise error.within(f"[{given!r}]") from None
        return done

    def encode(values: Any) -> dict[str, Any]:
        if not isinstance(values, Mapping):
            raise _refuse(values, "a mapping")
        return run(_as_text(key.encode), each.encode, values)

    def decode(plain: Any) -> dict[Any, Any]:
        if type(plain) is not dict:
            raise _refuse(plain, "a mapping")
        return run(key.decode, each.decode, plain)

    return Coder(encode, decode)


def _as_text(encode: Callable[[Any], Any]) -> Callable[[Any], str]:
    """Keys must be texts: JSON would turn 1 into "1" without a word."""
    return lambda key: _text(encode(key))


def _union(form: Any, given: tuple[Any, ...]) -> Coder:
    rest = tuple(each for each in given if each is not type(None))
    if len(rest) < len(given):
        return _optional(coder(typing.Union[rest]))  # noqa: UP007 - built from values
    if all(is_dataclass(each) for each in rest):
        return _tagged(rest)
    if all(each in _SCALARS for each in rest):
        return _scalars(rest)
    raise RecordError(f"no plain data for the type {form}")


def _optional(inner: Coder) -> Coder:
    encode, decode, own = inner
    return Coder(
        lambda value: None if value is None else encode(value),
        lambda plain: None if plain is None else decode(plain),
        own,
    )


def _scalars(kinds: tuple[Any, ...]) -> Coder:
    wanted = " or ".join(kind.__name__ for kind in kinds)

    def check(value: Any) -> Any:
        if type(value) in kinds and (type(value) is not float or math.isfinite(value)):
            return value
        raise _refuse(value, wanted)

    return Coder(check, check)


def _tagged(members: tuple[Any, ...]) -> Coder:
    """A union of dataclasses: ``kind`` says which one it is."""
    by_class = {member: coder(member).encode for member in members}
    by_name = {member.__name__: coder(member).decode for member in members}

    def encode(value: Any) -> dict[str, Any]:
        inner = by_class.get(type(value))
        if inner is None:
            raise _refuse(value, f"one of {', '.join(sorted(by_name))}")
        plain = cast(dict[str, Any], inner(value))
        plain[KIND] = type(value).__name__
        return plain

    def decode(plain: Any) -> Any:
        if type(plain) is not dict:
            raise _refuse(plain, "a record")
        kind = plain.get(KIND)
        inner = by_name.get(kind) if isinstance(kind, str) else None
        if inner is None:
            raise RecordError(f"has the unknown kind {_shown(kind)}: known are {', '.join(sorted(by_name))}")
        try:
            return inner({name: value for name, value in plain.items() if name != KIND})
        except RecordError as error:
            raise error.within(f".{kind}") from None

    return Coder(encode, decode)


class _Step(NamedTuple):
    """The way to write and read one field of a record; it is left out as None or as empty when its default is that."""

    name: str
    coder: Coder
    omit_none: bool
    omit_empty: bool
    required: bool


def _step(field: Field[Any], form: Any) -> _Step:
    default = field.default if field.default_factory is MISSING else field.default_factory()
    empty = default is not MISSING and default is not None and not default
    return _Step(
        field.name,
        coder(form),
        omit_none=default is None,
        omit_empty=empty and type(None) not in typing.get_args(form),
        required=default is MISSING,
    )


def _record(form: type) -> Coder:
    hints = typing.get_type_hints(form)
    steps = [_step(each, hints[each.name]) for each in fields(form)]
    if any(step.name == KIND for step in steps):
        raise RecordError(f"{form.__name__} has a field {KIND!r}, which is the name of the tag")
    return Coder(_record_encoder(form, steps), _record_decoder(form, steps))


def _record_encoder(form: type, steps: list[_Step]) -> Callable[[Any], dict[str, Any]]:
    # One call for all fields; the class, twice, makes it a tuple also when there is one field or none.
    read = attrgetter(*(step.name for step in steps), "__class__", "__class__")
    rows = [(each.name, each.coder.own, each.coder.encode, each.omit_none, each.omit_empty) for each in steps]

    def encode(value: Any) -> dict[str, Any]:
        if type(value) is not form:
            raise _refuse(value, f"a {form.__name__}")
        plain: dict[str, Any] = {}
        name = ""
        try:
            for (name, own, code, omit_none, omit_empty), part in zip(rows, read(value), strict=False):
                if omit_none if part is None else (omit_empty and not part):
                    continue
                plain[name] = part if type(part) is own else code(part)
        except RecordError as error:
            raise error.within(f".{name}") from None
        return plain

    return encode


def _record_decoder(form: type, steps: list[_Step]) -> Callable[[Any], Any]:
    rows = {step.name: step.coder for step in steps}
    required = {step.name for step in steps if step.required}

    def decode(plain: Any) -> Any:
        if type(plain) is not dict:
            raise _refuse(plain, f"the fields of a {form.__name__}")
        if not (plain.keys() <= rows.keys() and required <= plain.keys()):
            raise _misfit(form, plain.keys() - rows.keys(), required - plain.keys())
        given: dict[str, Any] = {}
        name = ""
        try:
            for name, part in plain.items():
                given[name] = rows[name].decode(part)
        except RecordError as error:
            raise error.within(f".{name}") from None
        return form(**given)

    return decode


def _misfit(form: type, extra: set[str], missing: set[str]) -> RecordError:
    said = [f"lacks the field {name!r}" for name in sorted(missing)]
    said += [f"has the unknown field {name!r}" for name in sorted(extra)]
    return RecordError(f"{form.__name__} {' and '.join(said)}")
