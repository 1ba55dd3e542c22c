"""Types of options whose text is parsed by a function: durations, times and sizes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import click

from fawkes.base.units import SECOND_US, duration_us, size_bytes

T = TypeVar("T")


class Parsed(click.ParamType[T]):
    """The value that ``parse`` makes of an option's text; its ValueError becomes a usage error with its sentence."""

    def __init__(self, name: str, parse: Callable[[str], T]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> T:
        """The parsed text; a value that is parsed already stays as it is."""
        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def moment_us(text: str) -> int:
    """Microseconds since the epoch of an ISO time, UTC unless it says otherwise; ValueError for another text."""
    moment = datetime.fromisoformat(text)
    return round(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * SECOND_US)


def _time_to_come(text: str) -> int:
    try:
        at_us = moment_us(text)
        if at_us < 0:
            raise ValueError
        return at_us
    except ValueError:
        raise ValueError(f"{text!r} is not a time such as 2026-05-04T18:00 (UTC)") from None


def some_bytes(text: str) -> int:
    """The bytes of a size above 0; ValueError for another text."""
    size = size_bytes(text)
    if size <= 0:
        raise ValueError("must be greater than 0")
    return size


#: a duration such as ``90s`` or ``1h30m``, in microseconds
DURATION = Parsed("duration", duration_us)
#: a time to come such as ``2026-05-04T18:00``, UTC unless it says otherwise, in microseconds since the epoch
TIME = Parsed("time", _time_to_come)
#: a size such as ``2GB``, above 0, in bytes
SIZE = Parsed("size", some_bytes)
