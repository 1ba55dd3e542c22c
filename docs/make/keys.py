"""Keys of the files that users write, from the models that read them."""

from __future__ import annotations

import importlib
import types
import typing
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, PlainValidator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from docs.make.table import code, table
from fawkes.base.units import show_bytes, show_duration
from fawkes.config.clusters.owned_keys import FOLDERS, FOLDERS_HINT, OWNED
from fawkes.config.files.fields import bounds_of
from fawkes.config.settings.presets import PRESETS

READ_BY = {
    "fawkes.config.clusters.clusters._idle": 'duration or "never"',
    "fawkes.config.clusters.clusters._min_nodes": 'whole number from 1, or "auto"',
    "fawkes.config.files.fields._absolute": "absolute folder",
    "fawkes.config.files.fields._host": "host name or IPv4 address",
    "fawkes.config.files.fields._name": "name",
    "fawkes.config.files.fields._path": "local path",
    "fawkes.config.files.fields._user": "user name",
    "fawkes.config.files.fields.duration": "duration",
    "fawkes.config.files.fields.size": "size",
    "fawkes.config.clusters.hadoop._sites": "tables of Hadoop's keys",
    "fawkes.config.clusters.hadoop.full_version": "version in quotes",
    "fawkes.config.nodes.inventory._attribute": "text, number or boolean",
    "fawkes.config.nodes.jumps._proxy_jump": "jump hosts",
    "fawkes.config.jobs.arrays.checkpoint": '"none", "own", "criu"',
    "fawkes.config.jobs.jobs._list": "absolute folder, or a list of them",
    "fawkes.config.jobs.jobs._properties": "table of Hadoop's keys",
    "fawkes.config.jobs.jobs._words": "list of text",
    "fawkes.config.settings.keys._budget": 'share such as "20%", or "unlimited"',
    "fawkes.config.settings.keys._groups": "name of a Unix group, or a list of them",
    "fawkes.config.settings.keys._idle": 'duration, "period" or "never"',
    "fawkes.config.settings.keys._leave": 'duration or "instant"',
    "fawkes.config.settings.keys._parameter": "number, text or boolean",
    "fawkes.config.settings.web._address": "host and port",
}
"""What a value looks like in a file, by the function that reads it."""

_PLAIN = {str: "text", int: "whole number", float: "number", bool: "boolean"}
_MIB = 1 << 20


def keys(place: str, *defaults: str) -> str:
    """The keys of a model, named as ``module:Class``: their values, their defaults and their descriptions.

    ``defaults`` names classes in the same way: their values are the defaults of keys that have none in the model.
    """
    return _table(_model(place).model_fields.items(), [_found(name)() for name in defaults])


def more_keys(place: str, base: str) -> str:
    """The keys that a model has beyond those of another model."""
    below = _model(base).model_fields
    return _table((name, field) for name, field in _model(place).model_fields.items() if name not in below)


def presets() -> str:
    """Each setting that presets decide, with its value in each preset."""
    names = {key: None for preset in PRESETS.values() for key in preset}
    rows = [
        (code(key), *(_shown(preset[key].value) if key in preset else "" for preset in PRESETS.values()))
        for key in names
    ]
    return table(["key", *PRESETS], rows)


def owned_keys() -> str:
    """Hadoop's keys that nobody overrides, by the reason."""
    by_reason: dict[str, list[str]] = {}
    for key, reason in (*OWNED.items(), *((key, FOLDERS_HINT) for key in sorted(FOLDERS))):
        by_reason.setdefault(reason, []).append(key)
    return table(
        ["keys", "why, or what to do instead"], [(", ".join(map(code, keys)), why) for why, keys in by_reason.items()]
    )


def _model(place: str) -> type[BaseModel]:
    model: type[BaseModel] = _found(place)
    return model


def _found(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def _table(fields: Iterable[tuple[str, FieldInfo]], defaults: Sequence[object] = ()) -> str:
    rows = [
        (
            code(field.alias or name),
            _value(field),
            _default(field) or _default_in(defaults, name, field),
            _sentence(field.description or ""),
        )
        for name, field in fields
    ]
    return table(["key", "value", "default", "description"], rows)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _value(field: FieldInfo) -> str:
    """What a value looks like, and its bounds: ``whole number from 1 to 1,024``, ``size (512 B to 1.0 TB)``."""
    words = _words(field.annotation, field.metadata)
    bounds = bounds_of(Annotated[field.annotation, *field.metadata, field])
    if bounds is None:
        return words
    return f"{words} from {bounds}" if words in _PLAIN.values() else f"{words} ({bounds})"


def _words(annotation: object, metadata: Iterable[object] = ()) -> str:
    """A value of this type in words."""
    marks = list(metadata)
    while typing.get_origin(annotation) is Annotated:
        annotation, *inner = typing.get_args(annotation)
        marks = [*inner, *marks]
    read = _read_by(marks)
    if read:
        return read
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_words(each, marks) for each in arguments if each is not type(None))
    if origin is Literal:
        return ", ".join(f'"{each}"' for each in arguments)
    if origin is list:
        return "tables" if _is_table(arguments[0]) else f"list of: {_words(arguments[0])}"
    if origin is dict:
        return "tables" if _is_table(arguments[1]) else "table"
    if _is_table(annotation):
        return "table"
    return _PLAIN.get(typing.cast(type, annotation), "value") + _limits(_flat(marks))


def _read_by(marks: Iterable[object]) -> str:
    """The words of the last function that reads the value; KeyError for a reader that has no words."""
    words = ""
    for mark in marks:
        if isinstance(mark, AfterValidator | BeforeValidator | PlainValidator):
            name = f"{getattr(mark.func, '__module__', '')}.{getattr(mark.func, '__name__', '')}"
            only_checks = isinstance(mark, AfterValidator) and name not in READ_BY
            words = words if only_checks else READ_BY[name]
    return words


def _flat(marks: Iterable[object]) -> list[object]:
    """The marks, those inside of a `Field` included."""
    return [inner for mark in marks for inner in (mark.metadata if isinstance(mark, FieldInfo) else [mark])]


def _limits(marks: Sequence[object]) -> str:
    """The bounds of a number, as pydantic has them."""
    least = next((mark.ge for mark in marks if hasattr(mark, "ge") and mark.ge is not None), None)
    above = next((mark.gt for mark in marks if hasattr(mark, "gt") and mark.gt is not None), None)
    most = next((mark.le for mark in marks if hasattr(mark, "le") and mark.le is not None), None)
    parts = [f" from {least:g}" if least is not None else "", f" above {above:g}" if above is not None else ""]
    return "".join(parts) + (f" to {_grouped(most)}" if most is not None else "")


def _grouped(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"


def _is_table(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "by the preset" if _is_preset(field) else "required"
    value = field.default
    if value is PydanticUndefined or value is None or value in ("", [], {}) or isinstance(value, BaseModel):
        return ""
    return _written(value, _value(field))


def _default_in(places: Sequence[object], name: str, field: FieldInfo) -> str:
    """The default that the first of these objects has for a key; nothing when none has it."""
    found = [getattr(place, name) for place in places if hasattr(place, name)]
    return _written(found[0], _value(field)) if found else ""


def _written(value: Any, words: str) -> str:
    """A value as one would write it in a file."""
    if words.startswith("duration"):
        return code("0s" if value == 0 else show_duration(value).replace(" ", ""))
    if words.startswith("size"):
        return code(
            f"{value / _MIB:.0f}MiB" if value % _MIB == 0 else show_bytes(value).replace(" ", "").replace(".0", "")
        )
    return code(", ".join(value) if isinstance(value, list) else _shown(value))


def _is_preset(field: FieldInfo) -> bool:
    from fawkes.config.settings.keys import Patience, Retries, SettingsFile, SshLimits, Timeouts

    tables = (Patience, Retries, SettingsFile, SshLimits, Timeouts)
    return any(field is each for model in tables for each in model.model_fields.values())


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value).lower() if isinstance(value, bool) else str(value)
