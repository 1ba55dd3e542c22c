"""Every command that a page prints is one that Fawkes has: its verb, its options and its arguments."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import click
import pytest

from docs.make.commands import command_of
from tests.docs.pages import PAGES, ROOT, blocks, commands, mentions, name_of

TARGETS = sorted({target for page in PAGES for target in re.findall(r"\bmake ([a-z][a-z-]+)`", page.read_text())})
MODULES = sorted({name for page in PAGES for name in re.findall(r"python -m ([a-z.]+)", page.read_text())})


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_printed_commands_are_taken(path: Path) -> None:
    refused = []
    for words in (words for text in blocks(path, "sh") for words in commands(text) if words[0] == "fawkes"):
        try:
            command, rest = command_of(words[1:])
            context = click.Context(
                command, info_name="fawkes", allow_interspersed_args=command.allow_interspersed_args
            )
            command.parse_args(context, list(rest))
        except (click.ClickException, click.exceptions.Exit) as error:
            refused.append((" ".join(words), repr(error)))
    assert refused == []


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_mentioned_commands_have_their_verb_and_their_options(path: Path) -> None:
    """In sentences, arguments may be placeholders; verbs and options may not."""
    for text in mentions(path):
        command, rest = command_of(text.split()[1:])
        known = {name for option in command.get_params(click.Context(command)) for name in option.opts}
        own = rest[: rest.index("--")] if "--" in rest else rest
        options = {word.strip("[]").partition("=")[0] for word in own if re.match(r"\[?--?[A-Za-z]", word)}
        assert options <= known | {"--help", "-h", "--version"}, text


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_commands_stand_in_blocks_that_are_checked(path: Path) -> None:
    """A block without a language shows output or a drawing: a command in it would be checked by nobody."""
    loose = [
        line for text in blocks(path, "") for line in text.splitlines() if re.match(r"\s*(\$ )?fawkes [a-z-]", line)
    ]
    assert loose == []


@pytest.mark.parametrize("target", TARGETS)
def test_make_has_the_target(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("module", MODULES)
def test_python_has_the_module(module: str) -> None:
    assert importlib.util.find_spec(module) is not None
