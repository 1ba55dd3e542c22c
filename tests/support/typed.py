"""Command lines that pages and messages tell people to type, held against the command tree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import click

from fawkes.cli.main import cli


def parse(words: Sequence[str]) -> None:
    """Read ``fawkes VERB ...`` as the program would, without running it; click.UsageError when it is not taken."""
    command, context, rest = _verb(words)
    if isinstance(command, click.Group):
        raise click.UsageError("a verb is missing", context)
    command.parse_args(context, rest)


def check_names(words: Sequence[str]) -> None:
    """Look up verb and options of a command that may lack arguments; click.UsageError for what does not exist.

    Where an option has a list of values, its value must be one of them.
    """
    command, context, rest = _verb(words)
    known = {name: each for each in command.get_params(context) for name in (*each.opts, *each.secondary_opts)}
    for word, following in zip_longest(rest, rest[1:], fillvalue=""):
        if word == "--":
            return
        option = known.get(word.partition("=")[0])
        if word.startswith("-") and option is None:
            raise click.UsageError(f"`fawkes {command.name}` has no option {word!r}", context)
        if word.startswith("-") and option is not None and isinstance(option.type, click.Choice):
            option.type.convert(following, option, context)


def _verb(words: Sequence[str]) -> tuple[click.Command, click.Context, list[str]]:
    """The command that words such as ``fawkes --site DIR lab up`` name, and what follows it."""
    command: click.Command = cli
    context = click.Context(cli, info_name="fawkes")
    rest = list(words[3:] if words[1:2] == ["--site"] else words[1:])
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        command_of = command.get_command(context, rest[0])
        if command_of is None:
            raise click.UsageError(f"`fawkes {command.name}` has no verb {rest[0]!r}", context)
        command, rest = command_of, rest[1:]
        context = click.Context(command, parent=context)
    return command, context, rest
