"""Shell completion: verbs, and the names of the site; nothing, and silently, where there is no site."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from fawkes.cli.main import cli
from fawkes.offline.runs.folder import copied
from tests.report.played import filled, recorded


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    copied(filled(recorded()), folder / "state")
    (folder / "clusters").mkdir()
    (folder / "clusters" / "c-9.toml").write_text("min_nodes = 2\n")
    (folder / "policies").mkdir()
    (folder / "policies" / "tdx.py").write_text('NAME = "TDX"\n')
    return folder


def typed(words: Sequence[str]) -> dict[str, str]:
    """The environment in which bash asks for the last word."""
    line = " ".join(("fawkes", *words))
    return {"_FAWKES_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words))}


def completed(*words: str) -> tuple[list[str], str]:
    """The words that bash would offer for the last word, and the text that the user would see on stderr."""
    done = CliRunner().invoke(cli, [], prog_name="fawkes", env=typed(words))
    return offers(done.stdout), done.stderr


def offers(stdout: str) -> list[str]:
    return [line.partition(",")[2] for line in stdout.splitlines() if line]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("s",), ["submit", "status", "shrink", "simulate"]),
        (("nodes", "--cluster", ""), ["c-1", "c-2", "c-3"]),
        (("status", "c-"), ["c-1", "c-2", "c-3"]),
        (("explain", "--node", "node1"), ["node10"]),
        (("drain", "node0"), [f"node0{n}" for n in range(1, 10)]),
        (("restore", "c-"), ["c-1", "c-2", "c-3"]),
        (("restore", "c-1", "--to", "node1"), ["node10"]),
        (("cancel", "c-2-job"), [f"c-2-job{n}" for n in range(1, 9)]),
        (("submit", "c-"), ["c-1", "c-2", "c-3"]),
        (("request", ""), ["c-9"]),
        (("compare", "x", "--policies", "EQ,T"), ["EQ,TD", "EQ,TDX", "EQ,TT"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_names_of_the_site(site: Path, words: tuple[str, ...], offered: list[str]) -> None:
    assert completed("--site", str(site), *words) == (offered, "")


@pytest.mark.slow
def test_the_site_is_the_current_folder_without_the_option(site: Path) -> None:
    script = "import sys; sys.argv = ['fawkes']; from fawkes.cli.main import main; main()"
    env = {**os.environ, **typed(("status", "c-"))}
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, cwd=site, capture_output=True, text=True, check=False
    )
    assert (offers(done.stdout), done.stderr) == (["c-1", "c-2", "c-3"], "")


@pytest.mark.parametrize(
    "words", [("nodes", "--cluster", ""), ("cancel", ""), ("request", ""), ("jobs", "c")], ids=" ".join
)
def test_without_a_site_there_is_nothing_and_no_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert completed(*words) == ([], "")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_ledger_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "ledger.sqlite").write_bytes(b"not a ledger" * 100)
    assert completed("status", "") == ([], "")
