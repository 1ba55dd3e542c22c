"""Kinds of values that several files share: durations, sizes, names, shares."""

from __future__ import annotations

import os
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, Union

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from fawkes.base.errors import cut
from fawkes.base.paths import NAME, is_name
from fawkes.base.units import MOST_SEED, SECOND_US, duration_us, show_bytes, show_duration, size_bytes
from fawkes.base.visible import visible
from fawkes.config.files.loader import wrong
from fawkes.config.files.nodeset import MOST_NODES, is_host_name

MOST_TASKS = 1_000_000
"""Tasks of one job."""
MOST_JOBS = 100_000
"""Jobs of one kind that a file may ask for."""

#: a number without a unit that is larger is no number of gigabytes
_MOST_GB = 100_000

N = TypeVar("N", int, float)

_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}")
_NOT_FOR_HADOOP = re.compile(r'[^!-~]|["#%,:;<>?\[\\\]^`{|}]')


def duration(value: object) -> int:
    """Microseconds in a duration of a file; the error for a validator when it is none."""
    return duration_us(_with_unit(value, "a duration", "s"))


def size(value: object) -> int:
    """Bytes in a size of a file; the error for a validator when it is none."""
    many = isinstance(value, int | float) and value > _MOST_GB
    return size_bytes(_with_unit(value, "a size", "B" if many else "GB"))


def _with_unit(value: object, kind: str, unit: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise wrong(f"{value} has no unit", f'Write {kind} with its unit in quotes, such as "{value}{unit}"')
    raise wrong(f"{value!r} is not {kind}", f'Write a number and a unit in quotes, such as "90{unit}"')


def positive(value: int) -> int:
    """The value, if it is greater than 0; else the error for a validator."""
    if value <= 0:
        raise wrong("0 is too little", "It must be greater than 0")
    return value


def _number(value: float) -> str:
    return cut(f"{value:g}" if isinstance(value, float) else f"{value:,}", 40)


@dataclass(frozen=True)
class NumberBounds:
    """The least and the most that a number may be, and ``why``, which completes "at most 1,024: ..."."""

    least: float
    most: float
    why: str
    show: Callable[[Any], str]

    def __str__(self) -> str:
        """``1 to 1,024``, as the pages about files have it."""
        return f"{self.show(self.least)} to {self.show(self.most)}"

    def __call__(self, value: N) -> N:
        """The value, if it lies between the bounds; else the error for a validator."""
        if value > self.most:
            raise wrong(f"{self.show(value)} is too large", f"It may be at most {self.show(self.most)}: {self.why}")
        if value < self.least:
            raise wrong(f"{self.show(value)} is too small", f"It must be at least {self.show(self.least)}")
        return value


def _days(us: int) -> str:
    days, rest = divmod(us, 86400 * SECOND_US)
    return f"{days}d" if days and not rest else show_duration(us)


def between(least: float, most: float, why: str, show: Callable[[Any], str] = _number) -> AfterValidator:
    """Both bounds of a number of a file; ``show`` writes a value for people, such as microseconds or bytes."""
    return AfterValidator(NumberBounds(least, most, why, show))


def bounds_of(annotation: object) -> NumberBounds | None:
    """The bounds of a key's type; None when it has none, or is no single number."""
    checks = [mark.func for mark in getattr(annotation, "__metadata__", ()) if isinstance(mark, AfterValidator)]
    bounds = next((check for check in checks if isinstance(check, NumberBounds)), None)
    below = typing.get_args(annotation) if typing.get_origin(annotation) in (Annotated, Union, UnionType) else ()
    return bounds or next(filter(None, map(bounds_of, below)), None)


def _name(text: str) -> str:
    if not is_name(text):
        raise wrong(
            f"{text!r} cannot be a name here",
            "Use up to 63 small letters, digits and '-', with a letter or a digit at both ends",
        )
    return text


def _some_text(text: str) -> str:
    if not text.strip():
        raise wrong("the text is empty", "Write something, or leave the key out")
    return text


def _line(text: str) -> str:
    """A line that others read: it must not begin a second one, nor turn or hide the rest."""
    if visible(text) != text or "\n" in text or "\t" in text:
        raise wrong(
            "the text has characters that end lines, are controls or turn the direction", "Write one plain line"
        )
    return text


def is_user(text: str) -> bool:
    """True if ``text`` can be the name of a Unix user."""
    return _USER.fullmatch(text) is not None


def _user(text: str) -> str:
    if not is_user(text):
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
        return Path(os.path.expanduser(value))
    return value


def _for_hadoop(text: str) -> str:
    """A folder that Hadoop can have in a URI, a list of folders and a class path."""
    if bad := sorted(set(_NOT_FOR_HADOOP.findall(text))):
        shown = ", ".join("a blank" if char == " " else repr(char) for char in bad)
        raise wrong(
            f"Hadoop cannot use the folder {text!r}, because of {shown}", "Use letters, digits, '_', '-' and '.'"
        )
    return text


DurationUs = Annotated[int, BeforeValidator(duration)]
PositiveDurationUs = Annotated[int, BeforeValidator(duration), AfterValidator(positive)]
TaskTimeUs = Annotated[
    PositiveDurationUs, between(1, 30 * 86400 * SECOND_US, "no task of MapReduce runs longer", _days)
]
DeadlineUs = Annotated[
    PositiveDurationUs, between(SECOND_US, 365 * 86400 * SECOND_US, "no job waits for a year", _days)
]
SizeBytes = Annotated[int, BeforeValidator(size), AfterValidator(positive)]
Name = Annotated[str, AfterValidator(_name), WithJsonSchema({"type": "string", "pattern": f"^{NAME.pattern}$"})]
UserName = Annotated[str, AfterValidator(_user)]
Host = Annotated[str, AfterValidator(_host)]
RemoteFolder = Annotated[str, AfterValidator(_absolute)]
NodeFolder = Annotated[RemoteFolder, AfterValidator(_for_hadoop)]
LocalPath = Annotated[Path, BeforeValidator(_path)]
Port = Annotated[int, between(1, 65_535, "there are no other ports")]
Fraction = Annotated[float, between(0, 1, "it is a share of the whole")]
NodeCount = Annotated[int, between(1, MOST_NODES, "no pool is larger")]
Cores = Annotated[int, between(1, 65_536, "no node has more cores")]
Capacity = Annotated[
    float, between(0.001, 1_000_000, "capacities of nodes are compared with each other, and 1.0 is usual")
]
Seed = Annotated[int, between(0, MOST_SEED, "random seeds have 63 bits")]
Attempts = Annotated[int, between(1, 1_000, "what failed so often needs a person")]
Retries = Annotated[int, between(0, 1_000, "what failed so often needs a person")]
Tasks = Annotated[int, between(1, MOST_TASKS, "one ApplicationMaster cannot manage more tasks")]
MaybeTasks = Annotated[int, between(0, MOST_TASKS, "one ApplicationMaster cannot manage more tasks")]
JobCount = Annotated[int, between(1, MOST_JOBS, "a trace can give more ([[load]])")]
BlockBytes = Annotated[SizeBytes, between(512, 10**12, "a block of HDFS lies on one disk", show_bytes)]
Factor = Annotated[float, between(0, 1_000_000, "sizes and times would leave the range of 64 bits")]
Positive = Annotated[float, between(1e-6, 1e6, "the model computes with 64 bits")]
Part = Annotated[float, between(0.01, 1, "it is a part of the whole")]
Text = Annotated[str, AfterValidator(_some_text)]
Line = Annotated[str, AfterValidator(_line)]
