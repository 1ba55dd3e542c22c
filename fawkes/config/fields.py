"""Kinds of values that several files share: durations, sizes, names, shares."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from fawkes.config.loader import wrong
from fawkes.config.nodeset import is_host_name
from fawkes.units import duration_us, size_bytes

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}")


def duration(value: object) -> int:
    """Microseconds in a duration of a file; the error for a validator when it is none."""
    return duration_us(_with_unit(value, "a duration", "s"))


def size(value: object) -> int:
    """Bytes in a size of a file; the error for a validator when it is none."""
    return size_bytes(_with_unit(value, "a size", "GB"))


def _with_unit(value: object, kind: str, unit: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise wrong(f"{value} has no unit", f'Write {kind} with its unit in quotes, such as "{value}{unit}"')
    raise wrong(f"{value!r} is not {kind}", f'Write a number and a unit in quotes, such as "90{unit}"')


def positive(value: int) -> int:
    """The value, if it is more than nothing; else the error for a validator."""
    if value <= 0:
        raise wrong("0 is too little", "It must be more than nothing")
    return value


def is_name(text: str) -> bool:
    """Whether ``text`` can be an id: short, safe as a folder's name, the same in any spelling of capitals."""
    return _NAME.fullmatch(text) is not None


def _name(text: str) -> str:
    if not is_name(text):
        raise wrong(
            f"{text!r} cannot be a name here",
            "Use up to 63 small letters, digits and '-', with a letter or a digit at both ends",
        )
    return text


def _user(text: str) -> str:
    if not _USER.fullmatch(text):
        raise wrong(f"{text!r} cannot be a user name", "Use letters, digits, '_', '-' and '.'")
    return text


def _host(text: str) -> str:
    if not is_host_name(text):
        raise wrong(f"{text!r} cannot be a host name or an IPv4 address", "Use letters, digits, '-' and '.'")
    return text


def _absolute(text: str) -> str:
    if not text.startswith("/") or "\0" in text or "\n" in text:
        raise wrong(f"{text!r} is no absolute path", "Begin it with '/'")
    if text == "/" or ".." in text.split("/"):
        raise wrong(f"{text!r} is no folder to work in", "Name a folder of its own, without '..'")
    return text.rstrip("/")


def _path(value: object) -> object:
    if isinstance(value, str):
        if not value:
            raise wrong("the path is empty", "Name a file")
        return Path(value).expanduser()
    return value


DurationUs = Annotated[int, BeforeValidator(duration)]
PositiveDurationUs = Annotated[int, BeforeValidator(duration), AfterValidator(positive)]
SizeBytes = Annotated[int, BeforeValidator(size), AfterValidator(positive)]
Name = Annotated[str, AfterValidator(_name)]
UserName = Annotated[str, AfterValidator(_user)]
Host = Annotated[str, AfterValidator(_host)]
RemoteFolder = Annotated[str, AfterValidator(_absolute)]
LocalPath = Annotated[Path, BeforeValidator(_path)]
Port = Annotated[int, Field(ge=1, le=65535)]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
