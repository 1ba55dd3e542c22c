from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.base.errors import UserError
from fawkes.core.values.events import Progress
from fawkes.core.values.model import NodeId
from fawkes.live.hadoop.setup import Setup
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.playbook.dist.pig import DEFAULT_PIG, PIG_PINS
from tests.live.job_bench import Bench, verdict
from tests.live.played import PlayedGround, bare_setup, live_cluster
from tests.playbook.dist.helpers import LocalShell
from tests.support.stub import Stub

PIG = PIG_PINS[DEFAULT_PIG]
SAID = """
Input(s):
Failed to read data from "hdfs://m:8020/sets/join"

Output(s):
Failed to produce result in "hdfs://m:8020/sets/ds"
2026-11-21 10:40:41,810 [main] ERROR o.a.p.tools.grunt.Grunt - ERROR 6017: Stopping execution on job failure
2026-11-21 10:40:41,858 [main] INFO  org.apache.pig.Main - Pig script completed in 3 seconds
"""


def test_pig_that_lacks_its_input_says_which(master: Stub) -> None:
    bench = Bench(master, "pig")
    bench.begin()
    bench.launcher, bench.stderr = {"state": "finished", "exit": "6"}, SAID

    (seen,) = bench.seen()

    assert verdict(seen) is Progress.FAILED
    assert seen.words == 'Failed to read data from "hdfs://m:8020/sets/join"'


@pytest.mark.slow
@pytest.mark.parametrize("launcher", [{"state": "lost"}, {"state": "finished", "exit": "137"}])
@pytest.mark.parametrize(("kind", "wanted"), [("pig", "failed"), ("script", "failed"), ("class", "succeeded")])
def test_a_client_that_was_lost_may_have_had_more_to_run(
    master: Stub, launcher: dict[str, str], kind: str, wanted: str
) -> None:
    bench = Bench(master, kind)
    bench.begin()
    bench.yarn("FINISHED", "FINISHED")
    bench.launcher = launcher

    (seen,) = bench.seen()

    assert verdict(seen) == wanted


def cluster_on(place: Path) -> tuple[Setup, LiveCluster]:
    cluster = live_cluster("c", NodeId("m"), {})
    return bare_setup(PlayedGround("m", software_dir=str(place)), LocalShell()), cluster


def test_without_pig_in_the_cache_it_is_said_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAWKES_CACHE", str(tmp_path))
    setup, cluster = cluster_on(tmp_path / "node")

    with pytest.raises(UserError, match=r"Pig 0.18.0 is not in the cache.*`fawkes dist get pig` makes it"):
        setup.pig(cluster)
