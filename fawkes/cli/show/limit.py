"""``--limit``: the newest rows of a long list, and a line that says how many there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from fawkes.cli.show.show import note

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT = 50
ALL = 0


class RowLimit(click.ParamType[int]):
    """A number of rows, or ``all``; the command gets 0 for all."""

    name = "N|all"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number; a usage error says the right form."""
        if str(value) == "all":
            return ALL
        if not str(value).isdecimal():
            self.fail(f"{value!r} is not a number of rows: write 50, or all", param, ctx)
        return int(value)


def limit_option(shown_default: str) -> Callable[[F], F]:
    """``--limit N|all`` for a verb, which gets it as ``limit``: None when it is not given."""
    return click.option(
        "--limit", type=RowLimit(), help=f"Only the newest N; 0 or all for all of them.  [default: {shown_default}]"
    )


def tell_omitted(shown: int, total: int, what: str, *, more: bool = False) -> None:
    """Say on stderr how many rows there are when older ones are not shown; ``more``: there may be further ones."""
    if shown < total or more:
        over = "more than " if more else ""
        note(f"the newest {shown:,} of {over}{total:,} {what}; --limit all shows all of them")
