"""The paper's micro-experiments (6.1, 6.3, 6.4) on real Hadoop in a lab, in small, beside the simulator and the paper.

The hosts' network is slow, so that what goes from node to node counts, as disks and network do in the paper. Sort-like
jobs read, shuffle and write all of their input. All hosts share the processors of one machine, so a Wordcount-like task
sleeps for as long as it would compute: else growing could not help. Starting tasks costs processor time all the same.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.figures import Say
from bench.lab import exit_status, to_stderr, until
from fawkes.base.catalog import Catalog
from fawkes.base.errors import FawkesError
from fawkes.base.units import SECOND_US
from fawkes.cli.asking.client import Client
from fawkes.cli.demo.stage import controller_of, lab_of
from fawkes.cli.replay.stage import load_job, pool_job
from fawkes.config.files.nodeset import fold
from fawkes.config.site.site import Site
from fawkes.core.values.model import ClusterId, JobId, JobSpec
from fawkes.live.lab import LabSpec
from fawkes.offline.scenarios.applications import details_of
from fawkes.offline.scenarios.read import read_plan
from fawkes.offline.studies.paper.experiments.micro import ROLES as SIMULATED
from fawkes.offline.studies.paper.experiments.micro import Bench
from fawkes.playbook.dist import pieces
from fawkes.playbook.dist.compile.compiled import LOAD
from fawkes.report import history
from fawkes.sim.events.steps import Delays
from fawkes.sim.hadoop.constants import Constants
from fawkes.sim.hadoop.model import CopyDone
from fawkes.sim.hadoop.profile import Profile
from fawkes.store.record import to_plain
from fawkes.store.sqlite import LedgerReader

MB = 1_000_000
HOSTS = 6
CORE = 2
NETWORK = 5 * MB
LIKE_LAB = "wkld-a-small"
"""Whose ``[model]`` says what a host of a lab can do."""

SORT = Profile(maps=8, reduces=4, map_read_bytes=24 * MB, map_output_bytes=24 * MB, output_bytes=48 * MB)
COUNT = Profile(maps=20, reduces=1, map_read_bytes=MB, map_us=15 * SECOND_US, map_output_bytes=MB // 10)
#: all hosts of a lab are on one disk, whose cache holds these bytes: assumed, and never the limit here
DISK = 100 * MB
HELD_BYTES = 40 * MB
"""What each node that is removed stores, about."""

SETTINGS = 'preset = "demo"\npolicy = "EQ"\nperiod = "6s"\nsample_every = "2s"\nidle_time = "10h"\n'
_CLUSTER = """
min_nodes = {core}
max_nodes = {most}
replication = {replication}
growth = "{growth}"
outputs = [{{ path = "/replay/output", save_to = "../saved" }}]
"""
_LIMIT_S = 420.0


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: seconds, live and simulated, and what the paper says."""

    section: str
    what: str
    live_s: float
    simulated_s: float
    paper: str


def rows(say: Say) -> list[Row]:
    """All experiments, on a lab of their own."""
    plan = read_plan(Site(Path()), Catalog(), LIKE_LAB)
    constants = replace(plan.constants, network_bytes_s=NETWORK, disk_bytes_s=DISK, decommission_us=SECOND_US)
    rows: list[Row] = []
    with TemporaryDirectory(prefix="fawkes-micro-") as folder:
        site = Site(Path(folder) / "lab")
        with lab_of(LabSpec(hosts=HOSTS, site=site.root, rate_bytes=NETWORK), say) as lab:
            site.settings_file.write_text(SETTINGS)
            with controller_of(lab, site) as client:
                pool = Pool(client, site, say)
                with pool.cluster("core", 2 * CORE, 2 * CORE, "TR") as cluster:
                    constants = replace(constants, slots=cluster.slots())
                    rows += _reported(_core(cluster, constants), say)
                with pool.cluster("tr", CORE, HOSTS, "TR") as cluster:
                    rows += _reported(_grown(cluster, "TR", constants), say)
                with pool.cluster("tc", CORE, HOSTS, "TC") as cluster:
                    rows += _reported(_grown(cluster, "TC", constants), say)
                    rows += _reported(_removed(cluster, constants, plan.delays), say)
    return rows


def _reported(rows: Iterator[Row], say: Say) -> Iterator[Row]:
    """Each row as soon as it is there, which is minutes before the next."""
    for row in rows:
        say(f"{row.section} {row.what}: {row.live_s:.1f} s, simulated {row.simulated_s:.1f} s")
        yield row


def table(rows: Sequence[Row]) -> str:
    """As Markdown; behind each time is what part it is of that of the first row of the same jobs."""
    lines = [
        "| section | experiment | live | simulated | the paper |",
        "|---|---|---|---|---|",
    ]
    first: dict[str, Row] = {}
    for row in rows:
        base = first.setdefault(row.what.partition(",")[0], row)
        live = f"{row.live_s:.1f} s ({row.live_s / base.live_s:.2f})"
        simulated = f"{row.simulated_s:.1f} s ({row.simulated_s / base.simulated_s:.2f})"
        lines.append(f"| {row.section} | {row.what} | {live} | {simulated} | {row.paper} |")
    return "\n".join(lines) + "\n"


# --- the experiments


def _core(cluster: Cluster, constants: Constants) -> Iterator[Row]:
    for name, profile in (("Sort", SORT), ("Wordcount", COUNT)):
        live = cluster.run(f"core-{name.lower()}", profile)
        yield Row("6.1", f"{name}, 4 core nodes", live, _simulated(constants, 2 * CORE, 0, "TR", profile), "1")


_HALF = {("Sort", "TR"): "1.40 of it", ("Sort", "TC"): "1.23 of it"}
_GROWING = {"TC": "speed-up linear", "TR": "speed-up, flattening for Sort"}


def _grown(cluster: Cluster, role: str, constants: Constants) -> Iterator[Row]:
    for others in range(CORE + 1):
        cluster.grow_to(CORE + others)
        for name, profile in (("Sort", SORT), ("Wordcount", COUNT)):
            live = cluster.run(f"{role.lower()}-{others}-{name.lower()}", profile)
            simulated = _simulated(constants, CORE, others, role, profile)
            half = f"; 6.1: {_HALF.get((name, role), 'little more')}" if others == CORE else ""
            yield Row("6.3", f"{name}, 2 core + {others} {role}", live, simulated, _GROWING[role] + half)


def _removed(cluster: Cluster, constants: Constants, delays: Delays) -> Iterator[Row]:
    """Nodes that store data leave one after another; a node that has been emptied is stopped and wiped."""
    cluster.grow_to(HOSTS)
    cluster.run("held", Profile(maps=HOSTS, output_bytes=HELD_BYTES))
    each_s = (delays.drain_us + delays.evacuate_us + delays.clean_us) / SECOND_US
    emptied = _removals(constants, HOSTS - CORE)
    total, simulated = 0.0, [done + each_s * count for count, done in enumerate(emptied, start=1)]
    for count, node in enumerate(cluster.others(), start=1):
        total += cluster.remove(node)
        yield Row("6.4", f"idle nodes removed, {count} of {HOSTS}", total, simulated[count - 1], "linear to 50 %")


def _simulated(constants: Constants, core: int, others: int, role: str, profile: Profile) -> float:
    return Bench(constants, core, others, SIMULATED[role]).run([profile])


def _removals(constants: Constants, others: int) -> list[float]:
    """Seconds until one, two, ... nodes have left, one after another."""
    bench = Bench(constants, CORE, others, SIMULATED["TC"])
    left = list(bench.others)
    bench.evacuate(left[:1], HELD_BYTES)
    times = []
    for copy in bench.over():
        assert isinstance(copy, CopyDone)
        times.append(bench.model.now_us / SECOND_US)
        bench.leave(copy)
        left.pop(0)
        if left:
            bench.evacuate(left[:1], HELD_BYTES)
    return times


# --- an MR-cluster in the lab


class Pool:
    """The nodes of the lab, through their controller."""

    def __init__(self, client: Client, site: Site, say: Say) -> None:
        self.client = client
        self.site = site
        self.say = say
        pieces.provide([LOAD], say=say)
        self.jar = pieces.place_of(LOAD)
        self.names = sorted(row["node"] for row in client.rows("nodes"))

    @contextmanager
    def cluster(self, name: str, core: int, most: int, growth: str) -> Iterator[Cluster]:
        """An MR-cluster on the first nodes; the others are kept out. It has its data, and goes in the end."""
        text = _CLUSTER.format(core=core, most=most, replication=CORE, growth=growth)
        with self.on(self.names[:core], name, text) as cluster:
            cluster.submit(pool_job(name, f"{name}-pool", SORT.maps * SORT.map_read_bytes, self.jar))
            yield cluster

    @contextmanager
    def on(self, nodes: Collection[str], name: str, text: str) -> Iterator[Cluster]:
        """An MR-cluster that runs and has no other free nodes than these; it goes in the end."""
        for row in self.client.rows("nodes"):
            if not row["cluster"] and row["node"] not in nodes:
                self.client.post("drain", {"node": row["node"], "reason": "micro-experiment"})
        self.let_in(nodes)
        self.site.clusters_dir.mkdir(exist_ok=True)
        self.site.cluster_file(f"{self.site.clusters_dir}/{name}.toml").write_text(text)
        spec = self.site.cluster(name)
        self.say(f"micro: {name} on {fold(nodes)}")
        self.client.post("request", {"spec": to_plain(spec)})
        cluster = Cluster(self, name)
        cluster.wait("to run", lambda: cluster.life() == "running")
        yield cluster
        self.client.post("release", {"cluster": name, "discard": True, "force": True})
        cluster.wait("to go", lambda: cluster.life() in ("", "gone"))
        self.let_in(self.names)

    def let_in(self, nodes: Collection[str]) -> None:
        """Let those of the nodes that were kept out take part again."""
        for row in self.client.rows("nodes"):
            if row["node"] in nodes and row["keep_out"]:
                self.client.post("undrain", {"node": row["node"]})


class Cluster:
    """An MR-cluster that runs."""

    def __init__(self, pool: Pool, name: str) -> None:
        self.pool = pool
        self.name = name

    def run(self, name: str, profile: Profile) -> float:
        """A job by itself; its seconds in YARN."""
        self.pool.say(f"micro: {name}")
        spec = JobSpec(id=JobId(name), cluster=ClusterId(self.name), details=details_of(profile))
        return self.submit(load_job(spec, profile, f"/replay/output/{name}", self.pool.jar))

    def submit(self, spec: JobSpec) -> float:
        """Submit a job and wait for its end."""
        self.pool.client.post("submit", {"spec": to_plain(spec)})

        def ended() -> dict[str, Any] | None:
            (row,) = self.pool.client.rows("jobs", job=spec.id)
            return row if row["state"] in ("succeeded", "failed") else None

        row = self.wait(f"to run {spec.id}", ended)
        if row["state"] == "failed":
            raise FawkesError(f"{spec.id} failed: {row['why']}")
        return float(row["run_s"])

    def slots(self) -> int:
        """What YARN has on each of its nodes, as the controller read it."""

        def read() -> int:
            with closing(LedgerReader(self.pool.site.state_dir)) as ledger:
                sample = history.samples(ledger).get(self.name)
                return (sample.slots_total or 0) if sample is not None else 0

        total: int = self.wait("to be measured", read)
        return total // len(self._serving())

    def grow_to(self, count: int) -> None:
        """Let it have so many nodes, and wait until they serve."""
        self.pool.let_in(self.pool.names[:count])
        self.wait(f"to have {count} nodes", lambda: len(self._serving()) == count)

    def others(self) -> list[str]:
        """Its nodes that are no core nodes."""
        return sorted(row["node"] for row in self._serving() if row["role"] != "core")

    def remove(self, node: str) -> float:
        """Take a node out; seconds until it has been emptied and is wiped."""
        began = time.monotonic()
        self.pool.client.post("drain", {"node": node, "reason": "micro-experiment"})

        def out() -> bool:
            (row,) = self.pool.client.rows("nodes", node=node)
            return bool(row["state"] == "out")

        self.wait(f"to lose {node}", out)
        return time.monotonic() - began

    def life(self) -> str:
        """The state of its life; empty when it is gone."""
        rows = self.pool.client.rows("clusters", cluster=self.name)
        return str(rows[0]["state"]) if rows else ""

    def wait(self, what: str, look: Callable[[], Any]) -> Any:
        """What ``look`` returns once that is true; DeadlineError after some minutes."""
        return until(f"{self.name} {what}", look, limit_s=_LIMIT_S)

    def _serving(self) -> list[dict[str, Any]]:
        nodes = self.pool.client.rows("nodes")
        return [row for row in nodes if row["cluster"] == self.name and row["state"] == "serving"]


def main() -> int:
    """Measure, print the table, and write it to a file if one is named."""
    parser = argparse.ArgumentParser(prog="python -m bench.micro", description=__doc__)
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the table as Markdown")
    arguments = parser.parse_args()
    text = table(rows(to_stderr))
    print(text)
    if arguments.write is not None:
        arguments.write.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(exit_status(main))
