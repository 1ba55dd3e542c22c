"""A decision while a thousand jobs wait, under each admission policy that came with Fawkes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median

from bench.core import GROUP, Bench, equal, sampled, settings
from bench.figures import Figure, Say, fresh
from fawkes.core.state.admitting import Admission, Done
from fawkes.core.state.state import evolve
from fawkes.core.values.decision import PutLearned
from fawkes.core.values.events import Submitted
from fawkes.core.values.model import JobId, JobSpec, Plain
from fawkes.policy.worker.policies import load_admission, policy_text

_FOLDER = Path(__file__).parents[1] / "policies" / "admission"
#: fifo asks no policy
_FIFO = "fifo"
ADMISSIONS = (_FIFO, *sorted(path.stem for path in _FOLDER.glob("*.py") if path.stem != _FIFO))
_QUEUE = 1_000
_QUEUE_EVENTS = 50
#: more than ever begin
_RUNNING = 50
_LEARNED = 2
_DEADLINE_US = 10**12


def figures(rounds: int, say: Say) -> list[Figure]:
    """Measure; ``rounds`` fresh processes for each policy."""
    results = []
    for policy in ADMISSIONS:
        runs = [_fresh(policy, say) for _ in range(rounds)]
        for key, event in (("submit_ms", "a job is submitted"), ("read_ms", "a reading")):
            what = f"1,000 jobs wait under {policy}: {event}"
            results.append(Figure(group=GROUP, what=what, unit="ms", ours=[run[key] for run in runs], at_most=10))
    return results


def _fresh(policy: str, say: Say) -> dict[str, float]:
    say(f"core: 1,000 jobs wait under {policy}")
    return fresh("bench.waiting", policy)


# --- in the fresh process


def queue(policy: str) -> dict[str, float]:
    """Milliseconds of a job that is submitted, and of a reading, while a thousand jobs with deadlines wait."""
    bench = Bench(1, 20, settings(admission=policy))
    if policy != _FIFO:
        path = _FOLDER / f"{policy}.py"
        bench.admission = load_admission(policy_text(policy, path.name, path.read_text()), {})
    bench.step(sampled(bench, equal(bench), 0))
    submits, reads = [], []
    for number in range(_RUNNING + _QUEUE + _QUEUE_EVENTS):
        if number == _LEARNED and bench.admission is not None:
            evolve(bench.state, bench.state.now_us, [PutLearned(bench.ids[0], _knows(bench.admission))])
        _, seconds = bench.step(Submitted(at_us=bench.state.now_us, spec=_waiting_job(bench, number)))
        submits.append(1000 * seconds)
    for _ in range(_QUEUE_EVENTS):
        _, seconds = bench.step(sampled(bench, equal(bench), bench.state.now_us))
        reads.append(1000 * seconds)
    assert bench.state.backlog(bench.ids[0]).waiting.jobs >= _QUEUE
    return {"submit_ms": median(submits[-_QUEUE_EVENTS:]), "read_ms": median(reads)}


def _waiting_job(bench: Bench, number: int) -> JobSpec:
    """A job that needs half of what could work for it to be in time, by what an oracle is told."""
    return JobSpec(
        id=JobId(f"job-{number}"),
        cluster=bench.ids[0],
        tasks=100,
        tasks_estimated=False,
        deadline_us=_DEADLINE_US,
        work_us=20 * _DEADLINE_US,
    )


def _knows(admission: Admission) -> Plain:
    """Two jobs have ended: from then on the policy computes what each one needs."""
    done = Done(tasks=100, deadline_s=100.0, work_s=5000.0, granted=100, total=100, met=True)
    return admission.learn(done, admission.learn(done, None))


if __name__ == "__main__":
    json.dump(queue(*sys.argv[1:]), sys.stdout)
