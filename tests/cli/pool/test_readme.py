"""README stays true: its three ways in are typed as they are printed, as far as they go without nodes."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fawkes.cli.main import cli
from fawkes.cli.pool.init import FILES, NEXT_STEPS
from tests.support.typed import parse

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def way(letter: str) -> str:
    """The part of README about one of the three ways in."""
    return README.split(f"### ({letter}) ")[1].split("\n#")[0]


def commands(text: str) -> Iterator[list[str]]:
    """The words of each command in the shell blocks of a text, and without what joins them."""
    for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            words: list[str] = []
            for word in [*shlex.split(line, comments=True), "&&"]:
                if word != "&&":
                    words.append(word)
                elif words:
                    yield words
                    words = []


FAWKES = [words for words in commands(README) if words[0] == "fawkes"]
INLINE = [shlex.split(text) for text in re.findall(r"`(fawkes [^`]+)`", README)]
MAKE = sorted(
    {words[1] for words in commands(README) if words[0] == "make"} | set(re.findall(r"`make ([a-z-]+)`", README))
)


def run(words: list[str], *more: str) -> Result:
    """A command of README, which must succeed."""
    done = CliRunner().invoke(cli, [*words[1:], *more])
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_it_begins_with_what_it_is_a_picture_and_three_ways_in() -> None:
    headings = re.findall(r"^#+ .*", README, re.MULTILINE)
    assert headings[:5] == [
        "# Fawkes",
        "## Three ways in",
        "### (a) A picture in two minutes",
        "### (b) Real Hadoop on this machine",
        "### (c) A first real site",
    ]
    assert len(re.findall(r"^!\[", README, re.MULTILINE)) == 1
    assert README.index("![") < README.index("## Three ways in")


@pytest.mark.parametrize("target", MAKE)
def test_make_has_the_target(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("words", [*FAWKES, *INLINE], ids=" ".join)
def test_fawkes_takes_the_command(words: list[str]) -> None:
    parse(words)


@pytest.mark.nightly
def test_the_picture_in_two_minutes(tmp_path: Path) -> None:
    install, compare, simulate = list(commands(way("a")))[-3:]
    assert install == ["pip", "install", ".[offline]"]
    compared = run(compare, "-o", "json")
    means = {row["policy"]: row["slowdown_mean"] for row in json.loads(compared.stdout)["rows"]}
    shown = dict(re.findall(r"(TD|EQ|None) (\d\.\d)", way("a")))
    assert {name: float(text) for name, text in shown.items()} == pytest.approx(means, abs=0.1)
    picture = re.findall(r"`([\w/-]+\.png)`", way("a"))[0]
    assert compared.stderr.splitlines()[-1].endswith(picture)
    assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")
    run(simulate)
    (explain,) = [words for words in INLINE if "explain" in words]
    why = run(explain).stdout
    assert "node[07-20] join reports" in why
    assert "shows why 14 nodes moved from `web` to `reports`" in way("a")


def test_the_first_site_is_what_init_writes_and_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = [" ".join(words) for words in commands(way("c"))]
    assert [command for command in typed if command != "fawkes explain --last"] == [
        "fawkes init mysite",
        "cd mysite",
        *(step.command for step in NEXT_STEPS),
    ]
    for words in commands(way("c")):
        match words:
            case ["fawkes", "init", *_]:
                run(words)
            case ["cd", folder]:
                monkeypatch.chdir(tmp_path / folder)
            case ["fawkes", "request" | "submit", *_]:
                run(words, "--dry-run")
        for word in words:
            assert not word.endswith(".toml") or Path(word).is_file()
    assert "four commented files" in way("c")
    assert len(FILES) == 4
    listed = CliRunner().invoke(cli, ["policies", "-o", "json"])
    assert listed.exit_code == 0, listed.output
