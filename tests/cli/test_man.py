"""Manual pages: one for each verb, with all of its options, in a form that man accepts."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from fawkes.cli.main import VERBS, cli
from fawkes.cli.man import pages

PAGES = pages()


def plain(text: str) -> str:
    return text.replace(r"\-", "-").replace(r"\e", "\\").replace(r"\&", "")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_page_with_its_options(verb: str) -> None:
    page = plain(PAGES[f"fawkes-{verb}.1"])
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            assert all(option in page for option in parameter.opts), parameter.name
            assert " ".join((parameter.help or "").split()) in page, parameter.name
    assert f"fawkes-{verb}(1)" in plain(PAGES["fawkes.1"])


def test_verbs_below_verbs_have_pages_as_well() -> None:
    assert {"fawkes-workload-show.1", "fawkes-dist-get.1", "fawkes-lab-up.1"} <= PAGES.keys()
    assert "fawkes-workload(1), fawkes(1)" in plain(PAGES["fawkes-workload-show.1"])


def test_the_first_line_is_what_whatis_shows() -> None:
    lines = PAGES["fawkes-pause.1"].splitlines()
    name = lines[lines.index(".SH NAME") + 1]
    assert name.startswith(r"fawkes\-pause \- ")


@pytest.mark.parametrize("name", PAGES)
def test_no_page_has_a_line_that_is_an_unknown_request(name: str) -> None:
    known = (".TH", ".SH", ".PP", ".TP", ".B", ".nf", ".fi")
    assert all(line.split()[0] in known for line in PAGES[name].splitlines() if line.startswith("."))
    assert all(ord(letter) >= 32 for letter in PAGES[name].replace("\n", ""))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("groff") is None and shutil.which("mandoc") is None, reason="neither groff nor mandoc")
def test_man_accepts_every_page(tmp_path: Path) -> None:
    for name, text in PAGES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    lint = ["mandoc", "-Tlint", "-Wwarning"] if shutil.which("mandoc") else ["groff", "-man", "-ww", "-z", "-Kutf8"]
    done = subprocess.run([*lint, *sorted(PAGES)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
def test_the_pages_are_written_where_man_looks_and_replace_older_ones(tmp_path: Path) -> None:
    folder = tmp_path / "share" / "man" / "man1"
    folder.mkdir(parents=True)
    (folder / "fawkes.1").write_text("of an older version")
    done = CliRunner().invoke(cli, ["man", "--out", str(folder.parent)])
    assert (done.exit_code, done.stdout) == (0, "")
    assert {path.name: path.read_text("utf-8") for path in folder.iterdir()} == dict(PAGES)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("man") is None, reason="no man")
def test_man_finds_a_page_beside_the_program(tmp_path: Path) -> None:
    CliRunner().invoke(cli, ["man", "--out", str(tmp_path / "share" / "man")])
    (tmp_path / "bin").mkdir()
    env = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    said = subprocess.run(["man", "-w", "fawkes-status"], env=env, capture_output=True, text=True, check=False)
    assert said.stdout.strip() == str(tmp_path / "share" / "man" / "man1" / "fawkes-status.1")


def test_a_folder_for_pages_that_cannot_be_made_is_bad_input() -> None:
    done = CliRunner().invoke(cli, ["man", "--out", "/proc/x"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Name a folder in which you may write, with --out" in done.stderr
