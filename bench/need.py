"""Nodes move to the MR-cluster in need, and the controller is killed in the middle: the second show of deadlines.

Under JUSTICE and the weighting policy CD one MR-cluster gets six jobs with tight deadlines, the other two with loose
ones; later it is the other way round. While jobs run and wait the controller is killed, and a new one goes on.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from bench.deadline_jobs import Plan, Row, ended, own_lab, play, ready, row_of, simulated, tables, toml, until
from bench.figures import Say
from fawkes.base.units import SECOND_US
from fawkes.cli.demo.stage import controller_of
from fawkes.config.site.site import Site
from fawkes.core.values.decision import PutLearned
from fawkes.core.values.lifecycle import ENDED_JOBS
from fawkes.core.values.model import JobLife, Reason
from fawkes.live.lab import Lab
from fawkes.report import history
from fawkes.report.words.sentences import sentence
from fawkes.store.base import Reader
from fawkes.store.sqlite import LedgerReader

URGENT, PATIENT = "urgent", "patient"
CLUSTERS = (URGENT, PATIENT)
POLICY = "justice"
HOSTS = 6
_NODE_BYTES = 2_200_000_000
_SETTINGS = {
    "preset": "demo",
    "policy": "CD",
    "sample_every": "2s",
    "idle_time": "10h",
    "transient_leave": "2m",
    "admission": POLICY,
}
_CLUSTER = {"min_nodes": 2, "max_nodes": 4, "replication": 1, "max_running_jobs": 8}
#: a node of the lab has eight containers, and an ApplicationMaster takes two; in the model it takes one
_MODEL = {"map_slots": 0, "slots": 7, "job_begin": "10s", "job_end": "2s", "task_end": "3s"}

#: the first jobs teach the policy what jobs need
BEFORE = (
    Plan("known-1", 0, 4, 15, 60, CLUSTERS),
    Plan("known-2", 0, 4, 15, 60, CLUSTERS),
    Plan("loose-1", 60, 6, 8, 400, (PATIENT,)),
    *(Plan(f"tight-{number}", 60, 10, 6, 200, (URGENT,)) for number in range(1, 7)),
    Plan("hopeless", 66, 6, 20, 24, (URGENT,)),
)
#: these come after the kill
AFTER = (
    Plan("loose-2", 100, 6, 8, 400, (PATIENT,)),
    *(Plan(f"late-{number}", 190, 10, 6, 200, (PATIENT,)) for number in range(1, 5)),
)
MIX = (*BEFORE, *AFTER)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the show has seen: jobs, node moves as lines of a table, what `explain` says, and whether it holds."""

    rows: Sequence[Row]
    moves: Sequence[str]
    explained: Mapping[str, str]
    checks: Mapping[str, bool]


def run(say: Say) -> Seen:
    """The show in a lab of its own; FawkesError when the lab or a controller fails."""
    with own_lab(HOSTS, _NODE_BYTES, dict.fromkeys(CLUSTERS, toml(_CLUSTER)), say) as (lab, site):
        site.settings_file.write_text(toml(_SETTINGS))
        return _played(lab, site, say)


def offline() -> Reader:
    """The ledger of the same jobs in the simulated world, where nobody kills the controller."""
    clusters = dict.fromkeys(CLUSTERS, _CLUSTER)
    return simulated(MIX, POLICY, hosts=HOSTS, settings=_SETTINGS, model=_MODEL, clusters=clusters)


def _played(lab: Lab, site: Site, say: Say) -> Seen:
    explained: dict[str, str] = {}
    with controller_of(lab, site, crash=True) as client:
        ready(client, site, CLUSTERS)
        began_s = time.monotonic()
        play(client, BEFORE, POLICY, began_s, say)
        waiting = until("a job to wait", lambda: _waiting(site))
        say(f"deadlines: {waiting} waits; the controller is killed")
        explained[f"{waiting}, before the kill"] = _explain(site, waiting)
    with controller_of(lab, site) as client:
        say("deadlines: a new controller answers")
        explained[f"{waiting}, after the kill"] = _explain(site, waiting)
        play(client, AFTER, POLICY, began_s, say)
        jobs = ended(site, MIX, POLICY)
        rows = [row_of(client, POLICY, job) for job in jobs]
    for job in jobs:
        if job.life is JobLife.DROPPED:
            explained[f"{job.id}, which was dropped"] = _explain(site, job.id)
    with closing(LedgerReader(site.state_dir)) as ledger:
        return Seen(rows, moves(ledger), explained, checks(ledger, rows))


def _waiting(site: Site) -> str:
    """The last tight job, once it waits beside jobs that run and the hopeless one has come."""
    with closing(LedgerReader(site.state_dir)) as ledger:
        lives = {job.id: job.life for job in history.jobs(ledger)}
    queued = [name for name, life in lives.items() if life is JobLife.QUEUED and "tight" in name]
    return queued[-1] if queued and JobLife.RUNNING in lives.values() else ""


def _explain(site: Site, job: str) -> str:
    """What `fawkes explain --job` prints."""
    command = [sys.executable, "-m", "fawkes", "--site", str(site.root), "explain", "--job", job]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


# --- what is seen in the ledger


def checks(ledger: Reader, rows: Sequence[Row]) -> dict[str, bool]:
    """What must hold, by name."""
    jobs = history.jobs(ledger)
    entries = list(ledger.entries())
    admitted = Counter(str(reason.facts["job"]) for reason in _reasons(ledger, "job-admitted"))
    learned = sum(isinstance(change, PutLearned) for entry in entries for change in entry.decision.changes)
    lost = len(_reasons(ledger, "work-not-known"))
    teaching = [job for job in jobs if job.granted and job.life in (JobLife.SUCCEEDED, JobLife.KILLED)]
    kept = [row for row in rows if row.granted and row.at_once is not None]
    return {
        "every job has ended": all(job.life in ENDED_JOBS for job in jobs),
        "no job ran more tasks at once than it was granted": all((row.at_once or 0) <= row.granted for row in kept),
        "no job was admitted twice": all(number == 1 for number in admitted.values()),
        "each job was learned from once": learned + lost == len(teaching),
        "the hopeless job was dropped": any(job.life is JobLife.DROPPED for job in jobs),
        "nodes moved to each MR-cluster in need": {move.target for move in history.moves(ledger) if move.source}
        >= set(CLUSTERS),
    }


def _reasons(ledger: Reader, code: str) -> list[Reason]:
    return [reason for entry in ledger.entries() for reason in entry.decision.reasons if reason.code == code]


def moves(ledger: Reader) -> list[str]:
    """A line for each node that went from one MR-cluster to the other, with its reasons."""
    first_us = min(job.submitted_us for job in history.jobs(ledger))
    lines = []
    for move in history.moves(ledger):
        if move.source and move.target and move.source != move.target:
            ended = "-" if move.ended_us is None else f"{(move.ended_us - first_us) / SECOND_US:.0f}"
            why = "; ".join(dict.fromkeys(map(sentence, move.reasons)))
            began = f"{(move.begun_us - first_us) / SECOND_US:.0f}"
            lines.append(f"| {' | '.join((move.node, move.source, move.target, began, ended, why))} |")
    return lines


def document(seen: Seen) -> str:
    """As Markdown: the tables of the jobs, the node moves, what `explain` printed, and the checks."""
    lines = [tables(seen.rows), "| node | from | to | began (s) | served (s) | why |", "|---|---|---|---|---|---|"]
    lines += seen.moves
    for title, text in seen.explained.items():
        lines += ["", f"{title}:", "", "```", text.rstrip(), "```"]
    lines += ["", "| check | |", "|---|---|"]
    lines += [f"| {name} | {'yes' if holds else 'NO'} |" for name, holds in seen.checks.items()]
    return "\n".join(lines) + "\n"
