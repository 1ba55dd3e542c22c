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


def _duration(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise wrong(f"{value} has no unit", f'Write a duration with its unit in quotes, such as "{value}s"')
    return duration_us(value) if isinstance(value, str) else value


def _size(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise wrong(f"{value} has no unit", f'Write a size with its unit in quotes, such as "{value}GB"')
    return size_bytes(value) if isinstance(value, str) else value


def _positive(value: int) -> int:
    if value <= 0:
        raise wrong("0 is too little", "It must be more than nothing")
    return value


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
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


DurationUs = Annotated[int, BeforeValidator(_duration)]
PositiveDurationUs = Annotated[int, BeforeValidator(_duration), AfterValidator(_positive)]
SizeBytes = Annotated[int, BeforeValidator(_size), AfterValidator(_positive)]
Name = Annotated[str, AfterValidator(_name)]
UserName = Annotated[str, AfterValidator(_user)]
Host = Annotated[str, AfterValidator(_host)]
RemoteFolder = Annotated[str, AfterValidator(_absolute)]
LocalPath = Annotated[Path, BeforeValidator(_path)]
Port = Annotated[int, Field(ge=1, le=65535)]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
