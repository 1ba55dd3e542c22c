"""Verbs with their arguments and options, from the command tree."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence

import click

from docs.make.table import code, table
from fawkes.cli.main import cli


def commands(*names: str) -> str:
    """A section for each of the verbs, and for each verb of a group."""
    return "\n\n".join(section for name in names for section in _sections(name))


def command_of(words: Sequence[str]) -> tuple[click.Command, list[str]]:
    """The command that the words behind `fawkes` name, and its arguments; KeyError for a verb that does not exist."""
    command: click.Command = cli
    rest = list(words)
    while isinstance(command, click.Group):
        rest = _without_options(command, rest)
        if not rest:
            return command, rest
        found = command.get_command(click.Context(command), rest[0])
        if found is None:
            raise KeyError(rest[0])
        command, rest = found, rest[1:]
    return command, rest


def _without_options(group: click.Group, words: list[str]) -> list[str]:
    """The words without the group's own options in front of a verb, such as ``--site DIR``."""
    flags = {name: option for option in group.params for name in option.opts}
    while words and words[0].startswith("-"):
        option = flags.get(words[0].partition("=")[0])
        takes = isinstance(option, click.Option) and not option.is_flag and "=" not in words[0]
        words = words[2:] if takes else words[1:]
    return words


def _sections(name: str) -> Iterator[str]:
    command = cli.get_command(click.Context(cli), name)
    if command is None:
        raise KeyError(name)
    yield _section(command, f"fawkes {name}")
    if isinstance(command, click.Group):
        context = click.Context(command)
        for inner in command.list_commands(context):
            verb = command.get_command(context, inner)
            if verb is not None:
                yield _section(verb, f"fawkes {name} {inner}")


def _section(command: click.Command, path: str) -> str:
    context = click.Context(command, info_name=path)
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    records = [option.get_help_record(context) for option in command.params]
    options = [(code(record[0]), record[1]) for record in records if record and record[1]]
    parts = [f"## `{path}`", f"```text\n{usage}\n```", _text(command.help or "")]
    parts += [table(["option", "description"], options)] if options else []
    return "\n\n".join(part for part in parts if part)


def _text(help_text: str) -> str:
    """The help of a command as Markdown: paragraphs, and what click must not wrap as code."""
    paragraphs = inspect.cleandoc(help_text.split("\f")[0]).split("\n\n")
    return "\n\n".join(_paragraph(paragraph) for paragraph in paragraphs if paragraph.strip())


def _paragraph(text: str) -> str:
    if text.startswith("\b"):
        return "```text\n" + inspect.cleandoc(text.removeprefix("\b").strip("\n")) + "\n```"
    return re.sub(r"\*(?=\w)|<", lambda found: f"\\{found[0]}", " ".join(text.split()))
