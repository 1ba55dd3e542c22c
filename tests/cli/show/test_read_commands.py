"""The reading commands on the ledger of a run of the real engine, and on ledgers that nobody should trust."""

from __future__ import annotations

import csv
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from io import StringIO
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.cells import cell_len

from fawkes import __version__
from fawkes.cli.main import cli
from fawkes.cli.show.fields import FIELDS
from fawkes.core.values.decision import Decision, PutJob, PutPause, PutRules
from fawkes.core.values.events import PauseAsked, Requested, Started
from fawkes.core.values.model import JobLife, Reason
from fawkes.engine.ports import Entry
from fawkes.offline.runs.folder import copied
from fawkes.report.tables.board import board
from fawkes.store.lock import LOCK_FILE, StateLock
from fawkes.store.memory import MemoryStore
from fawkes.store.sqlite import LEDGER_FILE, Ledger, LedgerReader
from tests.report.played import at, filled, play, recorded
from tests.store.test_ledger import DAMAGES

Run = Callable[..., Result]

COMMANDS = (["status"], ["nodes"], ["jobs"], ["explain"], ["events"], ["events", "--verify"], ["verify"])


@pytest.fixture
def run(site: Path) -> Run:
    def run_fawkes(*words: str) -> Result:
        return CliRunner(env={"COLUMNS": "200"}).invoke(cli, ["--site", str(site), *words])

    return run_fawkes


def _rows(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    read = json.loads(result.stdout)
    assert read["version"] == 2
    rows: list[dict[str, Any]] = read["rows"]
    return rows


# --- with and without a controller ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_without_a_controller_they_say_so_and_read_the_ledger(run: Run, words: list[str]) -> None:
    result = run(*words)
    assert result.exit_code == 0
    assert (
        "no controller is running for this site: the last one stopped after 2023-11-14T22:18:40.000Z" in result.stderr
    )
    assert "no controller" not in result.stdout


def test_with_a_controller_they_do_not(run: Run, site: Path) -> None:
    lock = StateLock(site / "state")
    result = run("status")
    lock.close()
    assert result.exit_code == 0
    assert result.stderr.startswith("the controller is starting: process ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_without_a_ledger(tmp_path: Path, words: list[str]) -> None:
    result = CliRunner().invoke(cli, ["--site", str(tmp_path), *words])
    assert result.exit_code == 2
    assert f"{tmp_path}/state/{LEDGER_FILE}: there is no ledger" in result.stderr
    assert "`fawkes run`" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_ledger_in_which_nothing_has_happened(tmp_path: Path, words: list[str]) -> None:
    Ledger(tmp_path / "state").close()
    result = CliRunner().invoke(cli, ["--site", str(tmp_path), *words])
    assert result.exit_code == (2 if words == ["explain"] else 0)
    assert "no controller is running for this site: none has run yet" in result.stderr
    assert "Traceback" not in result.output


# --- damage ---------------------------------------------------------------------------------------------------------

BY_ITS_HEADER = ("empty", "cut in the header", "no database", "newer", "another program's")


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("damage", BY_ITS_HEADER)
def test_every_command_refuses_what_is_no_ledger(run: Run, site: Path, damage: str, words: list[str]) -> None:
    spoil, message = DAMAGES[damage]
    path = site / "state" / LEDGER_FILE
    spoil(path)
    before = path.read_bytes()
    result = run(*words)
    assert result.exit_code == 6
    assert result.stderr.startswith(f"fawkes: {path}: {message}")
    assert "was not changed. " in result.stderr
    assert result.stdout == ""
    assert path.read_bytes() == before


#: it looks for words of the small ledger of tests/store
OF_ANOTHER_LEDGER = ("one word changed",)
#: what is missing at the end, and pages of indexes, are for --verify and `fawkes run`: each step there is sound
NOTHING_TO_SEE = ("garbage in the middle", "all steps lost", "the last steps lost", "a table lost", "the head lost")
BY_ITS_STEPS = [name for name in DAMAGES if name not in (*BY_ITS_HEADER, *OF_ANOTHER_LEDGER)]


@pytest.mark.parametrize(
    ("words", "damage"),
    [
        (words, damage)
        for words in ("events --verify", "events --all --limit all", "verify")
        for damage in BY_ITS_STEPS
        if words == "events --verify" or damage not in NOTHING_TO_SEE
    ],
)
def test_commands_that_read_every_step_find_every_damage(run: Run, site: Path, damage: str, words: str) -> None:
    path = site / "state" / LEDGER_FILE
    DAMAGES[damage][0](path)
    before = path.read_bytes()
    result = run(*words.split())
    assert result.exit_code == 6, result.output
    assert "the ledger is damaged" in result.stderr
    assert path.read_bytes() == before


# --- nodes and jobs -------------------------------------------------------------------------------------------------


def test_nodes(run: Run) -> None:
    rows = {row["node"]: row for row in _rows(run("nodes", "-o", "json"))}
    assert len(rows) == 10
    assert (rows["node06"]["cluster"], rows["node06"]["role"], rows["node06"]["state"]) == (
        "c-3",
        "transient",
        "serving",
    )
    assert rows["node06"]["since"] == "2023-11-14T22:15:50.500Z"
    assert rows["node06"]["why"] == "node06 joins c-3 as transient: c-3 held 4 nodes and should have 6"
    assert rows["node01"]["cluster"] is None
    assert rows["node01"]["why"] == "node01 is wiped, verified and free"
    assert [name for name, row in rows.items() if row["master"]] == ["node03", "node09"]
    table = run("nodes").stdout
    assert "node03  c-2         core       serving  c-2 gets node[03-04] as core nodes after" in table


def test_nodes_by_state_and_cluster(run: Run) -> None:
    assert [row["node"] for row in _rows(run("nodes", "-s", "free", "-o", "json"))] == ["node01", "node02"]
    assert [row["node"] for row in _rows(run("nodes", "--cluster", "c-2", "-o", "json"))] == ["node03", "node04"]
    assert _rows(run("nodes", "-s", "out", "-s", "lost", "-o", "json")) == []
    assert run("nodes", "-s", "asleep").exit_code == 2
    wrong = run("nodes", "--cluster", "c-22")
    assert (wrong.exit_code, "there is no MR-cluster 'c-22'. Did you mean 'c-2'?" in wrong.stderr) == (2, True)


def test_nodes_that_stand_alike_in_one_row(run: Run) -> None:
    rows = _rows(run("nodes", "--fold", "-o", "json"))
    assert [(row["node_set"], row["count"], row["cluster"], row["role"]) for row in rows] == [
        ("node[01-02]", 2, None, None),
        ("node03", 1, "c-2", "core"),
        ("node04", 1, "c-2", "core"),
        ("node[05-08]", 4, "c-3", "transient"),
        ("node09", 1, "c-3", "core"),
        ("node10", 1, "c-3", "core"),
    ]
    assert rows[3]["since"] == "2023-11-14T22:15:50.500Z"


def test_jobs(run: Run) -> None:
    rows = _rows(run("jobs", "-o", "json"))
    assert len(rows) == 24
    assert rows[0]["job"] == "c-1-job1"
    assert (rows[0]["state"], rows[0]["wait_s"]) == ("succeeded", pytest.approx(18))
    assert len(_rows(run("jobs", "c-2", "-o", "json"))) == 8
    (failed,) = _rows(run("jobs", "-s", "failed", "-o", "json"))
    assert (failed["job"], failed["why"]) == ("c-2-job3", "exit code 1")
    (line,) = [line.split() for line in run("jobs", "c-2").stdout.splitlines() if line.startswith("c-2-job3")]
    assert line[:3] == ["c-2-job3", "c-2", "failed"]
    assert run("jobs", "c-2").stdout.splitlines()[-1] == "log of c-2-job3: fawkes logs c-2 --job c-2-job3"
    assert run("jobs", "c-9").exit_code == 2


def test_csv(run: Run) -> None:
    rows = list(csv.DictReader(StringIO(run("jobs", "-o", "csv").stdout)))
    assert len(rows) == 24
    assert float(rows[0]["wait_s"]) == pytest.approx(18)


# --- status ---------------------------------------------------------------------------------------------------------


def test_status(run: Run) -> None:
    lines = run("status").stdout.splitlines()
    assert lines[:3] == [
        "pool lab, as of 2023-11-14 22:18:40",
        "controller: head:1, started 2023-11-14 22:13:20, Fawkes 0.1.0",
        "10 nodes: 8 held, 2 free, 0 out of service",
    ]
    assert lines[3].startswith("tick 16, 2023-11-14 22:18:40, policy TD: The policy TD measures 0 everywhere")
    assert lines[-1] == "without `run_as`: c-2, c-3 (`fawkes check` says what that means)"
    assert [line.split()[:4] for line in lines if line.startswith(("c-2 ", "c-3 "))] == [
        ["c-2", "running", "green", "2"],
        ["c-3", "running", "green", "6"],
    ]


def test_status_for_programs(run: Run) -> None:
    result = run("status", "--all", "-o", "json")
    rows = {row["cluster"]: row for row in _rows(result)}
    assert list(rows) == ["c-1", "c-2", "c-3"]
    assert (rows["c-3"]["nodes"], rows["c-3"]["core"], rows["c-3"]["transient"]) == (6, 2, 4)
    assert (rows["c-3"]["share"], rows["c-3"]["wait_s"]) == (0.6, 6.5)
    assert rows["c-1"]["state"] == "gone"
    pool = json.loads(result.stdout)["pool"]
    assert (pool["nodes"], pool["free"], pool["tick"], pool["policy"]) == (10, 2, 16, "TD")


def test_status_of_one_cluster(run: Run) -> None:
    assert [row["cluster"] for row in _rows(run("status", "c-1", "-o", "json"))] == ["c-1"]
    wrong = run("status", "c-4")
    assert (wrong.exit_code, "there is no MR-cluster 'c-4'" in wrong.stderr) == (2, True)


def test_status_in_the_middle_of_things(tmp_path: Path) -> None:
    entries = takewhile(lambda entry: entry.event.at_us <= at(151), recorded())
    copied(filled(entries), tmp_path / "state")
    result = CliRunner().invoke(cli, ["--site", str(tmp_path), "status", "-o", "json"])
    rows = {row["cluster"]: row for row in _rows(result)}
    assert (rows["c-3"]["health"], rows["c-3"]["why"]) == (
        "red",
        "waits for node10, which may hold data: its NodeManager is lost, its DataNode is dead",
    )
    assert (rows["c-3"]["lost"], rows["c-3"]["target"], rows["c-3"]["nodes"]) == (1, 6, 6)
    assert rows["c-2"]["health"] == "green"
    shown = CliRunner().invoke(cli, ["--site", str(tmp_path), "status"]).stdout
    assert "c-3: target 6, but 1 of its 6 nodes is out of service\n" in shown
    assert rows["c-3"]["weight"] == pytest.approx(208 / 240)
    assert rows["c-3"]["jobs_running"] + rows["c-3"]["jobs_waiting"] > 0


@pytest.mark.parametrize(
    "words", [["status"], ["status", "c-3"], ["nodes"], ["jobs"], ["explain"], ["events"]], ids=" ".join
)
def test_all_lines_fit_a_terminal_of_80_columns(site: Path, words: list[str]) -> None:
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(cli, ["--site", str(site), *words]).stdout
    assert [line for line in shown.splitlines() if cell_len(line) > 80] == []


def test_status_changes_nothing_of_what_the_ledger_says_of_the_pool(run: Run, site: Path) -> None:
    """The facts that the command adds have names of their own."""
    with closing(LedgerReader(site / "state")) as ledger:
        (known,) = board(ledger, "pool")
    shown = json.loads(run("status", "-o", "json").stdout)["pool"]
    assert {key: shown[key] for key in known} == json.loads(json.dumps(known, default=dict))


def test_watching_needs_a_terminal(run: Run) -> None:
    assert run("status", "--watch").exit_code == 2
    assert "needs a terminal" in run("status", "--watch").stderr
    assert run("status", "--watch", "-o", "json").exit_code == 2


@pytest.mark.slow
def test_watching_shows_what_changes(site: Path) -> None:
    ledger = Ledger(site / "state")
    master, slave = pty.openpty()
    env = {**os.environ, "COLUMNS": "160", "LINES": "40", "TERM": "xterm"}
    command = [sys.executable, "-m", "fawkes", "--site", str(site), "status", "--watch"]
    watcher = subprocess.Popen(command, stdout=slave, stderr=subprocess.PIPE, env=env)
    os.close(slave)
    _until(master, b"c-3")
    ledger.append(PauseAsked(at_us=at(400), reason="a visit"), Decision((PutPause("a visit"),)))
    _until(master, b"VOLUNTARY MOVES ARE STOPPED: a visit")
    ledger.close()
    _until(master, b"no controller is running for this site")
    (site / "state" / LOCK_FILE).write_text(
        f'{{"host": "{os.uname().nodename}", "pid": 77, "since_us": 5, "says_end": true}}'
    )
    _until(master, b"NO CONTROLLER IS RUNNING")
    watcher.send_signal(signal.SIGINT)
    assert watcher.wait(timeout=20) == 130
    os.close(master)


def _until(terminal: int, text: bytes) -> None:
    seen = b""
    while text not in seen:
        seen += os.read(terminal, 65536)


# --- explain --------------------------------------------------------------------------------------------------------


def test_explain_a_tick(run: Run) -> None:
    lines = run("explain", "3").stdout.splitlines()
    assert lines[0] == "Tick 3, 2023-11-14T22:14:20.000Z"
    assert "  2023-11-14 22:14:20  node[05-09] (transient) leave c-1, which holds 8 nodes and should have 3" in lines
    assert lines[-1].split() == ["c-2", "84", "67.5%", "20.0%", "-9.5", "2", "7", "2"]


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ([], "Tick 16, 2023-11-14T22:18:40.000Z"),
        (["--last"], "Tick 7, 2023-11-14T22:15:40.000Z"),
        (["--node", "node06"], "Node node06"),
        (["--cluster", "c-1"], "MR-cluster c-1"),
    ],
)
def test_explain_anything(run: Run, words: list[str], title: str) -> None:
    assert run("explain", *words).stdout.splitlines()[0] == title
    plain = json.loads(run("explain", *words, "-o", "json").stdout)
    assert (plain["version"], plain["title"]) == (2, title)
    assert plain["lines"]
    rows = list(csv.DictReader(StringIO(run("explain", *words, "-o", "csv").stdout)))
    assert [row["text"] for row in rows] == [line["text"] for line in plain["lines"]]


def test_explain_a_name_in_place_of_a_number(run: Run) -> None:
    result = run("explain", "node04")
    assert result.exit_code == 2
    assert "For a node or an MR-cluster: --node node04" in result.stderr


def test_explain_what_is_not_there(run: Run) -> None:
    for words in (["99"], ["--node", "nobody"], ["--cluster", "c-9"], ["3", "--last"], ["x"]):
        result = run("explain", *words)
        assert result.exit_code == 2
        assert result.stdout == ""


# --- events ---------------------------------------------------------------------------------------------------------


def test_events_tell_the_story(run: Run) -> None:
    rows = _rows(run("events", "--limit", "all", "-o", "json"))
    assert all(row["decided"] for row in rows)
    assert rows[0]["kind"] == "Started"
    (request,) = [row for row in rows if row["kind"] == "Requested" and row["event"]["spec"]["id"] == "c-2"]
    assert request["what"] == "c-2 (by ann)"
    assert request["decided"] == [
        "c-2 was requested by ann, with at least 2 nodes",
        "node[03-04] (transient) leave c-1 to make room for c-2",
    ]
    assert [reason["code"] for reason in request["reasons"]] == ["requested", "shrink-to-admit", "shrink-to-admit"]
    assert request["effects"][0]["kind"] == "Membership"


def test_events_of_every_kind_are_in_words(run: Run) -> None:
    rows = _rows(run("events", "--all", "--limit", "0", "-o", "json"))
    assert [row["step"] for row in rows] == list(range(1, 352))
    assert all(row["what"] for row in rows if row["kind"] != "ResumeAsked")
    said = {row["kind"]: row["what"] for row in rows}
    assert said["Sampled"] == "2 MR-clusters read"
    assert said["NodeObserved"] == "node02 is clean"
    assert said["PauseAsked"] == "a visit (by bob)"
    assert said["DrainAsked"] == "node08: new disk (by bob)"
    ended = "launcher finished with exit code 1, application_c-2-job3_1 failed: exit code 1"
    assert any(row["what"] == f"c-2-job3 (attempt 1): {ended}" for row in rows)


def test_events_by_kind_and_time(run: Run) -> None:
    assert {row["kind"] for row in _rows(run("events", "--kind", "requested", "--kind", "Started", "-o", "json"))} == {
        "Requested",
        "Started",
    }
    late = _rows(run("events", "--since", "2023-11-14T22:18:10", "-o", "json"))
    # The release was asked for at that moment, and decided when its survey had been answered.
    assert [row["kind"] for row in late[:2]] == ["Done", "Done"]
    assert late[0]["reasons"][0]["code"] == "released"
    every = _rows(run("events", "--all", "--since", "2023-11-14T22:18:10", "-o", "json"))
    assert every[0]["kind"] == "ReleaseAsked"
    assert _rows(run("events", "--since", "2023-11-14T23:18:10+01:00", "-o", "json")) == late
    assert _rows(run("events", "--since", "10m", "-o", "json")) == []


@pytest.mark.slow
def test_events_show_the_newest_last_and_say_how_many_there_are(run: Run) -> None:
    every = json.loads(run("events", "--limit", "all", "-o", "json").stdout)
    assert every["total"] == len(every["rows"]) == 156
    usual = run("events", "-o", "json")
    printed = json.loads(usual.stdout)
    assert (printed["total"], printed["rows"]) == (156, every["rows"][-50:])
    assert "the newest 50 of 156 steps; --limit all shows all of them" in usual.stderr
    few = run("events", "--kind", "requested", "--limit", "2", "-o", "json")
    requests = [row for row in every["rows"] if row["kind"] == "Requested"]
    assert json.loads(few.stdout)["rows"] == requests[-2:]
    assert json.loads(few.stdout)["total"] == len(requests)
    assert "of 3 steps" in few.stderr
    raw = run("events", "--all", "--limit", "3", "-o", "json")
    assert [row["step"] for row in json.loads(raw.stdout)["rows"]] == [349, 350, 351]
    assert json.loads(raw.stdout)["total"] == 351
    enough = run("events", "--limit", "1000", "-o", "json")
    assert (json.loads(enough.stdout), "newest" in enough.stderr) == (every, False)


def test_jobs_show_the_newest_last_and_say_how_many_there_are(run: Run) -> None:
    every = json.loads(run("jobs", "-o", "json").stdout)
    assert every["total"] == len(every["rows"]) == 24
    last = run("jobs", "--limit", "5", "-o", "json")
    assert json.loads(last.stdout) == {**every, "rows": every["rows"][-5:]}
    assert "the newest 5 of 24 jobs; --limit all shows all of them" in last.stderr
    assert len(_rows(run("jobs", "--limit", "0", "-o", "json"))) == 24
    assert "the newest" not in run("-q", "jobs", "--limit", "5").stderr


@pytest.mark.parametrize("limit", ["-1", "few", "1.5", ""])
def test_a_limit_that_is_no_number(run: Run, limit: str) -> None:
    result = run("events", "--limit", limit)
    assert (result.exit_code, "write 50, or all" in result.stderr) == (2, True)


def test_quiet_leaves_results_and_errors(run: Run) -> None:
    result = run("-q", "status")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "c-3" in result.stdout
    wrong = run("-q", "status", "c-4")
    assert (wrong.exit_code, "there is no MR-cluster 'c-4'" in wrong.stderr) == (2, True)


def test_wide_has_more_columns(run: Run) -> None:
    usual, wide = run("nodes"), run("nodes", "-o", "wide")
    assert "since" not in usual.stdout.splitlines()[0]
    assert {"masters", "since", "alert"} <= set(wide.stdout.splitlines()[0].split())
    assert "tr-core" in run("status", "-o", "wide").stdout


def test_every_key_of_a_row_is_in_the_list(run: Run) -> None:
    for words in (["status", "--all"], ["nodes"], ["nodes", "--fold"], ["jobs"], ["events"], ["events", "--verify"]):
        for row in _rows(run(*words, "-o", "json")):
            assert row.keys() <= FIELDS.keys(), words
    for row in json.loads(run("explain", "3", "-o", "json").stdout)["figures"]:
        assert row.keys() <= FIELDS.keys()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--kind", "reqested"], "Did you mean 'Requested'?"),
        (["--kind", "zzz"], "There are AttemptSeen, CancelAsked, ClockSeen, CopySeen, Done, "),
        (["--since", "yesterday"], "neither how long ago (10m, 2h) nor a time"),
        (["--verify", "--all"], "--verify checks the whole ledger"),
    ],
)
def test_events_used_wrongly(run: Run, words: list[str], message: str) -> None:
    result = run("events", *words)
    assert result.exit_code == 2
    assert message in result.stderr


def test_events_as_table_and_csv(run: Run) -> None:
    table = run("events", "--kind", "Requested").stdout
    assert "Requested  c-1 (by ann)" in table
    assert "- c-1 was requested by ann, with at least 2 nodes" in table
    rows = list(csv.DictReader(StringIO(run("events", "--limit", "all", "-o", "csv").stdout)))
    assert json.loads(rows[0]["decided"]) == ["The controller started: Fawkes 0.1.0, epoch 1, policy TD"]


def test_events_verified(run: Run, site: Path) -> None:
    (row,) = _rows(run("events", "--verify", "-o", "json"))
    assert (row["steps"], row["sound"], row["ledger"]) == (351, True, str(site / "state" / LEDGER_FILE))


@pytest.mark.slow
@pytest.mark.parametrize("output", ["table", "json"])
def test_jobs_followed(site: Path, output: str) -> None:
    ledger = Ledger(site / "state")
    command = [sys.executable, "-m", "fawkes", "--site", str(site), "jobs", "--follow", "-o", output]
    follower = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert follower.stderr is not None
    assert follower.stdout is not None
    # Nothing answers: the test has the ledger, and no socket.
    assert "the controller is starting" in follower.stderr.readline()
    assert "following" in follower.stderr.readline()
    (last,) = [row.change for row in ledger.latest("job") if row.subject == "c-3-job8"]
    assert isinstance(last, PutJob)
    again = replace(last.state, life=JobLife.QUEUED, attempt=2)
    ledger.append(PauseAsked(at_us=at(400), reason="a visit"), Decision((PutJob(again),)))
    line = follower.stdout.readline()
    if output == "json":
        assert (json.loads(line)["job"], json.loads(line)["state"]) == ("c-3-job8", "queued")
    else:
        assert line == "c-3-job8 of c-3, attempt 2: queued\n"
    follower.send_signal(signal.SIGINT)
    assert follower.wait(timeout=20) == 130
    follower.stdout.close()
    follower.stderr.close()
    ledger.close()


@pytest.mark.slow
@pytest.mark.parametrize("output", ["table", "json", "csv"])
def test_events_followed(site: Path, output: str) -> None:
    ledger = Ledger(site / "state")
    command = [sys.executable, "-m", "fawkes", "--site", str(site), "events", "--follow", "-o", output]
    follower = subprocess.Popen(
        [*command, "--since", "2023-11-14T22:18:40"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert follower.stdout is not None
    lines = iter(follower.stdout.readline, "")
    assert next(line for line in lines if "2023-11-14T22:18:40.000Z" in line)
    reason = Reason("paused", {"reason": "a visit", "by": "bob"})
    ledger.append(PauseAsked(at_us=at(400), reason="a visit", by="bob"), Decision((), (), (reason,)))
    line = next(line for line in lines if "PauseAsked" in line)
    assert "a visit (by bob)" in line
    if output == "json":
        assert json.loads(line)["decided"] == ["Voluntary moves are stopped: a visit"]
    follower.send_signal(signal.SIGINT)
    assert follower.wait(timeout=20) == 130
    follower.stdout.close()
    ledger.close()


# --- verify ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def of_today(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with the ledger of a run by the engine of today."""
    site = tmp_path_factory.mktemp("site")
    played = MemoryStore()
    play(played)
    copied(played, site / "state")
    return site


@pytest.mark.slow
def test_verify_gives_every_decision_again(of_today: Path) -> None:
    result = CliRunner().invoke(cli, ["--site", str(of_today), "verify", "-o", "json"])
    assert _rows(result) == []
    assert "every decision is the same as the stored one, byte for byte" in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("version", "status"), [(__version__, 1), ("0.0.9", 3)])
def test_verify_finds_a_decision_that_does_not_come_again(
    of_today: Path, tmp_path: Path, version: str, status: int
) -> None:
    reader = LedgerReader(of_today / "state")
    copied(
        filled(_changed(reader.entries(), version, lambda reasons: (*reasons, Reason("a-whim")))), tmp_path / "state"
    )
    reader.close()
    result = CliRunner().invoke(cli, ["--site", str(tmp_path), "verify", "-o", "json"])
    assert result.exit_code == status
    (row,) = json.loads(result.stdout)["rows"]
    assert (row["kind"], row["decided_by"], row["differs"]) == ("Requested", version, ["reasons"])
    assert row["stored_decision"]["reasons"][-1] == {"code": "a-whim"}
    assert "1 differs" in result.stderr


@pytest.mark.slow
def test_verify_tells_a_number_from_one_of_another_kind(of_today: Path, tmp_path: Path) -> None:
    def floats(reasons: tuple[Reason, ...]) -> tuple[Reason, ...]:
        facts = {key: float(fact) if type(fact) is int else fact for key, fact in reasons[0].facts.items()}
        return (replace(reasons[0], facts=facts), *reasons[1:])

    with closing(LedgerReader(of_today / "state")) as reader:
        copied(filled(_changed(reader.entries(), __version__, floats)), tmp_path / "state")
    result = CliRunner().invoke(cli, ["--site", str(tmp_path), "verify", "-o", "json"])
    assert [row["differs"] for row in json.loads(result.stdout)["rows"]] == [["reasons"]]


def _changed(entries: Iterable[Entry], version: str, change: Callable[..., tuple[Reason, ...]]) -> Iterator[Entry]:
    """The same steps as decided by ``version``, and with other reasons at the request of c-2."""
    for entry in entries:
        event, decision = entry.event, entry.decision
        if isinstance(event, Started):
            event = replace(event, version=version)
            changes = tuple(replace(c, version=version) if isinstance(c, PutRules) else c for c in decision.changes)
            said = [replace(r, facts={**r.facts, "version": version}) for r in decision.reasons if r.code == "started"]
            reasons = (*said, *(r for r in decision.reasons if r.code != "started"))
            decision = replace(decision, changes=changes, reasons=reasons)
        if isinstance(event, Requested) and event.spec.id == "c-2":
            decision = replace(decision, reasons=change(decision.reasons))
        yield Entry(entry.seq, event, decision)
