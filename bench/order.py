"""The same small scenario live and offline: jobs are admitted, dropped and started in the same order.

One MR-cluster of fixed size under PYTHIA. Two jobs teach the policy. Then two jobs fill the MR-cluster, two are dropped
while they wait, and two begin when the first ones end, but not in the order of their submission.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import closing

from bench.deadline_jobs import Plan, ended, own_lab, play, ready, simulated, toml
from bench.figures import Say
from fawkes.cli.demo.stage import controller_of
from fawkes.core.values.decision import PutJob
from fawkes.core.values.model import JobLife
from fawkes.engine.ports import Entry
from fawkes.store.sqlite import LedgerReader

CLUSTER, POLICY, HOSTS = "one", "pythia", 2
_NODE_BYTES = 1_500_000_000
_SETTINGS = {"preset": "demo", "policy": "EQ", "sample_every": "2s", "idle_time": "10h", "admission": POLICY}
_CLUSTER = {"min_nodes": HOSTS, "max_nodes": HOSTS, "replication": 1, "max_running_jobs": 8}
#: a node of the lab has five containers, and an ApplicationMaster takes two; in the model it takes one
_MODEL = {"map_slots": 0, "slots": 4, "job_begin": "10s", "job_end": "2s", "task_end": "3s"}

ORDER = tuple(
    Plan(name, at_s, 4, map_s, deadline_s, (CLUSTER,))
    for name, at_s, map_s, deadline_s in (
        ("known-1", 0, 20, 50),
        ("known-2", 10, 20, 50),
        ("first", 100, 35, 200),
        ("second", 115, 35, 300),
        ("waits", 120, 5, 400),
        ("hopeless", 124, 5, 30),
        ("too-tight", 128, 5, 60),
        ("overtakes", 132, 5, 1000),
    )
)

Orders = Mapping[str, list[str]]
"""Names of jobs by what became of them (admitted, started, dropped), each in the order in which it happened."""


def orders(entries: Iterable[Entry]) -> Orders:
    """The orders of a ledger; a job counts as started when it was first seen to run."""
    jobs: dict[str, list[str]] = {"admitted": [], "started": [], "dropped": []}
    for entry in entries:
        happened = [
            (kind, str(reason.facts["job"]))
            for reason in entry.decision.reasons
            for kind, code in (("admitted", "job-admitted"), ("dropped", "job-dropped"))
            if reason.code == code
        ]
        happened += [
            ("started", str(change.state.id))
            for change in entry.decision.changes
            if isinstance(change, PutJob) and change.state.life is JobLife.RUNNING
        ]
        for kind, job in happened:
            name = job.removeprefix(f"{POLICY}-{CLUSTER}-")
            if name not in jobs[kind]:
                jobs[kind].append(name)
    return jobs


def offline() -> Orders:
    """In the simulated world."""
    clusters = {CLUSTER: _CLUSTER}
    return orders(simulated(ORDER, POLICY, hosts=HOSTS, settings=_SETTINGS, model=_MODEL, clusters=clusters).entries())


def live(say: Say) -> Orders:
    """On real Hadoop in a lab of its own; FawkesError when the lab or the controller fails."""
    with own_lab(HOSTS, _NODE_BYTES, {CLUSTER: toml(_CLUSTER)}, say) as (lab, site):
        site.settings_file.write_text(toml(_SETTINGS))
        with controller_of(lab, site) as client:
            ready(client, site, (CLUSTER,))
            play(client, ORDER, POLICY, time.monotonic(), say)
            ended(site, ORDER, POLICY)
        with closing(LedgerReader(site.state_dir)) as ledger:
            return orders(ledger.entries())


def document(lived: Orders, modelled: Orders) -> str:
    """As Markdown: both orders side by side."""
    lines = ["| | live | offline |", "|---|---|---|"]
    lines += [f"| {kind} | {', '.join(names)} | {', '.join(modelled[kind])} |" for kind, names in lived.items()]
    return "\n".join(lines) + "\n"
