"""The controller is killed in the middle of things; started again it finishes them, and nothing has happened twice.

While nodes join, a job runs and another one starts: `test_1_work.py`.
"""

from __future__ import annotations

import pytest

from fawkes.core.values.model import ClusterLife, JobLife, NodeLife, Reason, Role
from tests.support.site import LIMIT_S, RealSite, differences

pytestmark = pytest.mark.hadoop

NAP = 'kind = "sleep"\nmaps = 2\nmap_time = "1s"\nreduces = 0\n'
ONE = """
min_nodes = 1
replication = 1
max_nodes = 1
hadoop_version = "3.5.0"
"""
SLOW_BYTES = 2 << 30
SLOW = f"""{ONE}
block_size = "1MiB"
data = [{{ from = "zeros", to = "/zeros" }}]
outputs = [{{ path = "/output", save_to = "../saved/delta" }}]
"""

#: a line for each process of a daemon: its name, its pid, its parent's pid
DAEMONS = r"""
for p in /proc/[0-9]*; do
    d=$(tr '\0' '\n' <$p/cmdline 2>/dev/null | sed -n 's/^-Dproc_//p')
    [ -z "$d" ] || echo "$d ${p#/proc/} $(sed -n 's/^PPid:[[:space:]]*//p' $p/status)"
done
"""


def daemons_on(site: RealSite, node: str) -> list[str]:
    """The daemons that run there; a child that a daemon has just made looks like it until it begins its own work."""
    seen = [line.split() for line in site.on(node, DAEMONS).splitlines()]
    pids = {pid for _, pid, _ in seen}
    return sorted(daemon for daemon, _, parent in seen if parent not in pids)


def agree(site: RealSite) -> None:
    """After everything is settled: one owner for each node, in the ledger and on the node."""
    site.until_settled()
    assert differences(site) == []


@pytest.mark.drill
def test_in_the_middle_of_a_transient_core_drain(site: RealSite) -> None:
    """Blocks that lie on leaving nodes alone, or on one of them, are all there afterwards."""
    with site.demand("beta"):
        leaving = site.until_serving("beta", Role.TRANSIENT_CORE, 4)
    site.until_settled()
    for number, node in enumerate(leaving):
        for replication in (1, 2):
            place = f"{site.hosts[node]}:9864"
            path = f"/output/kept/{number}-{replication}"
            site.hdfs("beta", "write", path, place, str(3 << 20), str(replication))
    places = site.hdfs("beta", "places", "/output/kept")
    on_leaving = {site.hosts[node] for node in leaving}
    assert all(set(hosts) & on_leaving for blocks in places.values() for hosts in blocks)
    before = site.hdfs("beta", "digests", "/output/kept")
    with site.demand("alpha"):
        site.until(
            "blocks on their way",
            lambda: any(n.life is NodeLife.EVACUATING for n in site.nodes_of("beta")),
        )
        site.kill()
        site.run()
        site.until_serving("alpha", Role.TRANSIENT, 4)
        agree(site)
    assert site.hdfs("beta", "digests", "/output/kept") == before
    core = {site.hosts[n.node.id] for n in site.nodes_of("beta") if n.role is Role.CORE}

    def on_core_nodes() -> bool:
        places = site.hdfs("beta", "places", "/output/kept")
        return all(len(hosts) == int(path[-1]) and set(hosts) <= core for path in places for hosts in places[path])

    site.until("the NameNode to know the leavers no more", on_core_nodes)


@pytest.mark.drill
def test_while_a_cluster_is_deployed(site: RealSite) -> None:
    """It needs a node of another one; killed again and again, it comes up once."""
    site.write("clusters/gamma.toml", ONE)
    site.fawkes("request", "gamma")
    (core,) = site.until(
        "gamma to be deployed",
        lambda: site.nodes_of("gamma") if site.ledger.clusters["gamma"].life is ClusterLife.DEPLOYING else None,
    )
    name = core.node.id
    site.until("its first daemons", lambda: "gamma" in site.on_nodes([name])[name].processes)
    site.kill()
    site.run()
    site.kill()
    site.run()
    site.until_life(ClusterLife.RUNNING, "gamma")
    assert daemons_on(site, name) == ["datanode", "historyserver", "namenode", "nodemanager", "resourcemanager"]
    site.fawkes("release", "gamma", "--yes", "--wait", "--timeout", f"{LIMIT_S:.0f}s")
    agree(site)


@pytest.mark.nightly
def test_given_back_while_it_is_deployed_and_while_it_loads(site: RealSite) -> None:
    """Two at once: the controller is killed while the one is called off, the other has begun to load by then."""
    zeros = site.root / "clusters" / "zeros" / "part"
    zeros.parent.mkdir()
    with zeros.open("wb") as file:
        file.truncate(SLOW_BYTES)
    site.write("clusters/delta.toml", SLOW)
    site.write("clusters/gamma.toml", ONE)
    begin = site.now()
    site.fawkes("request", "delta", "gamma")
    site.fawkes("submit", "gamma", site.job("never", NAP))
    refused = site.command("release", "gamma", "--yes", code=6)
    assert "gamma has jobs that have not ended (never)" in refused.stderr
    (core,) = site.until(
        "gamma to be deployed",
        lambda: site.nodes_of("gamma") if site.ledger.clusters["gamma"].life is ClusterLife.DEPLOYING else None,
    )
    name = core.node.id
    site.until("its first daemons", lambda: "gamma" in site.on_nodes([name])[name].processes)
    site.fawkes("release", "gamma", "--yes", "--force")
    site.kill()
    site.run()
    site.until_life(ClusterLife.GONE, "gamma")
    never = site.ledger.jobs["never"]
    assert (never.life, never.stop) == (JobLife.CANCELLED, Reason("cluster-released"))

    site.until_life(ClusterLife.LOADING, "delta")
    assert [row["bytes"] for row in site.rows("release", "delta", "--dry-run")] == [0]
    refused = site.command("drain", site.nodes_of("delta")[0].node.id, "--reason", "new fans", code=6)
    assert "Run `fawkes release delta`" in refused.stderr
    site.fawkes("release", "delta", "--yes", "--wait", "--timeout", f"{LIMIT_S:.0f}s")
    site.ledger.catch_up()
    lives = [(r.facts["cluster"], r.facts["life"]) for r in site.ledger.reasons("called-off", after=begin)]
    assert lives == [("gamma", "deploying"), ("delta", "loading")]
    saved = [path for path in (site.root / "saved" / "delta").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in saved) == 0, "the input was a copy"
    agree(site)
