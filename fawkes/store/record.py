"""Values of the core as text, and back: what the ledger stores and what a replay reads.

A coder for each type is put together once, from its annotations. A text is JSON, its keys sorted. Rules:

- a frozen dataclass is a mapping of its fields; where the annotation is a union of dataclasses (an event, an effect, a
  change), and at the top, ``kind`` holds the name of the class;
- an enum is its value, a tuple is a list, a mapping has string keys, ``Plain`` is itself;
- a field is left out while it equals an *empty* default (None, "", 0, False, an empty tuple or mapping): half of a
  reading is that. Other defaults are written, or a later version with another default would change the past. So a new
  field needs an empty default, or a migration of the ledger;
- NaN, infinities and numbers of the wrong type are refused here, because nobody could read them back.

A mapping comes back with its keys in the order of the text, which is sorted: a decision must not depend on the order
of a mapping, or a replay would differ.
"""

from __future__ import annotations

import json
import math
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum, IntEnum
from functools import cache
from json.encoder import encode_basestring as quoted
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


class NoJsonError(RecordError):
    """A text is damaged: no version of Fawkes writes such a one."""


def text_of(value: object) -> str:
    """The one text of a value of the core, the same on every machine; RecordError names what has none.

    A lone surrogate (a byte of some program's output that was no UTF-8) becomes "?", because no file could hold it.
    """
    kind: Any = type(value)
    return _storable(_at_top(kind).write(value))


@cache
def _at_top(form: Any) -> Coder:
    return coder(_UNION_OF.get(form, form))


def to_plain(value: object) -> Plain:
    """The same as plain data (dict, list, str, int, float, bool, None); RecordError as in `text_of`."""
    return cast(Plain, json.loads(text_of(value)))


def from_plain(form: type[T], plain: Plain) -> T:
    """The value of class ``form`` behind plain data; RecordError names the part that is missing, extra or wrong."""
    kind: Any = form
    value = _at_top(kind).decode(plain)
    if not isinstance(value, form):
        raise RecordError(f"is a {type(value).__name__}, not a {form.__name__}")
    return value


def event_of(plain: Plain) -> Event:
    """The event behind plain data; RecordError as in `from_plain`."""
    return cast(Event, coder(Event).decode(plain))


def change_of(plain: Plain) -> Change:
    """The change behind plain data; RecordError as in `from_plain`."""
    return cast(Change, coder(Change).decode(plain))


def decision_of(plain: Plain) -> Decision:
    """The decision behind plain data; RecordError as in `from_plain`."""
    return cast(Decision, coder(Decision).decode(plain))


_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False
)


def dumps(plain: Plain) -> str:
    """The one text of plain data, as `text_of` has it of values."""
    return _storable(_ENCODER.encode(plain))


def _storable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def loads(text: str) -> Plain:
    """Plain data from its text; NoJsonError when it is none."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise NoJsonError(f"is not JSON: {error}") from None


class Coder(NamedTuple):
    """The text of a value of one type, and the value of plain data; what is of class ``own`` is both."""

    write: Callable[[Any], str]
    decode: Callable[[Any], Any]
    own: type | None = None


@cache
def coder(form: Any) -> Coder:
    """The coder of an annotation; RecordError when plain data cannot carry the type."""
    form = getattr(form, "__supertype__", form)
    if form in _SCALARS:
        return _SCALARS[form]
    if form is Any or form is object:
        return _ANY
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
        return _mapping(given[0], coder(given[1]))
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


def _real_text(value: Any) -> str:
    return repr(_real(value))


_TRUTHS = {False: "false", True: "true"}
_WHOLE = _exactly(int, "a whole number")
_TRUTH = _exactly(bool, "true or false")
_NOTHING = _exactly(type(None), "nothing")
_SCALARS: dict[Any, Coder] = {
    int: Coder(lambda value: repr(_WHOLE(value)), _WHOLE, int),
    bool: Coder(lambda value: _TRUTHS[_TRUTH(value)], _TRUTH, bool),
    str: Coder(lambda value: quoted(_text(value)), _text, str),
    float: Coder(_real_text, _real),
    type(None): Coder(lambda value: _NOTHING(value) or "null", _NOTHING),
}


def _plain(value: Any) -> str:
    """Facts: whatever JSON can say, with enums as their values and tuples as lists."""
    kind = type(value)
    if kind is str:
        return quoted(value)
    if kind is int:
        return repr(value)
    if kind in _SCALARS:
        return _SCALARS[kind].write(value)
    if isinstance(value, float):
        return _real_text(value)
    if isinstance(value, Mapping):
        return _FACTS(value)
    if isinstance(value, (list, tuple)):
        return _LIST(value)
    if isinstance(value, str):
        return quoted(str(value))
    if isinstance(value, IntEnum):
        return repr(int(value))
    raise _refuse(value, "plain data")


def _enum(form: type[Enum]) -> Coder:
    members = {member.value: member for member in form}
    texts = {member: _plain(member.value) for member in form}

    def write(value: Any) -> str:
        if isinstance(value, form):
            return texts[value]
        raise _refuse(value, f"a {form.__name__}")

    def decode(plain: Any) -> Any:
        if isinstance(plain, (str, int)) and plain in members:
            return members[plain]
        raise _refuse(plain, f"one of {', '.join(map(str, members))}")

    return Coder(write, decode)


def _each(code: Callable[[Any], T], values: Iterable[Any]) -> list[T]:
    done: list[T] = []
    try:
        for value in values:
            done.append(code(value))
    except RecordError as error:
        raise error.within(f"[{len(done)}]") from None
    return done


def _tuple(each: Coder) -> Coder:
    def write(values: Any) -> str:
        if not isinstance(values, (tuple, list)):
            raise _refuse(values, "a tuple")
        return f"[{','.join(_each(each.write, values))}]"

    def decode(plain: Any) -> tuple[Any, ...]:
        if type(plain) is not list:
            raise _refuse(plain, "a list")
        return tuple(plain if set(map(type, plain)) == {each.own} else _each(each.decode, plain))

    return Coder(write, decode)


#: from so many entries on, what takes a while to begin is faster
_MANY = 8


def _mapping(form: Any, each: Coder) -> Coder:
    return Coder(_mapping_writer(_key(form), each), _mapping_reader(form, each))


def _mapping_writer(key: Callable[[Any], str], each: Coder) -> Callable[[Any], str]:
    of_each, own = each.write, each.own
    simple = key is _text and own is not None

    def write(values: Any) -> str:
        if type(values) is not dict and not isinstance(values, Mapping):
            raise _refuse(values, "a mapping")
        if simple and len(values) >= _MANY and {*map(type, values)} == {str} and {*map(type, values.values())} == {own}:
            return _ENCODER.encode(dict(values))
        given: Any = ""
        rows = []
        try:
            for given, value in values.items():
                rows.append((key(given), of_each(value)))
        except RecordError as error:
            raise error.within(f"[{given!r}]") from None
        rows.sort()
        return f"{{{','.join([f'{quoted(name)}:{text}' for name, text in rows])}}}"

    return write


def _mapping_reader(form: Any, each: Coder) -> Callable[[Any], dict[Any, Any]]:
    key, simple = coder(form).decode, coder(form) is _SCALARS[str]

    def decode(plain: Any) -> dict[Any, Any]:
        if type(plain) is not dict:
            raise _refuse(plain, "a mapping")
        if simple and {*map(type, plain.values())} == {each.own}:
            return dict(plain)
        done: dict[Any, Any] = {}
        for given, value in plain.items():
            try:
                done[key(given)] = each.decode(value)
            except RecordError as error:
                raise error.within(f"[{given!r}]") from None
        return done

    return decode


def _key(form: Any) -> Callable[[Any], str]:
    """The text of a key: JSON would turn 1 into "1" without a word."""
    write = coder(form).write
    return _text if coder(form) is _SCALARS[str] else lambda value: _text(json.loads(write(value)))


_ANY = Coder(_plain, _same)
_FACTS = _mapping_writer(_text, _ANY)
_LIST = _tuple(_ANY).write


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
    write, decode, own = inner
    return Coder(
        lambda value: "null" if value is None else write(value),
        lambda plain: None if plain is None else decode(plain),
        own,
    )


def _scalars(kinds: tuple[Any, ...]) -> Coder:
    wanted = " or ".join(kind.__name__ for kind in kinds)

    def check(value: Any) -> Any:
        if type(value) in kinds and (type(value) is not float or math.isfinite(value)):
            return value
        raise _refuse(value, wanted)

    return Coder(lambda value: _SCALARS[type(check(value))].write(value), check)


def _tagged(members: tuple[Any, ...]) -> Coder:
    """A union of dataclasses: ``kind`` says which one it is."""
    by_class = {member: _record_writer(member, tagged=True) for member in members}
    by_name = {member.__name__: coder(member).decode for member in members}

    def write(value: Any) -> str:
        inner = by_class.get(type(value))
        if inner is None:
            raise _refuse(value, f"one of {', '.join(sorted(by_name))}")
        return inner(value)

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

    return Coder(write, decode)


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


@cache
def _steps(form: type) -> list[_Step]:
    hints = typing.get_type_hints(form)
    steps = [_step(each, hints[each.name]) for each in fields(form)]
    if any(step.name == KIND for step in steps):
        raise RecordError(f"{form.__name__} has a field {KIND!r}, which is the name of the tag")
    return steps


def _record(form: type) -> Coder:
    return Coder(_record_writer(form, tagged=False), _record_decoder(form, _steps(form)))


#: how a value of a class is written that is its own data
_NATIVE = {int: "{part!r}", str: "{quoted(part)}", bool: "{truths[part]}"}
#: so many texts of a class are kept, none of them longer: readings of large pools and snapshots would fill the memory
_KEPT, _SHORT = 4096, 1024


def _record_writer(form: type, *, tagged: bool) -> Callable[[Any], str]:
    """The function that writes records of a class, its fields one after the other; a loop takes twice the time.

    A decision has most of its records twice, and every change of a job or a node has what never changes of it: the
    latest texts are kept.
    """
    steps = {step.name: step for step in _steps(form)}
    lines = []
    for at, name in enumerate(sorted([*steps, KIND] if tagged else steps)):
        if name == KIND:
            lines.append(f'        text += \',"{KIND}":"{form.__name__}"\'')
            continue
        step = steps[name]
        own = f" if type(part) is not own_{at} else f',\"{name}\":{_NATIVE[step.coder.own]}'" if step.coder.own else ""
        when = "if part is not None" if step.omit_none else "if part or part is None" if step.omit_empty else "if True"
        lines.append(f"        part, name = value.{name}, '{name}'")
        lines.append(f"        {when}: text += f',\"{name}\":{{write_{at}(part)}}'{own}")
    body = "\n".join(lines)
    text = f"""
def write(value):
    if type(value) is not form: raise refuse(value, 'a {form.__name__}')
    found = kept.get(id(value))
    if found is not None and found[0] is value: return found[1]
    text = name = ''
    try:
{body or "        pass"}
    except RecordError as error: raise error.within('.' + name) from None
    text = f'{{{{{{text[1:]}}}}}}'
    if len(text) <= {_SHORT}:
        if len(kept) >= {_KEPT}: kept.clear()
        kept[id(value)] = value, text
    return text
"""
    space: dict[str, Any] = {
        "form": form, "kept": {}, "quoted": quoted, "truths": _TRUTHS, "refuse": _refuse, "RecordError": RecordError,
    }  # fmt: skip
    for at, name in enumerate(sorted([*steps, KIND] if tagged else steps)):
        if name != KIND:
            space |= {f"own_{at}": steps[name].coder.own, f"write_{at}": steps[name].coder.write}
    # The text has names of fields alone.
    exec(text, space)  # noqa: S102
    made: Callable[[Any], str] = space["write"]
    return made


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
