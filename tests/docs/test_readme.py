"""The README stays true: its commands are taken by the programs it names, and its links lead somewhere."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from fawkes.cli.main import cli

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
README = (ROOT / "README.md").read_text()


def commands(text: str) -> Iterator[list[str]]:
    """The words of each command in the shell blocks of a page, without comments and without what joins them."""
    for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            words: list[str] = []
            for word in [*shlex.split(line, comments=True), "&&"]:
                if word not in ("&&", "&"):
                    words.append(word)
                elif words:
                    yield words
                    words = []


FAWKES = [words for words in commands(README) if words[0] == "fawkes"]
MAKE = sorted(
    {words[1] for words in commands(README) if words[0] == "make"} | set(re.findall(r"`make ([a-z-]+)`", README))
)


def test_the_readme_has_its_two_commands_and_a_first_site_in_ten_lines() -> None:
    assert {"demo", "test", "test-fast", "check", "bench"} <= set(MAKE)
    assert [words[1] for words in FAWKES[:3]] == ["init", "check", "dist"]
    block = README.split("## A first real site")[1].split("```")[1]
    assert len(block.strip().splitlines()) - 1 <= 10


@pytest.mark.parametrize("target", MAKE)
def test_make_has_the_target(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("words", FAWKES, ids=" ".join)
def test_fawkes_takes_the_command(words: list[str]) -> None:
    command: click.Command = cli
    context = click.Context(cli, info_name="fawkes")
    rest = words[1:]
    while isinstance(command, click.Group):
        found = command.get_command(context, rest[0])
        assert found is not None, f"{words}: there is no {rest[0]}"
        command, rest = found, rest[1:]
        context = click.Context(command, parent=context)
    command.parse_args(context, list(rest))


def test_the_first_site_is_made_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = CliRunner().invoke(cli, FAWKES[0][1:])
    assert made.exit_code == 0, made.output
    listed = CliRunner().invoke(cli, ["--site", "mysite", "policies", "-o", "json"])
    assert listed.exit_code == 0, listed.output
    assert (tmp_path / "mysite" / "clusters" / "example.toml").is_file()


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
