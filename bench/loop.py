"""The inner loop of quotas: a period of a thousand executors, and the record of an hour."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.figures import Figure, Say
from fawkes.base.catalog import Kind, bundled_dir
from fawkes.core.quota.loop import step
from fawkes.core.quota.profile import ApplicationProfile, ProfiledStage
from fawkes.core.quota.sight import ApplicationSeen, ExecutorSeen, JobGoal, LoopState, PeriodLook, StageSeen
from fawkes.core.quota.values import QuotaRules
from fawkes.core.values.events import PolicyText
from fawkes.core.values.model import ClusterId, JobId, NodeId
from fawkes.policy.worker.policies import load_quota, policy_text
from fawkes.store.quotas import FILE, QuotaRecord

GROUP = "The loop of CPU quotas"
_APPLICATIONS, _NODES, _SLOTS, _TASKS = 10, 100, 16, 40_000
_PERIODS = 720
_HOUR_PERIODS = 7200
_US = 500_000


def figures(rounds: int, say: Say) -> list[Figure]:
    """Measure ``rounds`` periods under contention, and the record of ten applications."""
    say(f"loop: {_APPLICATIONS * _NODES:,} executors")
    return [_steps(rounds), _record(say)]


def _steps(rounds: int) -> Figure:
    divide, room, rules, seconds = load_quota(_policy()), LoopState(), QuotaRules(), []
    for count in range(rounds):
        look = _look(count, _NODES)
        began = time.perf_counter()
        room = step(room, look, divide, rules).room
        seconds.append(1000 * (time.perf_counter() - began))
    what = f"a period of {_APPLICATIONS * _NODES:,} executors on {_NODES} nodes, more requested than there is"
    return Figure(group=GROUP, what=what, unit="ms", ours=seconds, at_most=20)


def _record(say: Say) -> Figure:
    say("loop: the record")
    policy, rules = _policy(), QuotaRules()
    divide, room = load_quota(policy), LoopState()
    with TemporaryDirectory(prefix="fb-") as folder:
        record = QuotaRecord(Path(folder), policy, rules)
        for count in range(_PERIODS):
            look = _look(count, 4)
            period = step(room, look, divide, rules)
            record.append(room, look, period)
            room = period.room
        record.close()
        size = (Path(folder) / FILE).stat().st_size * _HOUR_PERIODS / _PERIODS / 1e6
    what = f"record of {_APPLICATIONS} applications on 4 nodes in an hour"
    return Figure(group=GROUP, what=what, unit="MB", ours=[size], at_most=10)


def _policy() -> PolicyText:
    path = bundled_dir(Kind.QUOTA) / Kind.QUOTA.value / "edf_pure.py"
    return policy_text("EDF_PURE", path.name, path.read_text("utf-8"))


def _look(count: int, nodes: int) -> PeriodLook:
    names = [NodeId(f"n{number:03}") for number in range(nodes)]
    return PeriodLook(
        at_us=count * _US,
        seen=tuple(_application(f"job-{number}", count, names) for number in range(_APPLICATIONS)),
        nodes=dict.fromkeys(names, float(_SLOTS)),
    )


def _application(name: str, count: int, nodes: list[NodeId]) -> ApplicationSeen:
    stages = tuple(
        ProfiledStage(id=f"{n} map", duration_s=60, tasks=_TASKS, records_read=1e7, records_written=1e7, rate=100.0)
        for n in range(8)
    )
    goal = JobGoal(
        job=JobId(name),
        cluster=ClusterId("c-1"),
        attempt=1,
        profile=ApplicationProfile("p", 1, stages),
        size=1.0,
        submitted_us=0,
        due_us=7200 * 1_000_000,
    )
    active = StageSeen(id="0 map", tasks=_TASKS, done=3 * count, active=True)
    executors = tuple(ExecutorSeen(container=f"{name}-{node}", node=node, slots=_SLOTS) for node in nodes)
    return ApplicationSeen(goal=goal, stages=(active,), executors=executors)
