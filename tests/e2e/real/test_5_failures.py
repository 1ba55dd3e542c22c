"""Processes, hosts and cables fail; operators stop things. Nobody gets an unclean node, no block is lost."""

from __future__ import annotations

import pytest

from fawkes.core.values.model import ClusterLife, JobLife, NodeLife, Role
from tests.support.site import RealSite, differences

pytestmark = pytest.mark.hadoop

#: so large that each node runs one
TASKS = """
kind = "sleep"
maps = 6
map_time = "1000s"
reduces = 0
properties = { "mapreduce.map.memory.mb" = "1024" }
"""
#: writes a file of three blocks, and does not close it before somebody says so
WRITER = """
kind = "script"
command = "(head -c 2500000 /dev/zero; until [ -e /tmp/enough ]; do sleep 0.2; done) | \
hadoop fs -D dfs.blocksize=1048576 -D dfs.replication=1 -put - /output/core/open"
"""
#: takes HDFS's writes away until somebody says so
CLOSES = """
kind = "script"
command = "hdfs dfsadmin -safemode enter && until [ -e /tmp/open-again ]; do sleep 0.2; done; \
hdfs dfsadmin -safemode leave"
"""
SMALL = 'kind = "sleep"\nmaps = 1\nmap_time = "1s"\nreduces = 0\n'
#: the pids of a daemon
PIDS = """
for file in /proc/[0-9]*/cmdline; do
    case $(tr '\\0' ' ' <"$file" 2>/dev/null) in
        *" -Dproc_{daemon} "*) pid=${{file#/proc/}}; echo "${{pid%/cmdline}}" ;;
    esac
done
"""
TASK_PROCESSES = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c '[Y]arnChild' || :"


def pids(site: RealSite, node: str, daemon: str) -> list[str]:
    return site.on(node, PIDS.format(daemon=daemon)).split()


def kill(site: RealSite, node: str, daemon: str) -> None:
    (pid,) = pids(site, node, daemon)
    site.on(node, f"kill -9 {pid}")


def containers(site: RealSite) -> dict[str, int]:
    """How many containers each node of alpha runs."""
    names = {address: name for name, address in site.hosts.items()}
    rows = site.yarn("alpha", "nodes")["nodes"]["node"]
    found = {str(row["nodeHostName"]): int(row["numContainers"]) for row in rows if row["state"] == "RUNNING"}
    return {names.get(host, host): count for host, count in found.items()}


@pytest.mark.nightly
def test_hosts_that_die_under_running_tasks(site: RealSite) -> None:
    """One loses its NodeManager, one its power, one its cable; each is wiped before it is anybody's again."""
    with site.demand("alpha"):
        transient = site.until_serving("alpha", Role.TRANSIENT, 4)
        site.until_settled()
    site.fawkes("submit", "alpha", site.job("tasks", TASKS))
    site.until("tasks on all nodes", lambda: all(containers(site).get(node) for node in transient))
    daemonless, dark, alone, _ = transient
    site.until("a process of a task", lambda: site.on(daemonless, TASK_PROCESSES).strip() != "0")
    began = site.now()

    site.lab.kill(dark)
    site.lab.cut(alone)
    kill(site, daemonless, "nodemanager")
    assert site.on(daemonless, TASK_PROCESSES).strip() != "0"
    drained = site.fawkes("drain", daemonless, "--reason", "its NodeManager was killed", "--wait")
    assert "out of service" in drained
    assert site.on_nodes([daemonless])[daemonless].clean
    assert site.on(daemonless, TASK_PROCESSES).strip() == "0"
    site.until(
        "the loss of both",
        lambda: {r.facts["node"] for r in site.ledger.reasons("node-lost", after=began)} >= {dark, alone},
    )
    for node in (dark, alone):
        assert (site.node(node).life, site.node(node).owner) == (NodeLife.LOST, None)
        row = next(row for row in site.rows("nodes") if row["node"] == node)
        assert row["alert"]
    assert site.ledger.jobs["tasks"].life is JobLife.RUNNING

    site.fawkes("cancel", "tasks", "--wait")
    site.lab.start(dark)
    site.lab.mend(alone)
    site.fawkes("undrain", daemonless)
    site.until(
        "all three to be free",
        lambda: (
            {r.facts["node"] for r in site.ledger.reasons("freed", after=began)} >= {dark, alone}
            and site.node(daemonless).life is not NodeLife.OUT
        ),
    )
    site.until_settled()
    assert differences(site) == []
    said = [r.facts for r in site.ledger.reasons("drain-asked", after=began)]
    assert [(facts["node"], facts["reason"]) for facts in said] == [(daemonless, "its NodeManager was killed")]


def test_a_core_node_that_an_operator_drains_is_replaced_and_no_byte_is_lost(site: RealSite) -> None:
    """Its own copy of a block may be the only one, input lies on core nodes alone, and a file is being written."""
    master = site.ledger.clusters["beta"].master
    (second,) = [n.node.id for n in site.nodes_of("beta") if n.role is Role.CORE and n.node.id != master]
    for replication in (1, 2):
        place = f"{site.hosts[second]}:9864"
        site.hdfs("beta", "write", f"/output/core/{replication}", place, str(3 << 20), str(replication))
    before = {folder: site.hdfs("beta", "digests", folder) for folder in ("/output/core", "/words", "/records")}
    places = {path: hosts for folder in before for path, hosts in site.hdfs("beta", "places", folder).items()}
    assert all(any(site.hosts[second] in hosts for hosts in places[path]) for path in places)
    site.fawkes("submit", "beta", site.job("writer", WRITER))
    site.until(
        "whole blocks of a file that is being written",
        lambda: len(site.hdfs("beta", "places", "/output/core").get("/output/core/open._COPYING_", ())) > 1,
    )
    began = site.now()

    drained = site.fawkes("drain", second, "--reason", "new fans", "--wait")
    assert "out of service" in drained
    assert site.on_nodes([second])[second].clean
    assert site.ledger.jobs["writer"].life is JobLife.RUNNING
    site.on(str(master), "touch /tmp/enough")
    assert [job.life for job in site.until_ended("writer")] == [JobLife.SUCCEEDED]
    site.on(str(master), "rm /tmp/enough")
    site.hdfs("beta", "remove", "/output/core/open")
    assert {folder: site.hdfs("beta", "digests", folder) for folder in before} == before
    (taken,) = site.until("what was told of it", lambda: site.ledger.reasons("takes-over", after=began))
    newcomer = str(taken.facts["node"])
    assert [n.node.id for n in site.nodes_of("beta") if n.role is Role.CORE] == sorted(
        str(n) for n in (master, newcomer)
    )
    told = site.fawkes("explain", "--node", second)
    assert f"{second} leaves beta, which has enough core nodes without it: new fans" in told
    site.fawkes("undrain", second)
    site.until_settled()
    assert differences(site) == []


@pytest.mark.nightly
def test_hdfs_without_writes_is_red_and_a_job_waits_until_it_takes_them(site: RealSite) -> None:
    """Somebody puts it into safe mode; the job is not handed out to fail, and its first attempt succeeds."""
    began = site.now()
    site.fawkes("submit", "alpha", site.job("closes-hdfs", CLOSES))
    site.until("the alert", lambda: site.ledger.reasons("unusable", after=began))
    (row,) = (row for row in site.rows("status", "alpha") if row["cluster"] == "alpha")
    assert (row["health"], "`hdfs dfsadmin -safemode leave`" in row["why"]) == ("red", True)
    site.fawkes("submit", "alpha", site.job("waits-for-writes", SMALL))
    assert "waits, because its attempts would fail now" in site.fawkes("explain", "--job", "waits-for-writes")
    site.on(str(site.ledger.clusters["alpha"].master), "touch /tmp/open-again")
    done = site.until_ended("closes-hdfs", "waits-for-writes")
    assert [(job.life, job.attempt) for job in done] == [(JobLife.SUCCEEDED, 1)] * 2, [job.why for job in done]
    site.on(str(site.ledger.clusters["alpha"].master), "rm /tmp/open-again")
    (row,) = (row for row in site.rows("status", "alpha") if row["cluster"] == "alpha")
    assert row["health"] == "green"
    site.until_settled()


@pytest.mark.drill
def test_a_paused_pool_moves_nothing(site: RealSite) -> None:
    site.fawkes("pause", "--reason", "a visit")
    with site.demand("beta"):
        began = site.now()
        site.until(
            "a tick that would move",
            lambda: [r for r in site.ledger.reasons("tick", after=began) if r.facts["verdict"] == "paused"],
        )
        assert site.ledger.reasons("grow", "shrink", after=began) == []
        assert "a visit" in site.fawkes("explain")
        site.fawkes("resume")
        site.until_serving("beta", Role.TRANSIENT_CORE, 4)


@pytest.mark.nightly
def test_blocks_that_cannot_be_safe_hold_their_nodes(site: RealSite) -> None:
    """With the cable of a core node cut, one DataNode would stay for two replicas of each block."""
    with site.demand("beta"):
        leaving = site.until_serving("beta", Role.TRANSIENT_CORE, 4)
    site.until_settled()
    master = site.ledger.clusters["beta"].master
    (second,) = [n.node.id for n in site.nodes_of("beta") if n.role is Role.CORE and n.node.id != master]
    for number, node in enumerate(leaving):
        site.hdfs("beta", "write", f"/output/held/{number}", f"{site.hosts[node]}:9864", str(1 << 20), "2")
    before = site.hdfs("beta", "digests", "/output/held")
    began = site.now()

    site.lab.cut(second)
    lost = site.until("the loss of a core node", lambda: site.ledger.reasons("node-lost", after=began))
    assert lost[0].facts["node"] == second
    assert (site.node(second).life, site.node(second).owner) == (NodeLife.LOST, "beta")
    site.fawkes("drain", ",".join(leaving), "--reason", "all of them")
    held = site.until("nodes that are held", lambda: site.ledger.reasons("held-blocks", after=began))
    # What lay on the core node alone is missing as well, as long as it is cut off.
    unsafe = (
        "too few replicas on other nodes",
        "has not checked its",
        "missing in HDFS",
        "the replication is 2, but only 1 DataNodes stay",
    )
    assert any(why in str(held[0].facts["error"]) for why in unsafe)
    node = str(held[0].facts["node"])
    assert site.node(node).life is NodeLife.EVACUATING
    (row,) = [row for row in site.rows("nodes", "--cluster", "beta") if row["node"] == node]
    assert any(why in row["alert"] for why in unsafe)
    assert len(pids(site, node, "datanode")) == 1

    site.lab.mend(second)
    site.until("all of them out of service", lambda: all(site.node(n).life is NodeLife.OUT for n in leaving))
    assert site.hdfs("beta", "digests", "/output/held") == before
    site.until("the core node to be back", lambda: site.node(second).life is NodeLife.SERVING)
    site.fawkes("undrain", ",".join(leaving))
    site.until_settled()
    assert differences(site) == []


@pytest.mark.nightly
def test_a_resource_manager_that_was_killed_is_brought_up_again(site: RealSite) -> None:
    """It knows its applications and its nodes again, and nothing ran twice."""
    site.fawkes("submit", "alpha", site.job("survives", 'kind = "sleep"\nmaps = 1\nmap_time = "40s"\nreduces = 0\n'))
    site.until("the job to run", lambda: site.ledger.jobs["survives"].life is JobLife.RUNNING)
    master = site.ledger.clusters["alpha"].master
    assert master is not None
    began = site.now()
    kill(site, master, "resourcemanager")
    lost = site.until("the loss of its node", lambda: site.ledger.reasons("node-lost", after=began))
    assert (lost[0].facts["node"], lost[0].facts["cluster"]) == (master, "alpha")
    assert "its ResourceManager is not running" in str(lost[0].facts["error"])
    site.until("its return", lambda: site.node(master).life is NodeLife.SERVING)
    (job,) = site.until_ended("survives")
    assert job.life is JobLife.SUCCEEDED, job.why
    assert len(site.applications("alpha", "survives")) == 1
    assert site.ledger.clusters["alpha"].life is ClusterLife.RUNNING
