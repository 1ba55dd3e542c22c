"""`fawkes restore`: what would come back is shown, the name is asked for, and only then anything is begun."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fawkes.base.errors import HostError
from fawkes.cli.clusters.status import copy_line, standby_line
from fawkes.core.values.events import RestoreAsked
from fawkes.core.values.model import Reason
from tests.cli.conftest import Run, World, cluster

MINUTE_US = 60_000_000


def row(fate: str, files: int = 0, size: int = 0, *named: tuple[str, int, int]) -> dict[str, Any]:
    rows = [{"path": path, "bytes": 1, "missing": missing, "blocks": blocks} for path, missing, blocks in named]
    return {"fate": fate, "files": files, "bytes": size, "named": rows}


def found(**facts: Any) -> dict[str, Any]:
    rows = [
        row("whole", 4, 1000),
        row("open", 1, 9, ("/log", 0, 2)),
        row("short", 12, 50, ("/a b", 1, 3)),
        row("unknown"),
    ]
    told: dict[str, Any] = {
        "cluster": "c-1",
        "master": "node01",
        "to": "node02",
        "old": "silent",
        "image": None,
        "files": rows,
    }
    told |= {"copied_us": 40 * MINUTE_US, "now_us": 43 * MINUTE_US, "txid": 5123, "strangers": 0, "silent": []}
    return told | facts


@pytest.fixture
def lost(world: World) -> World:
    world.clusters = {"c-1": cluster("c-1", alert="its masters are lost")}
    world.facts = {"cluster": "c-1", "old": "node01", "to": "node02"}
    world.log_pieces = [{"doing": "listing the blocks on 3 nodes"}, {"found": found()}]
    return world


def asked(world: World) -> list[tuple[Any, bool]]:
    return [(event.to, event.dry_run) for event in world.events if isinstance(event, RestoreAsked)]


def test_a_dry_run_shows_what_would_come_back_and_begins_nothing(run: Run, lost: World) -> None:
    lost.log_pieces[1]["found"] |= {"strangers": 3, "silent": ["node01", "node04"]}
    result = run("restore", "c-1", "--dry-run")
    assert result.exit_code == 0, result.stderr
    assert "listing the blocks on 3 nodes ..." in result.stderr
    assert result.stderr.endswith(
        "node01, where the masters of c-1 were, does not answer\n"
        "the kept copy is 3m00s old and ends with transaction 5123; all later changes are lost\n"
        "  whole: 4 files (1.0 KB)\n"
        "  open for writing in the copy, so that their end may be missing: 1 file (9 B)\n"
        "    /log\n"
        "  not readable, because blocks of them are on no node that answers: 12 files (50 B)\n"
        "    /a b (1 of 3 blocks) and 11 more\n"
        "  3 blocks belong to no file of the copy: they were written or removed after it\n"
        "  blocks on node01, node04 were not counted: if files are not readable, bring these nodes back first\n"
    )
    assert "short" in result.stdout
    assert asked(lost) == [(None, True)]
    assert lost.asked == [{"cluster": "c-1", "to": "node02"}], "the node that the core chose"


def test_a_restore_wants_the_name_typed(run: Run, lost: World) -> None:
    result = run("restore", "c-1", "--to", "node02", answers="c-1\n")
    assert result.exit_code == 0, result.stderr
    assert "This starts the masters of c-1 on node02; whatever does not come back is given up." in result.stderr
    assert "Type 'c-1' to continue" in result.stderr
    assert result.stdout == "c-1 is being restored on node02: follow it with `fawkes status --watch`\n"
    assert asked(lost) == [("node02", True), ("node02", False)]


def test_with_wait_the_command_returns_when_the_masters_serve(run: Run, lost: World) -> None:
    lost.clusters = {"c-1": cluster("c-1", masters_on="node02", masters_moving=False)}
    result = run("restore", "c-1", "--yes", "--wait")
    assert (result.exit_code, result.stdout) == (0, "c-1 is restored: its masters serve on node02\n")


def test_with_wait_masters_that_stay_are_an_error(run: Run, lost: World) -> None:
    lost.clusters = {"c-1": cluster("c-1", masters_on="node01", masters_moving=False)}
    result = run("restore", "c-1", "--yes", "--wait")
    assert result.exit_code == 1
    assert "c-1: its masters serve on node01, not on node02. `fawkes explain --cluster c-1` says why" in result.stderr


@pytest.mark.slow
def test_with_wait_a_move_that_goes_on_ends_with_the_time_limit(run: Run, lost: World) -> None:
    lost.clusters = {"c-1": cluster("c-1", masters_on="node02", masters_moving=True)}
    result = run("restore", "c-1", "--yes", "--wait", "--timeout", "1s")
    assert result.exit_code == 5, result.stderr
    assert "the time limit ended before the masters of c-1 served on node02" in result.stderr


@pytest.mark.parametrize("typed", ["c-2\n", "yes\n", ""])
def test_another_word_begins_nothing(run: Run, lost: World, typed: str) -> None:
    result = run("restore", "c-1", answers=typed)
    assert (result.exit_code, asked(lost)) == (6, [(None, True)])
    assert "nothing was done" in result.stderr


def test_a_disk_with_the_whole_data_is_said_to_lose_nothing(run: Run, lost: World) -> None:
    lost.log_pieces = [{"found": found(old="stopped", image=True, files=[])}]
    result = run("restore", "c-1", "--yes")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == (
        "node01, where the masters of c-1 were, answers, and no NameNode runs there\n"
        "  its disk has the whole data of the NameNode: all files come back, with masters on node02\n"
    )
    assert asked(lost)[-1] == ("node02", False)


def test_a_journal_that_a_restore_ends_is_named_before_the_name_is_asked_for(run: Run, lost: World) -> None:
    assert "journal" not in run("restore", "c-1", "--dry-run").stderr
    lost.clusters["c-1"]["journal"] = ["node01", "node02", "node03"]
    result = run("restore", "c-1", "--dry-run")
    assert "it has a journal on node[01-03]: changes that only the journal has are lost" in result.stderr
    assert "bring most of these nodes back instead" in result.stderr


def test_rows_for_programs(run: Run, lost: World) -> None:
    result = run("restore", "c-1", "--dry-run", "-o", "json")
    rows = json.loads(result.stdout)["rows"]
    assert [(row["cluster"], row["fate"], row["files"], row["bytes"]) for row in rows] == [
        ("c-1", "whole", 4, 1000), ("c-1", "open", 1, 9), ("c-1", "short", 12, 50), ("c-1", "unknown", 0, 0),
    ]  # fmt: skip
    assert rows[2]["named"] == ["/a b (1 of 3 blocks)"]


@pytest.mark.parametrize(
    ("reason", "says"),
    [
        (Reason("masters-answer", {"cluster": "c-1"}), "The masters of c-1 answer"),
        (Reason("no-such-master", {"cluster": "c-1", "node": "node05", "able": ["node02"]}), "can go to node02"),
    ],
)
def test_the_core_refuses_before_any_node_is_looked_at(run: Run, lost: World, reason: Reason, says: str) -> None:
    lost.refusals = {"c-1": reason}
    result = run("restore", "c-1", "--to", "node05", "--yes")
    assert result.exit_code == 6
    assert says in result.stderr
    assert lost.asked == []


def test_a_look_that_fails_begins_nothing(run: Run, lost: World) -> None:
    lost.log_pieces = [{"doing": "reading the copy on node02"}, HostError("the disk is full", host="node02")]
    result = run("restore", "c-1", "--yes")
    assert (result.exit_code, asked(lost)) == (1, [(None, True)])
    assert "node02: the disk is full" in result.stderr


def test_a_name_that_is_none_is_helped(run: Run, lost: World) -> None:
    result = run("restore", "c-11")
    assert (result.exit_code, lost.events) == (2, [])
    assert "Did you mean 'c-1'?" in result.stderr


@pytest.mark.parametrize(
    ("known", "second", "says"),
    [
        ([{"age_us": 2_000_000}], "node02", "copy of their data is 2s old; a second copy goes to node02"),
        ([{"age_us": None}], "node02", "copy of their data is NOT MADE YET; a second"),
        ([], None, "is of unknown age; a second copy has NO PLACE: there is no other core node"),
    ],
)
def test_status_says_how_the_masters_data_is_kept(known: list[dict[str, Any]], second: str | None, says: str) -> None:
    shown = {"cluster": "c-1", "masters_on": "node01", "promise": "kept", "second_copy": second}
    line = copy_line(shown, known)
    assert line.startswith("c-1: its masters are on node01; promise: kept. The controller's ")
    assert says in line


def test_status_says_whether_the_second_name_node_can_take_over() -> None:
    row = {"cluster": "c-1", "journal": ["n1", "n2", "n3"], "second_namenode": "n2", "takes_over": True}
    row |= {"masters_on": "n1"}
    seen = {"takes_over": True, "since": "2026-05-04T12:00:05.000Z", "error": ""}
    where = "c-1: its journal is on n[1-3]; the second NameNode"
    assert standby_line(row, [seen]) == f"{where} on n2 can take over, since 2026-05-04 12:00:05"
    assert standby_line(row, [seen | {"error": "n3 is away"}]).endswith("12:00:05: n3 is away")
    away = row | {"takes_over": False}
    assert standby_line(away, [seen | {"takes_over": False, "error": "it does not answer"}]) == (
        f"{where} on n2 CANNOT TAKE OVER, since 2026-05-04 12:00:05: it does not answer"
    )
    assert standby_line(away, [seen]) == standby_line(away, [])
    assert standby_line(away, []) == f"{where} on n2 CANNOT TAKE OVER yet: it is being brought up"
    assert standby_line(away | {"masters_on": "n2"}, [seen]) == f"{where} on n2 is taking over"
    assert "NO PLACE" in standby_line(away | {"second_namenode": None}, [])
