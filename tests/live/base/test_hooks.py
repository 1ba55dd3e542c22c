"""Hooks: what they are given, how long they may take, and what they can never do to anybody."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from fawkes.base.errors import HostError
from fawkes.base.units import SECOND_US
from fawkes.core.values.events import Condition, HoldAsked
from fawkes.core.values.model import ClusterId, NodeId
from fawkes.live.base.hooks import AFTER_WIPE, ALERT, BEFORE_JOIN, MOVE, HookError, Hooks
from playbooks import lease
from tests.support.desk import Desk
from tests.support.local_nodes import LocalFleet, node_of
from tests.support.pools import settings
from tests.support.waiting import wait_for

N1, N2 = NodeId("n1"), NodeId("n2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hooks").mkdir()
    return tmp_path / "hooks"


@pytest.fixture
def hooks(folder: Path) -> Iterator[Hooks]:
    hooks = Hooks(folder, 20 * SECOND_US)
    yield hooks
    hooks.close()


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def read(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def test_a_node_joins_once_its_hook_has_ended_well_and_it_runs_once(folder: Path, hooks: Hooks) -> None:
    write(folder, BEFORE_JOIN, "printf '%s\\n' \"$(cat)\" >>../said")
    for _ in range(2):
        hooks.before_join("c", {N1: 3, N2: 5}, "core")
    said = sorted(map(json.loads, read(folder / "../said")), key=lambda event: str(event["node"]))
    first = {"hook": BEFORE_JOIN, "node": "n1", "cluster": "c", "role": "core", "generation": 3}
    assert said == [first, {**first, "node": "n2", "generation": 5}]
    hooks.before_join("d", {N1: 4}, "core")
    assert len(read(folder / "../said")) == 3


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("echo no licence; exit 3", "ended with 3: no licence"),
        ("sleep 60", "had not ended after 1s, and was killed"),
        ("cat /dev/zero", "had not ended after 1s"),
        ("kill -9 $$", "ended with -9"),
        ("head -c 100000000 /dev/zero | tr '\\0' x; exit 1", "ended with 1: x"),
    ],
)
def test_a_hook_that_fails_keeps_the_node_out(folder: Path, text: str, why: str) -> None:
    hooks = Hooks(folder, SECOND_US if "had not ended" in why else 20 * SECOND_US)
    write(folder, BEFORE_JOIN, text)
    with pytest.raises(HookError) as caught:
        hooks.before_join("c", {N1: 1}, "core")
    assert caught.value.host == "n1"
    assert f"hooks/before-join {why}" in caught.value.what
    assert len(caught.value.what) < 2_200
    hooks.close()


def test_a_lost_node_that_comes_back_is_not_asked_about_whatever_the_hook_says_by_now(
    folder: Path, hooks: Hooks, tmp_path: Path
) -> None:
    fleet = LocalFleet([node_of(node, tmp_path) for node in (N1, N2)])
    ground = fleet.ground(3, "ours")
    for node, cluster, generation in ((N1, "c", 3), (N2, "c", 4)):
        right = ground.lease(node, ClusterId(cluster), generation)
        ground.run(node, lease.take(right), "taking it")
    write(folder, BEFORE_JOIN, "cat >../said; exit 1")
    join = partial(hooks.before_join, holders=ground.holders)
    join("c", {N1: 3}, "core")
    assert not (folder / "../said").exists()
    for cluster, node, generation in (("c", N1, 4), ("d", N2, 4), ("c", N2, 5)):
        with pytest.raises(HookError):
            join(cluster, {node: generation}, "core")
    fleet.off.add(N2)
    with pytest.raises(HostError, match="does not answer"):
        join("c", {N2: 4}, "core")
    assert ground.holders("c", {}) == set()


def test_a_file_that_is_no_program_is_said(folder: Path, hooks: Hooks) -> None:
    (folder / BEFORE_JOIN).write_bytes(b"\x7fELF\x00")
    hooks.before_join("c", {N2: 1}, "core")
    (folder / BEFORE_JOIN).chmod(0o755)
    with pytest.raises(HookError, match="cannot be started"):
        hooks.before_join("c", {N1: 1}, "core")


def test_what_a_hook_started_ends_with_it(folder: Path, hooks: Hooks) -> None:
    write(folder, BEFORE_JOIN, "sleep 600 & echo $! >../child")
    hooks.before_join("c", {N1: 1}, "core")
    child = int((folder / "../child").read_text())
    wait_for(lambda: not _runs(child), "the child is gone")


def _runs(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_site_may_be_named_from_where_the_controller_was_started(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, BEFORE_JOIN, "touch ../ran")
    monkeypatch.chdir(folder.parent)
    hooks = Hooks(Path("hooks"), 20 * SECOND_US)
    hooks.before_join("c", {N1: 1}, "core")
    assert (folder / "../ran").exists()
    hooks.close()


def test_the_environment_is_small_and_fixed(folder: Path, hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAWKES_TEST_SECRET", "s")
    write(folder, BEFORE_JOIN, "env >../env")
    hooks.before_join("c", {N1: 1}, "core")
    names = {line.partition("=")[0] for line in read(folder / "../env")}
    assert names <= {"PATH", "LANG", "FAWKES_HOOK", "PWD", "SHLVL", "_", "OLDPWD"}


def test_where_nobody_waits_a_failing_hook_keeps_nobody_out(folder: Path) -> None:
    hooks = Hooks(folder, SECOND_US, wait=False)
    write(folder, BEFORE_JOIN, "touch ../ran; exit 1")
    hooks.before_join("c", {N1: 1}, "core")
    wait_for((folder / "../ran").exists, "the hook ran")
    hooks.close()


def test_moves_wipes_and_alerts_are_told_and_nobody_waits(folder: Path, hooks: Hooks) -> None:
    for name in (MOVE, AFTER_WIPE, ALERT):
        write(folder, name, f"printf '%s\\n' \"$(cat)\" >>../{name}")
    desk = Desk(4, how=settings())
    append = desk.store.append

    def told(event: object, decision: object) -> int:
        seq = append(event, decision)  # type: ignore[arg-type]
        hooks.step(desk.state, event, decision)  # type: ignore[arg-type]
        return seq

    desk.store.append = told  # type: ignore[method-assign]
    desk.up("a")
    desk.tick(a=30)
    desk.settle("a")
    desk.see("node04", Condition.LOST)
    desk.see("node04", Condition.CLEAN)
    desk.tell(HoldAsked(at_us=desk.now_us, subject="a", reason="r"))
    wait_for(lambda: bool(read(folder / "../after-wipe")), "the last event was told")
    moves = json.loads(read(folder / "../move")[0])
    assert [(move["code"], move["node"]) for move in moves["moves"]] == [("grow", "node03"), ("grow", "node04")]
    assert any(json.loads(line)["kind"] == "lost" for line in read(folder / "../alert"))
    assert json.loads(read(folder / "../after-wipe")[0])["node"] == "node04"


def test_a_hook_that_hangs_never_holds_up_who_tells_it(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    hooks = Hooks(folder, 100 * SECOND_US)
    write(folder, ALERT, "echo $$ >../pid; exec sleep 600")
    with caplog.at_level(logging.WARNING):
        for number in range(300):
            hooks.tell(ALERT, {"number": number})
    assert "events wait already" in caplog.text
    pid = folder / "../pid"
    wait_for(lambda: bool(read(pid)), "the hook has begun")
    hooks.close()
    os.kill(int(pid.read_text()), 9)
