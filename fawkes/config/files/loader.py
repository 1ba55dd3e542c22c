"""The way from a TOML file to checked values, or to an error that names file, key, value and what would be right."""

from __future__ import annotations

import difflib
import re
import tomllib
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, time
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from fawkes.base.errors import ConfigError, cut
from fawkes.base.reading import read_text

MOST_DEPTH = 32
"""So many tables and lists may stand inside of each other; Hadoop's own keys without quotes need ten."""

MOST_TOLD = 20
"""So many faults of one file are told at once."""

M = TypeVar("M", bound="Strict")

_MOST_PREFIXES = 100
_LINE = re.compile(r"at line (\d+),")
_DOTTED = re.compile(r"\s*(?P<key>[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+)\s*=")
_HADOOP_TABLE = re.compile(r"\s*\[\s*(role\.[\w-]+\.)?hadoop\.[\w-]+\s*\]")
_AT = re.compile(r"(?P<what>.*) \(at (?P<place>line \d+, column \d+|end of document)\)", re.DOTALL)
#: the key of a table as Python's reader shows it, and the parts of that
_NAMESPACE, _PART = re.compile(r"\((?:'[^']*'(?:, |,)?)+\)"), r"'([^']*)'"
_EXPECTED = {
    "string_type": "text in quotes",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list: [...]",
    "tuple_type": "a list: [...]",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}
_NUMBERS = "Whole numbers go up to 2^63 - 1"
_NO_NUL = "Remove \\u0000"
_LONGEST_NAME = 100
_KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a table",
}


class Strict(BaseModel):
    """Base of all tables of configuration: frozen, typed strictly, unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class ManyConfigError(ConfigError):
    """Several keys of one file are wrong: ``errors`` has all; the first one is also this error's own."""

    def __init__(self, errors: Sequence[ConfigError]) -> None:
        first = errors[0]
        super().__init__(first.what, file=first.file, key=first.key, hint=first.hint)
        self.errors = tuple(errors)

    def __str__(self) -> str:
        lines = [str(error) for error in self.errors[:MOST_TOLD]]
        if len(self.errors) > MOST_TOLD:
            lines.append(f"{self.file}: {len(self.errors) - MOST_TOLD:,} more keys are wrong")
        return "\n".join(lines)


def wrong(what: str, hint: str = "") -> PydanticCustomError:
    """The error that a validator of a table raises: what is wrong and what would be right."""
    return PydanticCustomError("fawkes", "{what}", {"what": what, "hint": hint})


def did_you_mean(name: str, known: Iterable[str], *, kind: str = "known") -> str:
    """``did you mean 'x'?`` when something known is close, else the list of what is known."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1) if len(name) <= _LONGEST_NAME else []
    if near:
        return f"Did you mean {near[0]!r}?"
    return f"{kind.capitalize()}: {', '.join(names)}" if names else ""


class Faults:
    """Collects what is wrong in one file, so that the user hears all of it at once."""

    def __init__(self, file: Path | str, key: str = "") -> None:
        self.file = str(file)
        self.key = key
        self.errors: list[ConfigError] = []

    def place(self, key: str) -> str:
        """A key of the table that this is about, as a key of the file."""
        return f"{self.key}.{key}" if self.key and key else self.key or key

    def add(self, what: str, key: str = "", hint: str = "") -> None:
        """One more fault."""
        self.errors.append(ConfigError(what, file=self.file, key=self.place(key), hint=hint))

    def refuse(self) -> None:
        """Raise what was found: nothing, the one ConfigError, or ManyConfigError."""
        if len(self.errors) == 1:
            raise self.errors[0]
        if self.errors:
            raise ManyConfigError(self.errors)


def read_toml(path: Path, *, hint: str = "") -> dict[str, Any]:
    """The tables of a TOML file; ConfigError with line and column when it is not TOML or cannot be read.

    ``hint`` is what to do when there is no such file.
    """
    text = read_text(path, hint=hint)
    try:
        tables = _parsed(text)
    except tomllib.TOMLDecodeError as error:
        _refuse_syntax(path, text, error)
    except RecursionError:
        raise _too_deep(path, "") from None
    except ValueError as error:
        # Python itself refuses to read a number of thousands of digits.
        raise ConfigError("has a number with too many digits", file=str(path), hint=_NUMBERS) from error
    _refuse_odd_values(path, tables)
    return tables


def _parsed(text: str) -> dict[str, Any]:
    """The tables of a text; a key of Hadoop may also be the beginning of another one, without quotes around either."""
    lines = text.split("\n")
    for _ in range(_MOST_PREFIXES):
        try:
            return tomllib.loads("\n".join(lines))
        except tomllib.TOMLDecodeError as error:
            place = _LINE.search(str(error))
            at = int(place[1]) - 1 if place and "overwrite" in str(error) else -1
            match = _DOTTED.match(lines[at]) if at >= 0 and _is_of_hadoop(lines[:at]) else None
            if match is None:
                raise
            # As a whole it is no table, so it stands beside the other key; Hadoop's keys are put together anyway.
            lines[at] = f'"{match["key"]}"{lines[at][match.end("key") :]}'
    return tomllib.loads("\n".join(lines))


def _is_of_hadoop(before: Sequence[str]) -> bool:
    """True if the last head of a table in these lines is one of Hadoop's files."""
    head = next((line for line in reversed(before) if line.lstrip().startswith("[")), "")
    return bool(_HADOOP_TABLE.match(head))


def _refuse_odd_values(path: Path, tables: Mapping[str, Any]) -> None:
    """Refuse what TOML can write and no key can mean: deep nesting, NUL in a text, numbers beyond 64 bits."""
    left: list[tuple[Any, int, str]] = [(tables, 0, "")]
    while left:
        value, depth, key = left.pop()
        if depth > MOST_DEPTH:
            raise _too_deep(path, key)
        if isinstance(value, dict):
            for name, below in value.items():
                if "\0" in name:
                    raise ConfigError(f"the key {_shown(name)} has a NUL character", file=str(path), hint=_NO_NUL)
                left.append((below, depth + 1, f"{key}.{name}" if key else name))
        elif isinstance(value, list):
            left += [(below, depth + 1, f"{key}[#{number}]") for number, below in enumerate(value, 1)]
        elif isinstance(value, str) and "\0" in value:
            raise ConfigError(f"{_shown(value)} has a NUL character", file=str(path), key=cut(key), hint=_NO_NUL)
        elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise ConfigError("the number is too large", file=str(path), key=cut(key), hint=_NUMBERS)


def _too_deep(path: Path, key: str) -> ConfigError:
    what = f"has tables or lists inside of each other, more than {MOST_DEPTH} deep"
    return ConfigError(what, file=str(path), key=cut(key), hint="No key of Fawkes needs more than five levels")


def load(model: type[M], path: Path, *, hint: str = "") -> M:
    """A file as a checked ``model``; ConfigError, or ManyConfigError with all that is wrong in it."""
    return check(model, read_toml(path, hint=hint), file=str(path))


def check(model: type[M], data: object, *, file: str, key: str = "") -> M:
    """Tables as a checked ``model``; ``file`` and ``key`` (of the table in it) are for the errors."""
    if not isinstance(data, Mapping):
        raise ConfigError(f"{_shown(data)} is {_KINDS.get(type(data), 'no table')}, not a table", file=file, key=key)
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        details = error.errors(include_url=False)
    faults = Faults(file)
    faults.errors = [_explained(model, data, detail, file, key) for detail in details]
    faults.refuse()
    raise AssertionError("pydantic refused a table without a reason")


def _refuse_syntax(path: Path, text: str, error: tomllib.TOMLDecodeError) -> NoReturn:
    match = _AT.fullmatch(str(error))
    what, place = (match["what"], match["place"]) if match else (str(error), "")
    what = _NAMESPACE.sub(lambda key: f"[{'.'.join(re.findall(_PART, key[0]))}]", what)
    hint = 'Text needs quotes, such as nodes = "node[01-10]", and each key stands once in its table'
    if "\r" in text.replace("\r\n", ""):
        hint = "Its lines end with a lone carriage return: save it with Unix line ends"
    raise ConfigError(
        f"is not valid TOML: {cut(what[:1].lower() + what[1:])}", file=str(path), key=place, hint=hint
    ) from error


def _explained(
    model: type[BaseModel], data: Mapping[str, Any], details: ErrorDetails, file: str, key: str
) -> ConfigError:
    loc = [part for part in details["loc"] if not (isinstance(part, str) and part.startswith("function-"))]
    shown = _key(data, loc, key)
    kind, value = details["type"], details["input"]
    if kind == "extra_forbidden":
        known = _known_keys(model, loc[:-1])
        return ConfigError(
            f"unknown key {_shown(loc[-1])}", file=file, key=shown, hint=did_you_mean(str(loc[-1]), known)
        )
    if kind == "missing":
        return ConfigError("is missing", file=file, key=shown, hint=_description(model, loc))
    if kind == "fawkes":
        context = details.get("ctx", {})
        return ConfigError(context["what"], file=file, key=shown, hint=context["hint"])
    if kind == "list_type" and isinstance(value, dict) and _known_keys(model, [*loc, 0]):
        head = ".".join([*filter(None, [key]), *(part for part in loc if isinstance(part, str))])
        what = f"{_shown(value)} is a table, not a list of tables"
        return ConfigError(what, file=file, key=shown, hint=f"Write [[{head}]]")
    return ConfigError(
        *_value_error(kind, value, details), file=file, key=shown, hint=_value_hint(kind, value, details)
    )


def _value_error(kind: str, value: object, details: ErrorDetails) -> tuple[str]:
    if kind in _EXPECTED:
        return (f"{_shown(value)} is {_KINDS.get(type(value)) or _other(value)}, not {_EXPECTED[kind]}",)
    if kind == "value_error":
        return (details["msg"].removeprefix("Value error, "),)
    if kind == "literal_error":
        return (f"{_shown(value)} is none of {details['ctx']['expected']}",)
    if kind in ("too_long", "too_short"):
        context = details["ctx"]
        bound = f"at most {context['max_length']:,}" if kind == "too_long" else f"at least {context['min_length']}"
        return (f"has {context['actual_length']:,} entries where {bound} must be",)
    message = details["msg"].removeprefix("Input should be ")
    return (f"{_shown(value)} is wrong: it must be {message}",)


def _other(value: object) -> str:
    """The kind of a value that is none of TOML's usual ones: from Python it may be anything."""
    return "a date or time" if isinstance(value, date | time) else f"of Python's type {type(value).__name__}"


def _value_hint(kind: str, value: object, details: ErrorDetails) -> str:
    if kind == "string_type" and isinstance(value, float):
        return 'Put it in quotes as you mean it, such as "3.10": without them TOML reads 3.10 as the number 3.1'
    if kind == "string_type" and isinstance(value, int):
        return f'Put it in quotes: "{value}"'
    if kind == "literal_error":
        return did_you_mean(str(value), re.findall(r"'([^']*)'", details["ctx"]["expected"]), kind="possible")
    return ""


def _shown(value: object) -> str:
    return cut(_as_written(value))


def _as_written(value: object) -> str:
    """A value as TOML has it."""
    match value:
        case bool():
            return str(value).lower()
        case dict():
            return f"{{{', '.join(f'{name} = {_as_written(below)}' for name, below in value.items())}}}"
        case list():
            return f"[{', '.join(map(_as_written, value))}]"
        case date() | time():
            return str(value)
    return repr(value)


def _key(data: object, loc: Sequence[int | str], start: str) -> str:
    """``group[rack1].nodes``: members of a list by their name or id, else by their number from 1."""
    text = start
    for part in loc:
        if isinstance(part, int):
            data = data[part] if isinstance(data, list | tuple) and part < len(data) else None
            text += f"[{_name_of(data) or f'#{part + 1}'}]"
        else:
            data = data.get(part) if isinstance(data, Mapping) else None
            text += f".{part}" if text else part
    return cut(text)


def _name_of(data: object) -> str:
    if not isinstance(data, Mapping):
        return ""
    name = data.get("name", data.get("id"))
    return cut(name, 40) if isinstance(name, str) else ""


def _known_keys(model: type[BaseModel], loc: Sequence[int | str]) -> list[str]:
    at = _annotation(model, loc)
    return keys_of(at) if isinstance(at, type) and issubclass(at, BaseModel) else []


def keys_of(model: type[BaseModel]) -> list[str]:
    """The keys that a table may have, as they are written in a file."""
    return [field.alias or name for name, field in model.model_fields.items()]


def tables_of(model: type[BaseModel]) -> list[str]:
    """Those of the keys whose values are tables."""
    annotations = {key: _annotation(model, [key]) for key in keys_of(model)}
    return [
        key
        for key, at in annotations.items()
        if typing.get_origin(at) is dict or (isinstance(at, type) and issubclass(at, BaseModel))
    ]


def written(table: BaseModel) -> set[str]:
    """The keys that a file really gives for a table."""
    return {table.__class__.model_fields[name].alias or name for name in table.model_fields_set}


def _description(model: type[BaseModel], loc: Sequence[int | str]) -> str:
    at = _annotation(model, loc[:-1])
    if isinstance(at, type) and issubclass(at, BaseModel):
        for name, field in at.model_fields.items():
            if (field.alias or name) == loc[-1] and field.description:
                return f"Give {field.description}"
    return ""


def _annotation(model: type[BaseModel], loc: Sequence[int | str]) -> object:
    """The type that stands at ``loc`` inside of ``model``."""
    at: object = model
    for part in loc:
        at = _step(at, part)
    return at


def _step(at: object, part: int | str) -> object:
    for option in _options(at):
        if isinstance(option, type) and issubclass(option, BaseModel):
            for name, field in option.model_fields.items():
                if part in (name, field.alias):
                    return _bare(field.annotation)
        else:
            arguments = typing.get_args(option)
            if arguments:
                return _bare(arguments[-1] if not isinstance(part, int) else arguments[0])
    return None


def _options(at: object) -> tuple[object, ...]:
    if typing.get_origin(at) in (typing.Union, types.UnionType):
        return typing.get_args(at)
    return (at,)


def _bare(annotation: object) -> object:
    """The annotation without ``Annotated`` and ``| None``."""
    while typing.get_origin(annotation) is Annotated:
        annotation = typing.get_args(annotation)[0]
    options = [option for option in _options(annotation) if option is not type(None)]
    return _bare(options[0]) if len(options) == 1 and options[0] is not annotation else annotation
