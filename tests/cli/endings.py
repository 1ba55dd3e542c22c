"""Verbs that end in each way that a verb can end."""

from __future__ import annotations

import errno

import click

from fawkes.base.errors import BrokenError, ConfigError, ElsewhereError, ExitStatus, PartialError, RefusedError
from fawkes.config.site.site import Site

ENDINGS: dict[str, BaseException] = {
    "wrong": ConfigError("is wrong", file="fawkes.toml", key="period", hint="Write 90s"),
    "partial": PartialError("2 of 3 hosts", done=2, failed={"n1": "no Java"}),
    "refused": RefusedError("data is at stake", where="c-1"),
    "elsewhere": ElsewhereError("another controller runs"),
    "broken": BrokenError("a node has two owners"),
    "full": OSError(errno.ENOSPC, "No space left on device", "/var/x"),
    "bug": KeyError("x"),
    "interrupt": KeyboardInterrupt(),
    "usage": click.UsageError("too much"),
}


@click.command()
@click.argument("how")
def end(how: str) -> None:
    """End in that way."""
    raise ENDINGS[how]


@click.command()
@click.option("--changes", is_flag=True)
@click.option("--text", default="")
@click.pass_obj
def good(site: Site, changes: bool, text: str) -> ExitStatus | None:
    """Say what was given."""
    click.echo(f"{site.root} {text}")
    return ExitStatus.CHANGES if changes else None
