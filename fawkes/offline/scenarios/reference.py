"""Reference times: how long each job takes alone on a static MR-cluster of minimum size (facts, sections 4 and 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from fawkes.core.values.events import Requested, Submitted
from fawkes.core.values.model import ClusterId, ClusterSpec, JobId, JobSpec
from fawkes.core.values.settings import Settings
from fawkes.offline.scenarios.load import Demand
from fawkes.offline.scenarios.scenario import Scenario, pool_of, simulate
from fawkes.policy.worker.policies import policy_text
from fawkes.report import history
from fawkes.sim.hadoop.profile import Profile, profile_of
from fawkes.sim.users import Wish

_ALONE = ClusterId("alone")
_NONE = """from fawkes.policy import MINIMUM

NAME = "None"


def measure(window):
    return MINIMUM
"""
#: a profile runs so often when its tasks differ by chance; its time is the mean
_TIMES = 3
#: static: nothing moves, and ticks are rare
_STATIC_US = 24 * 3600 * 10**6
_LONG_US = 100 * 365 * _STATIC_US


def reference_times(scenario: Scenario, demands: Sequence[Demand]) -> dict[JobId, int]:
    """The execution time in microseconds of each job that has no reference time yet, by its id.

    Each distinct profile runs once for each minimum size (three times when tasks differ by chance), one after another
    on one static MR-cluster without other jobs, in the model of the ``scenario``. A rigid job takes what its trace
    says.
    """
    times: dict[JobId, int] = {}
    wanted: dict[int, dict[Profile, list[JobId]]] = {}
    for demand in demands:
        group = wanted.setdefault(demand.spec.min_nodes, {})
        for job in demand.all_jobs:
            if job.spec.reference_us is None:
                profile = profile_of(job.spec)
                if profile.gang:
                    # Alone it starts at once, and its MR-cluster's minimum may be too small for it.
                    times[job.spec.id] = profile.map_us
                else:
                    group.setdefault(profile, []).append(job.spec.id)
    for nodes, group in sorted(wanted.items()):
        for (_, ids), took_us in zip(group.items(), _alone(scenario, nodes, list(group)), strict=True):
            times |= dict.fromkeys(ids, took_us)
    return times


def _alone(scenario: Scenario, nodes: int, profiles: Sequence[Profile]) -> list[int]:
    if not profiles:
        return []
    times = _TIMES if scenario.constants.spread or scenario.constants.stragglers else 1
    names = [JobId(f"alone-{number:06d}") for number in range(len(profiles) * times)]
    request = Requested(at_us=0, spec=ClusterSpec(id=_ALONE, min_nodes=nodes, replication=1))
    jobs = [
        Wish(
            event=Submitted(at_us=0, spec=_spec(name, profiles[number // times])),
            running=_ALONE if number == 0 else None,
            jobs=() if number == 0 else (names[number - 1],),
        )
        for number, name in enumerate(names)
    ]
    settings = replace(Settings(), period_us=_STATIC_US, sample_every_us=_STATIC_US, stale_us=_LONG_US, idle_us=None)
    static = replace(
        scenario,
        name=f"reference times of {scenario.name}",
        file=f"{scenario.file}: reference times" if scenario.file else "",
        nodes=pool_of(nodes),
        settings=settings,
        policy=policy_text("None", "none.py", _NONE),
        admission=None,
        wishes=(Wish(event=request), *jobs),
        losses=(),
        limit_us=_LONG_US,
    )
    took = {job.id: job.run_us for job in history.jobs(simulate(static))}
    groups = [names[first : first + times] for first in range(0, len(names), times)]
    return [round(fmean(took[name] or 0 for name in group)) for group in groups]


def _spec(name: JobId, profile: Profile) -> JobSpec:
    details = {"profile": {field: getattr(profile, field) for field in Profile.__dataclass_fields__}}
    return JobSpec(
        id=name, cluster=_ALONE, tasks=profile.maps + profile.reduces, tasks_estimated=False, details=details
    )
