"""Section 6.2 of the paper on real Hadoop in a lab, in small: an MR-cluster on one site beside one on two sites.

Both have four core nodes and are there at the same time, in one pool. They run Hadoop's own Wordcount and Sort in turn,
so that what else the machine does meets both alike.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.figures import Say
from bench.lab import exit_status, to_stderr
from bench.micro import DISK, LIKE_LAB, MB, SETTINGS, Cluster, Pool
from fawkes.base.catalog import Catalog
from fawkes.cli.demo.stage import controller_of, lab_of
from fawkes.config.jobs.jobs import job_of
from fawkes.config.site.site import Site
from fawkes.live.lab import Lab, LabSpec
from fawkes.offline.scenarios.applications import profile_of_job
from fawkes.offline.scenarios.read import read_plan
from fawkes.offline.studies.paper.experiments.micro import Bench
from fawkes.sim.hadoop.constants import Constants
from fawkes.workload.making.classes import APPLICATIONS, chain

CORE = 4
REPLICAS = 2
HOSTS = 3 * CORE
"""So many that half of them hold one MR-cluster whole, and half of the other."""

NETWORK = 10 * MB
LINKS = {"as wide as in the paper": CORE // 2 * NETWORK, "a tenth of it": CORE // 2 * NETWORK // 10}
"""DAS-4's light path has as much as the 1 Gb/s of each of the ten nodes of a site together."""

MAPS, REDUCES, SPLIT = 8, 4, 16 * MB
ROUNDS = 3
_NARROW = 1000.0

_SIZES = {"bytespermap": SPLIT, "totalbytes": MAPS * SPLIT}
_NODEMANAGER = 1280 * MB
_CLUSTER = f"""
min_nodes = {CORE}
max_nodes = {CORE}
replication = {REPLICAS}
block_size = "16MiB"
outputs = [{{ path = "/out", save_to = "../saved" }}]
"""
_TEXT = "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat"
_PREPARE = {
    app: [program, *(f"-Dmapreduce.{program}.{key}={size}" for key, size in _SIZES.items()), *args]
    for app, program, args in (
        ("WC", "randomtextwriter", ["-outFormat", _TEXT, "/in/WC"]),
        ("ST", "randomwriter", ["/in/ST"]),
    )
}
_RUN = {
    "ST": ["sort", "-r", str(REDUCES), "/in/ST", "/out/{id}"],
    "WC": ["wordcount", f"-Dmapreduce.job.reduces={REDUCES}", "/in/WC", "/out/{id}"],
}
_PAPER = {"WC": "low overhead", "ST": "less than +20 %"}


@dataclass(frozen=True, slots=True)
class Row:
    """Seconds of a job on one site and on two, live in each round and simulated; bytes over the link."""

    app: str
    link: str
    one_s: list[float]
    two_s: list[float]
    simulated_s: tuple[float, float]
    crossed: list[float]
    simulated_crossed: float


def rows(say: Say, links: list[str]) -> Iterator[Row]:
    """The jobs at each of the links, each in a lab of its own."""
    constants = replace(
        read_plan(Site(Path()), Catalog(), LIKE_LAB).constants,
        network_bytes_s=NETWORK,
        site_stream_bytes_s=NETWORK,
        disk_bytes_s=DISK,
        output_replicas=REPLICAS,
    )
    for name in links:
        link = LINKS[name]
        with TemporaryDirectory(prefix="fawkes-sites-") as folder:
            site = Site(Path(folder) / "lab")
            spec = LabSpec(
                hosts=HOSTS,
                site=site.root,
                nodemanager_memory_bytes=_NODEMANAGER,
                rate_bytes=NETWORK,
                sites=2,
                link_rate_bytes=link,
            )
            with lab_of(spec, say) as lab:
                site.settings_file.write_text(SETTINGS)
                with controller_of(lab, site) as client:
                    pool = Pool(client, site, say)
                    # the first half of the hosts is the first site
                    near = pool.names[:CORE]
                    both = pool.names[CORE : CORE + CORE // 2] + pool.names[-CORE // 2 :]
                    with pool.on(near, "one", _CLUSTER) as single, pool.on(both, "two", _CLUSTER) as double:
                        at_link = replace(constants, site_bytes_s=link, slots=single.slots())
                        for app in _RUN:
                            yield _row(lab, app, name, single, double, at_link)


def _row(lab: Lab, app: str, link: str, single: Cluster, double: Cluster, constants: Constants) -> Row:
    for cluster in (single, double):
        _run(cluster, f"{app}-data", _PREPARE[app])
    one_s, two_s, crossed = list[float](), list[float](), list[float]()
    for number in range(1, ROUNDS + 1):
        one_s.append(_run(single, f"{app}-{number}", _RUN[app]))
        before = _crossed(lab)
        two_s.append(_run(double, f"{app}-{number}", _RUN[app]))
        crossed.append(_crossed(lab) - before)
        double.pool.say(f"over the link: {crossed[-1] / MB:.1f} MB")
    simulated_s = (_simulated(app, constants, 1), _simulated(app, constants, 2))
    # over a link so narrow nothing else takes time
    narrow = replace(constants, site_bytes_s=_NARROW)
    return Row(app, link, one_s, two_s, simulated_s, crossed, _simulated(app, narrow, 2) * _NARROW)


def _crossed(lab: Lab) -> int:
    """The bytes that the link has carried so far, both ways."""
    lines = lab.exec(["cat", "/proc/net/dev"], check=True).stdout.splitlines()
    counters = next(line.split() for line in lines if line.strip().startswith("lab0-lab0b:"))
    return int(counters[1]) + int(counters[9])


def _run(cluster: Cluster, name: str, args: list[str]) -> float:
    """One of Hadoop's examples; its seconds, from its start to its end."""
    said = {"id": f"{cluster.name}-{name.lower()}", "kind": "jar", "jar": "examples", "args": args}
    seconds = cluster.submit(job_of(said, cluster=cluster.name, file="bench", folder=Path()))
    cluster.pool.say(f"{cluster.name}-{name}: {seconds:.1f} s")
    return seconds


def _simulated(app: str, constants: Constants, sites: int) -> float:
    (job,) = chain(app, app, f"{MAPS * SPLIT // MB}MB", reduces=REDUCES)
    bench = Bench(constants, CORE, sites=sites, replication=REPLICAS)
    return bench.run([profile_of_job(replace(job, maps=MAPS))])


def table(rows: list[Row]) -> str:
    """As Markdown: medians, and on two sites how much more that is."""
    lines = [
        "| job | link | live: one site | two sites | simulated: one site | two sites | the paper | over the link |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        single, double, (plain, simulated) = median(row.one_s), median(row.two_s), row.simulated_s
        cells = [
            APPLICATIONS[row.app].name,
            row.link,
            _each(row.one_s),
            f"{_each(row.two_s)}, {double / single - 1:+.0%}",
            f"{plain:.1f} s",
            f"{simulated:.1f} s, {simulated / plain - 1:+.0%}",
            _PAPER[row.app] if row.link == next(iter(LINKS)) else "",
            f"{median(row.crossed) / MB:.0f} MB, simulated {row.simulated_crossed / MB:.0f} MB",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _each(seconds: list[float]) -> str:
    return f"{median(seconds):.1f} s ({min(seconds):.1f} to {max(seconds):.1f})"


def main() -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.sites", description=__doc__)
    parser.add_argument("--link", choices=list(LINKS), action="append", help="only this link, named as in the table")
    arguments = parser.parse_args()
    print(table(list(rows(to_stderr, arguments.link or list(LINKS)))))
    return 0


if __name__ == "__main__":
    sys.exit(exit_status(main))
