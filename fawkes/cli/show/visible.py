"""Text from nodes, jobs and files on terminals, made harmless by `fawkes.base.visible`."""

from __future__ import annotations

import os
import sys

import click

from fawkes.base.visible import visible


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """A text for people, on stdout or stderr, made `visible`."""
    click.echo(visible(text), err=err, nl=nl)


def line_limit() -> int | None:
    """The columns of the terminal, or COLUMNS; None without both: a script's lines are as long as they need."""
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        return None
    import shutil

    return shutil.get_terminal_size().columns
