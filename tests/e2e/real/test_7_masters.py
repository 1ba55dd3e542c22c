"""Masters move and die: users keep their data, and the output of each job is there once."""

from __future__ import annotations

from typing import Any, cast

import pytest

from fawkes.core.values.model import JobLife, NodeLife, Role
from tests.support.site import RealSite, differences

pytestmark = pytest.mark.hadoop

FOLDERS = ("/words", "/records")
#: its first attempt waits, so that masters die under it
JOB = """
kind = "streaming"
mapper = "sh -c 'case $mapreduce_job_tags in *-1) sleep 1000 ;; esac; cat'"
reducer = "wc -l"
input = "/records"
output = "/output/{id}"
"""
SET_ASIDE = "ls -d /srv/fawkes/clusters/*/*.before-1 | sed 's,.*/,,'"
MASTERS = (
    "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -E '^FAWKES_DAEMON=(name|resource|history)' | sort"
)
RUNNING = "FAWKES_DAEMON=historyserver\nFAWKES_DAEMON=namenode\nFAWKES_DAEMON=resourcemanager\n"


def digests(site: RealSite, cluster: str) -> dict[str, Any]:
    return {folder: site.hdfs(cluster, "digests", folder) for folder in FOLDERS}


def master_of(site: RealSite, cluster: str) -> str:
    master = site.ledger.clusters[cluster].master
    assert master is not None
    return str(master)


@pytest.mark.nightly
def test_masters_move_when_they_are_asked_to_and_nothing_is_lost(site: RealSite) -> None:
    """No job runs, so it is done at once; afterwards the old node is a core node like any other."""
    old, before, began = master_of(site, "beta"), digests(site, "beta"), site.now()
    assert "The masters of beta go to another core node" in site.fawkes("move-masters", "beta")
    (moved,) = site.until("the move", lambda: site.ledger.reasons("masters-moved", after=began))
    new = master_of(site, "beta")
    assert (moved.facts["instead_of"], moved.facts["node"], new == old) == (old, new, False)
    assert (moved.facts["lacks_us"], moved.facts["missing_files"]) == (0, 0)
    assert digests(site, "beta") == before
    assert (site.on(new, MASTERS), site.on(old, f"{MASTERS} || :")) == (RUNNING, "")
    assert set(site.on(old, SET_ASIDE).split()) >= {"nn.before-1", "rm-state.before-1"}
    site.fawkes("submit", "beta", site.job("after-move", 'kind = "sleep"\nmaps = 1\nmap_time = "1s"\nreduces = 0\n'))
    (job,) = site.until_ended("after-move")
    assert (job.life, job.attempt) == (JobLife.SUCCEEDED, 1), job.why
    site.until_settled()
    assert {node.life for node in site.nodes_of("beta") if node.role is Role.CORE} == {NodeLife.SERVING}
    assert differences(site) == []


@pytest.mark.drill
def test_masters_leave_a_node_that_goes_out_of_service(site: RealSite) -> None:
    old, before = master_of(site, "beta"), digests(site, "beta")
    assert "out of service" in site.fawkes("drain", old, "--reason", "new fans", "--wait")
    site.now()
    assert master_of(site, "beta") != old
    assert digests(site, "beta") == before
    assert site.on_nodes([old])[old].clean
    site.fawkes("undrain", old)
    site.until_settled()
    assert differences(site) == []


def test_masters_whose_disk_is_lost_come_back_elsewhere_with_their_data(site: RealSite) -> None:
    """A job runs at that moment: it begins again, and its output is there once."""
    old, before, began = master_of(site, "alpha"), digests(site, "alpha"), site.now()
    site.fawkes("submit", "alpha", site.job("survives-masters", JOB))
    site.until("a task", lambda: _containers(site) > 1)
    # Daemons that still run may make a file meanwhile.
    site.on(old, "rm -rf /srv/fawkes/clusters /srv/fawkes/lease 2>/dev/null || :")
    site.lab.kill(old)
    site.lab.start(old)
    (moved,) = site.until("other masters", lambda: site.ledger.reasons("masters-moved", after=began))
    assert moved.facts["instead_of"] == old
    # Of a log that a node was about to write there may be a block that no DataNode has got.
    missing = cast(list[str], moved.facts["missing"])
    assert [path for path in missing if not path.startswith("/logs/")] == []
    assert digests(site, "alpha") == before
    (job,) = site.until_ended("survives-masters")
    assert (job.life, job.attempt, job.displaced) == (JobLife.SUCCEEDED, 2, 1), job.why
    written = site.hdfs("alpha", "digests", "/output/survives-masters")
    assert {path.rpartition("/")[2] for path in written} >= {"_SUCCESS", "part-00000"}
    assert not any("_temporary" in path for path in written)
    site.until("the old node to be back", lambda: site.node(old).life is NodeLife.SERVING)
    assert site.on(old, f"{MASTERS} || :") == ""
    site.until_settled()
    assert differences(site) == []


def _containers(site: RealSite) -> int:
    return sum(int(node["numContainers"]) for node in site.yarn("alpha", "nodes")["nodes"]["node"])
