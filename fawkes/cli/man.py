"""Manual pages in roff, made from the commands themselves: ``fawkes.1``, and one for each verb and its sub-verbs."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from fawkes.base.errors import UserError
from fawkes.base.version import __version__
from fawkes.base.writing import whole
from fawkes.cli.main import cli
from fawkes.cli.show.show import note

_SECTION = 1
_BLOCK = "\b"


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder of manual pages, such as ~/.local/share/man.  [default: that of this installation]",
)
def man(out: Path | None) -> None:
    """Write the manual pages of all commands, so that `man fawkes-status` shows one.

    Without --out they go to share/man of the installation: man looks there if the installation's bin is on PATH.
    Pages of an earlier version are replaced.
    """
    folder = (out or Path(sys.prefix) / "share" / "man") / f"man{_SECTION}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"cannot be made ({error.strerror})"
        raise UserError(what, where=str(folder), hint="Name a folder in which you may write, with --out") from None
    written = pages()
    for name, text in written.items():
        with whole(folder / name) as page:
            page.write(text.encode())
    note(f"{len(written)} manual pages are in {folder}; try `man fawkes-status`")


def pages() -> Mapping[str, str]:
    """The text of each page by the name of its file, such as ``fawkes-nodes.1``; the same text on every machine."""
    root = click.Context(cli, info_name="fawkes", **cli.context_settings)
    pages = {"fawkes.1": _page(root)}
    for context in _below(root):
        pages[f"{_name(context)}.{_SECTION}"] = _page(context)
    return pages


def _below(parent: click.Context) -> Iterator[click.Context]:
    """The contexts of all verbs below, each behind its parent."""
    if not isinstance(parent.command, click.Group):
        return
    for name in parent.command.list_commands(parent):
        command = parent.command.get_command(parent, name)
        if command is not None and not command.hidden:
            context = click.Context(command, info_name=name, parent=parent)
            yield context
            yield from _below(context)


def _name(context: click.Context) -> str:
    return context.command_path.replace(" ", "-")


def _page(context: click.Context) -> str:
    """One page: name, synopsis, description, options, and the verbs of a group."""
    command = context.command
    first, *rest = _paragraphs(command.help or "")
    lines = [
        f'.TH {_quoted(_name(context).upper())} {_SECTION} "" {_quoted(f"Fawkes {__version__}")} "User Commands"',
        ".SH NAME",
        _escaped(f"{_name(context)} - {_joined(first).partition('. ')[0].rstrip('.')}").replace(" - ", r" \- ", 1),
        ".SH SYNOPSIS",
        f".B {_escaped(context.command_path)}",
        _escaped(" ".join(command.collect_usage_pieces(context))),
        ".SH DESCRIPTION",
    ]
    for paragraph in (first, *rest):
        lines += _body(paragraph)
    options = [
        record
        for parameter in command.get_params(context)
        if isinstance(parameter, click.Option) and (record := parameter.get_help_record(context))
    ]
    lines += [".SH OPTIONS", *(line for option, text in options for line in _item(option, text))]
    if isinstance(command, click.Group):
        lines += [".SH VERBS", *(line for child in _children(context) for line in child)]
    lines += [".SH SEE ALSO", _escaped(", ".join(_related(context)))]
    return "\n".join(lines) + "\n"


def _children(context: click.Context) -> Iterator[list[str]]:
    for child in _below(context):
        if child.parent is context:
            yield _item(f"{_name(child)}({_SECTION})", child.command.get_short_help_str(limit=200))


def _related(context: click.Context) -> list[str]:
    related = [
        parent for parent in (context.parent, context.find_root()) if parent is not None and parent is not context
    ]
    names = dict.fromkeys(_name(each) for each in related) or {"fawkes-init": None, "fawkes-run": None}
    return [f"{name}({_SECTION})" for name in names]


def _paragraphs(text: str) -> list[str]:
    """The paragraphs of a help text; what follows a form feed is not for users."""
    plain = inspect.cleandoc(text.partition("\f")[0])
    return [part for part in re.split(r"\n\s*\n", plain) if part.strip()] or [""]


def _joined(paragraph: str) -> str:
    return " ".join(paragraph.split())


def _body(paragraph: str) -> list[str]:
    """A paragraph; one that click must not wrap (it begins with a backspace) stays as it is written."""
    if not paragraph.lstrip("\n").startswith(_BLOCK):
        return [".PP", _escaped(_joined(paragraph))]
    return [".PP", ".nf", *(_escaped(line) for line in paragraph.replace(_BLOCK, "").strip("\n").split("\n")), ".fi"]


def _item(term: str, text: str) -> list[str]:
    return [".TP", f".B {_escaped(term)}", _escaped(_joined(text)) or r"\&"]


def _escaped(text: str) -> str:
    """Text that roff shows as it is: backslashes, hyphens of options, and a dot or a quote that begins a line."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text.startswith((".", "'")) else text


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'
