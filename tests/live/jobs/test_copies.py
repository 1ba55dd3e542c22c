"""Copies between two HDFS: begun once, followed to their end, and begun anew by the next call alone."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fawkes.base.errors import HostError
from fawkes.base.units import SECOND_US
from fawkes.core.jobs.copied import Compared, Files
from fawkes.core.values.model import ClusterId, NodeId
from fawkes.live.data.loading import StoppedError
from fawkes.live.jobs.copies import Copies, load_job
from fawkes.live.nodes.ssh import Result
from fawkes.live.wire.rest import close_session
from fawkes.playbook import Facts, Script
from fawkes.playbook.dist.compile.compiled import COPIES
from tests.live.played import NoUpload, PlayedGround, PlayedSetup, live_cluster
from tests.support.cached import make
from tests.support.stub import Stub, stub_master

C = ClusterId("c")
MASTER = NodeId("node01")
APPS, INFO = "/ws/v1/cluster/apps", "/ws/v1/cluster/info"
QUIET_US = 60 * SECOND_US
JOB = load_job("hdfs://far/in", "/in")


class Hurried(threading.Event):
    """An event on which nobody waits: the time of the bench goes on with each look."""

    def wait(self, timeout: float | None = None) -> bool:
        return self.is_set()


class Bench(PlayedGround, PlayedSetup):
    """One MR-cluster whose launchers and whose YARN the test describes."""

    def __init__(self, yarn: Stub) -> None:
        super().__init__(MASTER, user="root")
        self.yarn, self.url = yarn, yarn.url
        self.now_us = 0
        #: how the launchers of attempts 1, 2 ... stand at look after look; the last one stays
        self.launchers: list[list[str]] = []
        #: the same for one that is begun
        self.after: list[str] = ["finished 0"]
        self.begun: list[int] = []
        self.looks = 0
        self.said = ""
        self.stop_after = 1000
        self.cluster = live_cluster(C, MASTER, ready=True)
        self.recovered("ACTIVE")
        self.runs()

    def recovered(self, role: str) -> None:
        """How far the ResourceManager is."""
        self.yarn.answers[INFO] = {"clusterInfo": {"state": "STARTED", "haState": role, "startedOn": 1}}

    def runs(self, *states: str) -> None:
        """Sets the applications of the copy in YARN, whichever attempt is asked for."""
        rows = [
            {
                "id": f"application_1_{number}",
                "state": state,
                "finalStatus": {"FINISHED": "SUCCEEDED", "RUNNING": "UNDEFINED"}.get(state, state),
                "diagnostics": "No space left" if state == "FAILED" else "",
                "startedTime": number,
            }
            for number, state in enumerate(states, 1)
        ]
        self.yarn.answers[APPS] = {"apps": {"app": rows} if rows else None}

    def copies(self) -> Copies:
        return Copies(self, self, NoUpload(), Hurried(), quiet_us=QUIET_US, now_us=lambda: self.now_us)

    def compare(self) -> Compared:
        return self.copies().compare(self.cluster, "load-0", "/in", "hdfs://far/in", lambda: False)

    def copy(self, *, fresh: bool = False) -> int:
        """One call, as of one attempt of a stage: the attempt that made the copy."""
        return self.copies().run(self.cluster, "load-0", JOB, lambda: self.looks >= self.stop_after, fresh=fresh)

    # --- the parts of Ground and Setup that copies use

    def look(self, node: NodeId, script: Script, *, within_s: float | None = None) -> tuple[Facts, Result]:
        self.now_us += SECOND_US
        self.looks += 1
        if "fact said" in script.text:
            return Facts([("said", self.said)]), Result(node, 0, "", "")
        named = re.search(r"copy\.load-0(?:-compare)?\.(\d)", script.text)
        assert named is not None
        number = int(named[1])
        stands = self.launchers[number - 1] if number <= len(self.launchers) else ["absent"]
        state, _, exit_code = (stands.pop(0) if len(stands) > 1 else stands[0]).partition(" ")
        facts = Facts([("state", state), *([("exit", exit_code)] if exit_code else [])])
        return facts, Result(node, 0, "", "Error: it says why\n")

    def played(self, node: NodeId, script: Script, doing: str) -> Facts:
        assert doing == "starting a copy"
        self.launchers.append(list(self.after))
        self.begun.append(len(self.launchers))
        return Facts([])


@pytest.fixture
def bench() -> Iterator[Bench]:
    with stub_master() as yarn:
        yield Bench(yarn)
        close_session()


def test_a_copy_is_begun_once_and_followed_to_its_end(bench: Bench) -> None:
    bench.after = ["running", "running", "finished 0"]
    bench.copy()
    bench.copy()
    assert bench.begun == [1]


def test_one_that_has_succeeded_before_is_no_proof_of_how_its_target_is_now(bench: Bench) -> None:
    assert (bench.copy(), bench.copy(), bench.copy(fresh=True)) == (1, 1, 2)
    bench.after = ["finished 1"]
    with pytest.raises(HostError, match="it says why"):
        bench.copy(fresh=True)
    assert bench.begun == [1, 2, 3]


def test_each_comparison_is_one_of_its_own_and_without_its_line_nothing_is_known(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAWKES_CACHE", str(tmp_path))
    make(COPIES)
    none, one = {"count": 0, "first": [], "why": ""}, {"count": 4, "first": ["a"], "why": "No such block"}
    kinds = {"missing": none, "different": none, "extra": none, "unknown_here": none, "unknown_there": one}
    bench.said = json.dumps({**kinds, "files": 5, "equal": 1, "whole": True})
    for _ in range(2):
        assert bench.compare() == Compared(5, 1, unknown_there=Files(4, ("a",), "No such block"))
    assert bench.begun == [1, 2]
    for said in ("", "[]", "{}", json.dumps({**kinds, "files": 5, "equal": 1}), "{"):
        bench.said = said
        with pytest.raises(HostError, match="nobody knows how hdfs://far/in compares with /in"):
            bench.compare()
    bench.after = ["finished 1"]
    with pytest.raises(HostError, match="compare /in with hdfs://far/in failed: Error: it says why"):
        bench.compare()


def test_what_an_earlier_controller_began_is_waited_for(bench: Bench) -> None:
    bench.launchers = [["running", "running", "finished 0"]]
    bench.copy()
    assert bench.begun == []


def test_an_attempt_that_fails_is_the_reason_and_the_next_call_makes_another_one(bench: Bench) -> None:
    bench.after = ["running", "finished 1"]
    with pytest.raises(HostError, match=r"copy hdfs://far/in to /in failed: Error: it says why"):
        bench.copy()
    assert bench.begun == [1]
    bench.after = ["finished 0"]
    bench.copy()
    assert bench.begun == [1, 2]


def test_a_client_that_lost_sight_of_its_copy_has_not_failed(bench: Bench) -> None:
    bench.launchers = [["finished 25"]]
    bench.runs("FINISHED")
    bench.copy()
    assert bench.begun == []


def test_nothing_is_begun_before_yarn_says_what_it_runs(bench: Bench) -> None:
    bench.recovered("STANDBY")
    bench.stop_after = 5
    with pytest.raises(StoppedError):
        bench.copy()
    assert bench.begun == []


def test_no_second_copy_is_begun_beside_one_whose_launcher_is_not_there(bench: Bench) -> None:
    bench.runs("RUNNING")
    bench.stop_after = 5
    with pytest.raises(StoppedError):
        bench.copy()
    bench.runs("FINISHED")
    bench.stop_after = 1000
    bench.copy()
    assert bench.begun == []


@pytest.mark.slow
def test_a_launcher_that_left_nothing_is_given_up_when_that_lasts(bench: Bench) -> None:
    bench.after = ["lost"]
    with pytest.raises(HostError, match="its launcher is gone, and YARN has no application of it"):
        bench.copy()
    assert bench.now_us > QUIET_US


@pytest.mark.slow
def test_a_launcher_that_comes_to_life_late_is_not_given_up(bench: Bench) -> None:
    bench.after = [*["lost"] * 50, "running", *["lost"] * 50, "finished 0"]
    bench.copy()
    assert bench.begun == [1]


def test_a_copy_that_nobody_wants_any_more_is_not_begun(bench: Bench) -> None:
    bench.stop_after = 0
    with pytest.raises(StoppedError):
        bench.copy()
    assert bench.begun == []
