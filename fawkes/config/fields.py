"""Kinds of values that several files share: durations, sizes, names, shares."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator

from fawkes.config.loader import wrong
from fawkes.config.nodeset import MOST_NODES, is_host_name
from fawkes.errors import cut
from fawkes.units import MOST_SEED, SECOND_US, duration_us, show_bytes, show_duration, size_bytes

MOST_TASKS = 1_000_000
"""Tasks of one job."""
MOST_JOBS = 100_000
"""Jobs of one kind that a file may ask for."""

N = TypeVar("N", int, float)

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
    """The value, if it is greater than 0; else the error for a validator."""
    if value <= 0:
        raise wrong("0 is too little", "It must be greater than 0")
    return value


def _number(value: float) -> str:
    return cut(f"{value:g}" if isinstance(value, float) else f"{value:,}", 40)


def between(least: float, most: float, why: str, show: Callable[[Any], str] = _number) -> AfterValidator:
    """Both bounds of a number, the least and the most that it may be; ``why`` completes "at most 1,024: ...".

    ``show`` writes a value for people: ``show_duration`` for microseconds, ``show_bytes`` for bytes.
    """

    def check(value: N) -> N:
        if value > most:
            raise wrong(f"{show(value)} is too large", f"It may be at most {show(most)}: {why}")
        if value < least:
            raise wrong(f"{show(value)} is too small", f"It must be at least {show(least)}")
        return value

    return AfterValidator(check)


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


def _some_text(text: str) -> str:
    if not text.strip():
        raise wrong("the text is empty", "Write something, or leave the key out")
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
        return Path(os.path.expanduser(value))
    return value


DurationUs = Annotated[int, BeforeValidator(duration)]
PositiveDurationUs = Annotated[int, BeforeValidator(duration), AfterValidator(positive)]
TaskTimeUs = Annotated[
    PositiveDurationUs, between(1, 30 * 86400 * SECOND_US, "no task of MapReduce runs longer", show_duration)
]
SizeBytes = Annotated[int, BeforeValidator(size), AfterValidator(positive)]
Name = Annotated[str, AfterValidator(_name)]
UserName = Annotated[str, AfterValidator(_user)]
Host = Annotated[str, AfterValidator(_host)]
RemoteFolder = Annotated[str, AfterValidator(_absolute)]
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
BlockBytes = Annotated[SizeBytes, between(512, 1 << 40, "a block of HDFS lies on one disk", show_bytes)]
Factor = Annotated[float, between(0, 1_000_000, "sizes and times would leave the range of 64 bits")]
Positive = Annotated[float, between(1e-6, 1e6, "the model computes with 64 bits")]
Text = Annotated[str, AfterValidator(_some_text)]
