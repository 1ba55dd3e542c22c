"""An allocation of a real Slurm becomes a pool, and goes back before Slurm takes it."""

from __future__ import annotations

import random
import re
import shlex
import shutil
import socket
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from fawkes.core.values.model import ClusterLife, JobLife
from fawkes.workload.playing.wordcount import counts, saved_counts
from tests.support.site import RealSite, real_site

pytestmark = [
    pytest.mark.hadoop,
    pytest.mark.nightly,
    pytest.mark.skipif(
        not shutil.which("slurmctld", path="/usr/sbin:/usr/bin"), reason="there is no slurmctld on this machine"
    ),
]

HERE = Path(__file__).parent
MINUTES = 8
SETTINGS = 'preset = "demo"\nidle_time = "never"\n'
FROM = '[from]\nslurm = "allocation"\ngive_back = "6m"\n'
CLUSTER = """
min_nodes = 2
replication = 1
data = [{ from = "../words", to = "/words" }]
outputs = [{ path = "/out", save_to = "../saved" }]
"""
COUNT = 'kind = "jar"\njar = "examples"\nargs = ["wordcount", "/words", "/out/count"]\n'


@pytest.fixture
def site(tmp_path: Path) -> Iterator[RealSite]:
    with real_site(tmp_path / "lab", 3, SETTINGS) as site:
        yield site


def start_slurm(site: RealSite) -> int:
    """Start Slurm with the hosts of the lab as its nodes; the memory of a node (MiB)."""
    (group,) = tomllib.loads((site.root / "inventory.toml").read_text())["group"]
    memory = int(group["memory"].removesuffix("MB")) * 10**6 >> 20
    for host in ("", *site.hosts):
        words = ["slurmd" if host else "slurmctld", f"{site.root}/slurm", str(memory), socket.gethostname()]
        words.append((HERE / "slurm.conf").read_text())
        script = f"set -- {shlex.join(words)}\n{(HERE / 'start.sh').read_text()}"
        if host:
            site.on(host, script)
        else:
            site.lab.exec(["/bin/sh", "-s"], input=script, timeout_s=60, check=True)
    idle = ["sinfo", "-h", "-t", "idle", "-o", "%D"]
    site.until("idle nodes", lambda: site.lab.exec(idle, timeout_s=60).stdout == f"{len(site.hosts)}\n", limit_s=60)
    return memory


def slurm(site: RealSite, *words: str) -> str:
    """The output of a command of Slurm."""
    return site.lab.exec(words, timeout_s=60, check=True).stdout.strip()


def take_the_allocation(site: RealSite) -> None:
    """Change the inventory of the lab, so that the pool is the nodes of the allocation."""
    text = (site.root / "inventory.toml").read_text()
    text = re.sub(r"(?m)^(address|cores|memory) = .*\n", "", text)
    text = re.sub(r"(?m)^nodes = .*", 'nodes = "@slurm:allocation"', text)
    site.write("inventory.toml", text.replace("[[group]]", f"{FROM}\n[[group]]"))


def allocate(site: RealSite, monkeypatch: pytest.MonkeyPatch, memory: int) -> None:
    """Start the controller in an allocation of two nodes; the commands that follow have its environment."""
    environment = site.root / "environment"
    keep = ["/bin/sh", "-c", 'env -0 >"$0"; exec "$@"', str(environment)]
    site.run(within=["salloc", "-N", "2", "--exclusive", f"--mem={memory}", "-t", str(MINUTES), *keep])
    for line in environment.read_text().split("\0"):
        if line.startswith("SLURM_"):
            monkeypatch.setenv(*line.split("=", 1))


def test_an_allocation_becomes_a_pool_and_goes_back(site: RealSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_CONF", f"{site.root}/slurm/slurm.conf")
    memory = start_slurm(site)
    take_the_allocation(site)
    chance = random.Random(7)
    for n in range(3):
        site.write(f"words/{n}", "".join(f"word{chance.randrange(50)} and\n" for _ in range(2000)))
    site.write("clusters/lent.toml", CLUSTER)

    allocate(site, monkeypatch, memory)
    lent = slurm(site, "scontrol", "show", "hostnames").split()
    (spare,) = set(site.hosts) - set(lent)
    assert set(site.state.nodes) == set(lent)
    bare = site.files()

    site.request("lent")
    site.fawkes("submit", "lent", site.job("count", COUNT))
    (job,) = site.until_ended("count")
    assert job.life is JobLife.SUCCEEDED, site.story()
    assert {node.node.id for node in site.nodes_of("lent")} == set(lent)
    assert site.on_nodes([spare])[spare].clean

    assert site.ended() == 0, site.story()
    ended_s = time.time()
    assert site.ledger.clusters["lent"].life is ClusterLife.GONE
    assert saved_counts(site.root / "saved/count") == counts(site.root / "words")
    shown = dict(re.findall(r"(\w+)=(\S+)", slurm(site, "scontrol", "show", "job", "1")))
    assert (shown["JobState"], shown["ExitCode"]) == ("COMPLETED", "0:0")
    assert time.mktime(time.strptime(shown["StartTime"], "%Y-%m-%dT%H:%M:%S")) + 60 * MINUTES - ended_s > 60
    assert all(there.clean for there in site.on_nodes().values())
    new = [(host, row) for host, rows in site.files().items() for row in rows ^ bare[host] if "/slurm/" not in row]
    # The empty work folder stays: an administrator may have made it.
    assert sorted(new) == [(host, "d 755 root /srv/fawkes") for host in sorted(lent)]

    # An administrator takes an allocation back.
    site.write("clusters/short.toml", "min_nodes = 2\nreplication = 1\n")
    allocate(site, monkeypatch, memory)
    site.request("short")
    slurm(site, "scancel", "2")
    site.ended()  # salloc's code, which is about the allocation
    assert site.log.read_text().count("stopping for good: root released the whole pool") == 2
    assert site.ledger.clusters["short"].life is ClusterLife.GONE
    assert all(there.clean for there in site.on_nodes().values())
