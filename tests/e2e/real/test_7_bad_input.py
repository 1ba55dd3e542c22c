"""Errors of an MR-cluster that show only on the nodes: it is given up, with the reason, and leaves nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from fawkes.core.values.model import ClusterLife, NodeLife
from tests.support.site import RealSite, differences

pytestmark = [pytest.mark.hadoop, pytest.mark.nightly]

ONE = """
min_nodes = 1
replication = 1
max_nodes = 1
hadoop_version = "3.5.0"
"""
DATANODE_PORT = 9866
LISTEN = f"""
setsid python3 -c '
import socket, time
with socket.socket() as server:
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("", {DATANODE_PORT}))
    server.listen()
    time.sleep(100000)
' </dev/null >/dev/null 2>&1 &
echo $!
until grep -qi ':{DATANODE_PORT:04X} ' /proc/net/tcp; do sleep 0.1; done
"""


@pytest.fixture
def three_free(site: RealSite) -> Iterator[list[str]]:
    """Three nodes that stay free: nothing moves for the sake of balance meanwhile. One is dark, one is listened on."""
    movable = sorted(n for n, s in site.state.nodes.items() if s.role is None or s.role != "core")[:3]
    site.fawkes("pause", "--reason", "free nodes are needed")
    free, dark, listened = movable
    names = ",".join(movable)
    site.fawkes("drain", names, "--reason", "to be free", "--wait")
    site.fawkes("undrain", names)
    listener = site.on(listened, LISTEN).split()[0]
    site.lab.kill(dark)
    yield [free, dark, listened]
    site.on(listened, f"kill {listener} 2>/dev/null || :")
    if next(host for host in site.lab.status() if host.host == dark).state != "on":
        site.lab.start(dark)
    site.fawkes("resume")


def test_a_cluster_that_cannot_come_up_says_why_and_leaves_nothing(site: RealSite, three_free: list[str]) -> None:
    """A free node that does not answer is given to nobody."""
    free, dark, listened = three_free
    folder = site.root / "clusters" / "gone"
    folder.mkdir()
    (folder / "part").write_text("here for now")
    site.write("clusters/no-input.toml", ONE + 'data = [{ from = "gone", to = "/gone" }]\n')
    site.write("clusters/busy-port.toml", ONE)
    site.until("word of the dark node", lambda: site.node(dark).alert)
    site.fawkes("request", "no-input")
    shutil.rmtree(folder)
    failed = site.command("request", "busy-port", "--wait", code=1)
    assert f"port {DATANODE_PORT} is in use" in failed.stderr
    site.until_life(ClusterLife.GONE, "no-input", "busy-port")

    why = {name: site.ledger.clusters[name].failed for name in ("no-input", "busy-port")}
    assert f"{folder}: there is no such folder" in why["no-input"]
    assert f"{listened}: " in why["busy-port"]
    assert f"port {DATANODE_PORT} is in use" in why["busy-port"]
    assert {r.facts["cluster"] for r in site.ledger.reasons("gave-up")} >= set(why)
    found = site.on_nodes([free, listened])
    assert [there.clean for there in found.values()] == [True, True]
    assert (site.node(dark).life, site.node(dark).owner) == (NodeLife.FREE, None)

    site.lab.start(dark)
    site.until("the dark node to answer", lambda: not site.node(dark).alert)
    assert differences(site) == []


def test_a_request_for_what_is_not_there_is_refused_before_it_is_sent(site: RealSite) -> None:
    site.write("clusters/nowhere.toml", ONE + 'data = [{ from = "nowhere", to = "/in" }]\n')
    refused = site.command("request", "nowhere", code=2)
    assert "nowhere.toml: data[#1].from: there is no folder" in refused.stderr
    assert "nowhere" not in site.ledger.clusters
