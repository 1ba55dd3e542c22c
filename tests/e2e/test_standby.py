"""An MR-cluster with a journal and a second NameNode: it comes up, works, and both NameNodes know all that there is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

import pytest

from fawkes.core.values.model import JobLife, NodeId, NodeLife, Role, Standby
from tests.e2e.two_clusters import SETTINGS, write_input
from tests.support.probing import meanwhile
from tests.support.site import RealSite, differences, real_site

pytestmark = pytest.mark.hadoop

CLUSTER = """
min_nodes = 3
replication = 2
block_size = "1MiB"
growth = "TC"
masters = "standby"
max_running_jobs = 4
data = [{ from = "words", to = "/words" }]
outputs = [{ path = "/output", save_to = "../saved/gamma" }]
"""
COUNT = 'kind = "jar"\njar = "examples"\nargs = ["wordcount", "/words/more", "/output/{id}"]\n'
#: one map that takes its time, so that masters change under it
SLOW = """
kind = "streaming"
mapper = "sh -c 'sleep 25; cat'"
reducer = "wc -l"
input = "/words/more"
output = "/output/{id}"
"""
#: maps on every node: those on the masters' host are lost together with the only one who could say so
WIDE = 'kind = "sleep"\nmaps = 6\nmap_time = "40s"\nreduces = 0\n'
#: a client that knows nothing of a takeover, with a file of three blocks
PUT = """
. /srv/fawkes/clusters/gamma/conf/hadoop-env.sh
export HADOOP_CONF_DIR=/srv/fawkes/clusters/gamma/conf
head -c 3000000 /dev/zero >/tmp/put && "$HADOOP_HOME/bin/hdfs" dfs -put /tmp/put /output/put
"""
DAEMONS = (
    "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | sed -n 's/^FAWKES_DAEMON=//p' | sort | uniq | tr '\\n' ' '"
)
WORKERS = {"datanode", "nodemanager"}
MASTERS = {"namenode", "resourcemanager", "historyserver"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealSite]:
    with real_site(tmp_path_factory.mktemp("standby") / "lab", 4, SETTINGS) as site:
        write_input(site.root / "clusters")
        site.write("clusters/gamma.toml", CLUSTER)
        site.run()
        site.request("gamma")
        yield site


def standby_of(site: RealSite) -> Standby:
    found = site.ledger.clusters["gamma"].standby
    assert found is not None
    return found


def master_of(site: RealSite) -> NodeId:
    found = site.ledger.clusters["gamma"].master
    assert found is not None
    return found


def namenode(site: RealSite, at: str) -> dict[str, Any]:
    """The state of the NameNode on a node, by its own figures now; its figures as metrics are up to ten seconds old."""
    beans = site.inside("gamma", "get", f"http://{site.hosts[at]}:9870/jmx?qry=Hadoop:service=NameNode,name=*")
    fresh = [bean for bean in beans["beans"] if bean["name"].endswith(("=NameNodeStatus", "=FSNamesystemState"))]
    return {key: value for bean in fresh for key, value in bean.items()}


def daemons(site: RealSite, at: str) -> set[str]:
    return set(site.on(at, DAEMONS).split())


def test_journal_and_second_namenode_come_up_with_the_mr_cluster(site: RealSite) -> None:
    standby, master = standby_of(site), master_of(site)
    assert {master, standby.node} <= set(standby.journal)
    assert standby.node != master
    second = str(standby.node)
    site.until("a second NameNode that follows", lambda: standby_of(site).ready)
    (third,) = {*standby.journal} - {master, second}
    assert daemons(site, master) == {"journalnode", *MASTERS, *WORKERS}
    assert daemons(site, second) == {"journalnode", "namenode", *WORKERS}
    assert daemons(site, third) == {"journalnode", *WORKERS}
    assert [namenode(site, at)["State"] for at in (master, second)] == ["active", "standby"]

    def same() -> bool:
        first, other = (namenode(site, at) for at in (master, second))
        seen = [(answers["NumLiveDataNodes"], answers["FilesTotal"]) for answers in (first, other)]
        return seen[0] == seen[1] and seen[0][0] == 3

    site.until("both NameNodes to know the same", same)


@pytest.mark.drill
def test_jobs_run_as_in_any_mr_cluster(site: RealSite) -> None:
    site.fawkes("submit", "gamma", site.job("counts", COUNT))
    (job,) = site.until_ended("counts")
    assert (job.life, job.attempt) == (JobLife.SUCCEEDED, 1), job.why
    assert len(site.hdfs("gamma", "digests", "/output/counts")) >= 2


@pytest.mark.drill
def test_a_node_that_joins_stores_for_both_namenodes(site: RealSite) -> None:
    second = str(standby_of(site).node)
    with site.demand("gamma"):
        site.until_serving("gamma", Role.TRANSIENT_CORE, 1)
        site.until("both to know it", lambda: namenode(site, second)["NumLiveDataNodes"] == 4)
    assert differences(site) == []


def writing(site: RealSite, folder: str) -> AbstractContextManager[dict[str, float]]:
    """While the block lasts folders are made below a folder; afterwards, when each of them was acknowledged."""
    there = [f"http://{site.hosts[at]}:9870" for at in standby_of(site).journal]
    return meanwhile(site, "gamma", "keep_writing", there, folder)


def lost(site: RealSite, acknowledged: Mapping[str, float], folder: str) -> set[str]:
    """Folders that were acknowledged and are not there."""
    url = f"http://{site.master('gamma')}:9870/webhdfs/v1{folder}?op=LISTSTATUS&user.name=root"
    rows = site.inside("gamma", "get", url)["FileStatuses"]["FileStatus"]
    return set(acknowledged) - {f"{folder}/{row['pathSuffix']}" for row in rows}


def told(site: RealSite, code: str, after: int) -> float:
    """When (s since 1970) the first reason of a kind was told."""
    found = [e.event.at_us for e in site.ledger.entries[after:] if any(r.code == code for r in e.decision.reasons)]
    return found[0] / 1e6


def figures(site: RealSite, acknowledged: Mapping[str, float], after: int) -> str:
    """Seconds from the decision on: until the first write, and until all is told."""
    decided = told(site, "masters-move", after)
    first = min(at for at in acknowledged.values() if at > decided)
    return (
        f"HDFS took writes {first - decided:.1f} s, all was done {told(site, 'masters-moved', after) - decided:.1f} s"
    )


def until_a_task(site: RealSite, job: str) -> None:
    site.until(f"a task of {job}", lambda: _containers(site, job) > 1)


def _containers(site: RealSite, job: str) -> int:
    return max((int(row["runningContainers"]) for row in site.applications("gamma", job)), default=0)


def test_the_second_namenode_takes_over_and_nothing_that_was_acknowledged_is_lost(site: RealSite) -> None:
    """The masters' host loses its power and its disk under running jobs, which go on.

    Hadoop alone would wait ten minutes for tasks that ran there: longer than this test does.
    """
    site.until_settled()
    site.until("a second NameNode that follows", lambda: standby_of(site).ready)
    old, second, began = str(master_of(site)), str(standby_of(site).node), site.now()
    (third,) = {*standby_of(site).journal} - {old, second}
    before = site.hdfs("gamma", "digests", "/words")
    site.fawkes("submit", "gamma", site.job("wide", WIDE))
    site.until("all of its tasks", lambda: _containers(site, "wide") == 1 + 6)
    site.fawkes("submit", "gamma", site.job("goes-on", SLOW))
    until_a_task(site, "goes-on")
    with writing(site, "/output/acknowledged") as acknowledged:
        site.on(old, "rm -rf /srv/fawkes/clusters /srv/fawkes/lease 2>/dev/null || :")
        site.lab.kill(old)
        site.on(third, PUT)
        (moved,) = site.until("the takeover", lambda: site.ledger.reasons("masters-moved", after=began))
    print(f"{figures(site, acknowledged, began)} after the decision")
    assert (moved.facts["node"], moved.facts["missing_files"]) == (second, 0)
    assert acknowledged
    assert lost(site, acknowledged, "/output/acknowledged") == set()
    assert site.hdfs("gamma", "digests", "/words") == before
    (job,) = site.until_ended("goes-on")
    assert (job.life, job.attempt, job.displaced) == (JobLife.SUCCEEDED, 1, 0), job.why
    assert len(site.applications("gamma", "goes-on")) == 1
    written = {path.rpartition("/")[2] for path in site.hdfs("gamma", "sizes", "/output/goes-on")}
    assert written == {"_SUCCESS", "part-00000"}
    site.lab.start(old)
    # The second NameNode may be ready on another node before this one has joined again.
    site.until("the old node to serve", lambda: site.node(old).life is NodeLife.SERVING)
    site.until("a second NameNode again", lambda: standby_of(site).ready and standby_of(site).node is not None)
    (wide,) = site.until_ended("wide")
    assert (wide.life, wide.attempt, wide.displaced) == (JobLife.SUCCEEDED, 1, 0), wide.why
    site.until_settled()
    assert differences(site) == []


@pytest.mark.drill
def test_a_planned_move_ends_no_application(site: RealSite) -> None:
    site.until("a second NameNode that follows", lambda: standby_of(site).ready)
    old, second, began = master_of(site), standby_of(site).node, site.now()
    site.fawkes("submit", "gamma", site.job("stays", SLOW))
    until_a_task(site, "stays")
    with writing(site, "/output/planned") as acknowledged:
        site.fawkes("move-masters", "gamma")
        (moved,) = site.until("the move", lambda: site.ledger.reasons("masters-moved", after=began))
    print(f"{figures(site, acknowledged, began)} after the decision of a planned move")
    assert (moved.facts["node"], moved.facts["instead_of"]) == (second, old)
    assert lost(site, acknowledged, "/output/planned") == set()
    (job,) = site.until_ended("stays")
    assert (job.life, job.attempt, job.displaced) == (JobLife.SUCCEEDED, 1, 0), job.why
    site.until("a second NameNode on the old node", lambda: standby_of(site).node == old and standby_of(site).ready)
    assert daemons(site, str(old)) == {"journalnode", "namenode", *WORKERS}
