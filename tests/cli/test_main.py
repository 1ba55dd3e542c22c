from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from fawkes import __version__
from fawkes.cli.main import CONTEXT, VERBS, ProgramGroup, Verb, cli
from fawkes.config.site.site import Site

PROMISED = """
init lab dist check run request release submit cancel status nodes jobs events explain env logs
pause resume drain undrain retry restore down policies
"""
#: slow to import: a command that only shows its help must not pay for them
HEAVY = {
    "apscheduler", "ClusterShell", "fabric", "hdfs", "matplotlib", "pandas", "paramiko", "pydantic", "requests", "rich"
}  # fmt: skip


@click.group(
    cls=ProgramGroup,
    context_settings=CONTEXT,
    verbs={
        "end": Verb("tests.cli.endings:end", "End."),
        "good": Verb("tests.cli.endings:good", "Say."),
        "later": Verb("tests.cli.nowhere:later", "Not there."),
    },
)
@click.option("--site", default=".", type=click.Path(path_type=Path))
@click.pass_context
def sample(ctx: click.Context, site: Path) -> None:
    ctx.obj = Site(site)


def run(*words: str, group: ProgramGroup = sample, **env: str) -> Result:
    return CliRunner().invoke(group, words, env=env)


def fawkes(*words: str, **streams: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "fawkes", *words], text=True, check=False, **streams)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize(
    ("how", "code", "message"),
    [
        ("wrong", 2, "fawkes: fawkes.toml: period: is wrong. Write 90s\n"),
        ("partial", 4, "fawkes: 2 of 3 hosts: 2 ok, 1 failed (n1: no Java)\n"),
        ("refused", 6, "fawkes: c-1: data is at stake\n"),
        ("elsewhere", 7, "fawkes: another controller runs\n"),
        ("broken", 1, "fawkes: a node has two owners\n"),
        ("full", 1, "fawkes: /var/x: No space left on device\n"),
        ("interrupt", 130, "\nfawkes: interrupted\n"),
    ],
)
def test_each_ending_has_its_message_and_its_exit_code(how: str, code: int, message: str) -> None:
    ended = run("end", how)
    assert (ended.exit_code, ended.stderr, ended.stdout) == (code, message, "")


def test_a_terminal_that_knows_few_letters_gets_the_others_as_escapes() -> None:
    ended = CliRunner(charset="latin-1").invoke(sample, ["good", "--text", "Lüfter \u2013 kaputt"])
    assert (ended.exit_code, ended.stdout) == (0, ". Lüfter \\u2013 kaputt\n")


def test_a_defect_is_one_line_that_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAWKES_DEBUG", raising=False)
    ended = run("end", "bug")
    assert ended.exit_code == 1
    assert ended.stderr.startswith("fawkes: defect in Fawkes: KeyError: 'x' at endings.py:")
    assert ended.stderr.count("\n") == 1
    assert "FAWKES_DEBUG=1" in ended.stderr


@pytest.mark.parametrize("how", ["bug", "wrong", "full"])
def test_who_debugs_fawkes_sees_the_traceback(how: str) -> None:
    ended = run("end", how, FAWKES_DEBUG="1")
    assert "Traceback" in ended.stderr
    assert "endings.py" in ended.stderr


def test_a_verb_may_return_its_exit_code() -> None:
    assert run("good").exit_code == 0
    assert run("good", "--changes").exit_code == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("goood",), "No such verb 'goood'. Did you mean 'good'?"),
        (("zzz",), "No such verb 'zzz'. `fawkes --help` lists the verbs."),
        (("end", "usage"), "too much"),
        (("end",), "Missing argument 'HOW'"),
        (("good", "--txt", "x"), "No such option"),
        (("--nothing",), "No such option"),
    ],
)
def test_a_wrong_command_line_is_a_usage_error(words: tuple[str, ...], message: str) -> None:
    ended = run(*words)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert message in ended.stderr


def test_a_verb_whose_module_is_missing_says_so() -> None:
    ended = run("later")
    assert ended.exit_code == 1
    assert ended.stderr == "fawkes: this version of Fawkes has no verb 'later'. `fawkes --version` shows the version\n"


def test_every_option_can_come_from_the_environment(tmp_path: Path) -> None:
    assert run("good", FAWKES_SITE=str(tmp_path), FAWKES_GOOD_TEXT="hello").stdout == f"{tmp_path} hello\n"
    assert run("--site", "/x", "good", FAWKES_SITE=str(tmp_path)).stdout == "/x \n"


def test_help_lists_every_verb_and_needs_no_heavy_import() -> None:
    script = (
        "import sys\nfrom fawkes.cli.main import cli\n"
        "try:\n    cli.main(['--help'])\nfinally:\n    print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    for name in PROMISED.split():
        assert f"\n  {name} " in done.stdout
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert not loaded & HEAVY


def test_every_promised_verb_is_in_the_table_with_a_line_of_help() -> None:
    assert set(PROMISED.split()) <= set(VERBS)
    assert all(verb.help.endswith(".") for verb in VERBS.values())


def test_the_version() -> None:
    ended = run("--version", group=cli)
    assert (ended.exit_code, ended.stdout) == (0, f"fawkes, version {__version__}\n")


def test_a_site_that_is_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("")
    ended = run("--site", str(file), "init", group=cli)
    assert ended.exit_code == 2
    assert "is a file" in ended.stderr


def test_a_reader_that_goes_away_is_no_error_message() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = fawkes("--help", stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_full_disk_is_told_without_a_traceback() -> None:
    with Path("/dev/full").open("w") as full:
        done = fawkes("--help", stdout=full.fileno(), stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, "fawkes: No space left on device\n")


@pytest.mark.parametrize("closed", [">&-", "2>&-"])
@pytest.mark.parametrize("words", ["--version", "policies -o csv"])
def test_a_closed_output_is_no_defect(closed: str, words: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m fawkes {words} {closed}"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("option", ["-q", "--site"])
def test_an_option_of_the_program_behind_a_verb_is_shown_its_place(option: str) -> None:
    said = CliRunner().invoke(cli, ["status", option])
    assert said.exit_code == 2
    assert f"No such option '{option}'. It goes before the verb, right behind `fawkes`." in said.stderr
