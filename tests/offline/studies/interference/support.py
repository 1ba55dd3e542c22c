"""Parts that the tests of the study share: the clouds of Table 3.1, jobs, and the oracle's admission."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fawkes.base.units import SECOND_US
from fawkes.core.state.admitting import Admission
from fawkes.offline.studies.interference.course import RunCourse
from fawkes.offline.studies.interference.manager import run
from fawkes.offline.studies.interference.scenario import load_cloud
from fawkes.offline.studies.interference.values import FrameworkJob, FrameworkStage, InterferenceStudy, Remedy
from fawkes.policy import policy_text
from fawkes.policy.admission import compile_admission

ROOT = Path(__file__).parents[4]
TASK_US = 20 * SECOND_US


def admission(name: str = "oracle") -> Admission:
    path = ROOT / "policies" / "admission" / f"{name}.py"
    return compile_admission(policy_text(name.upper(), str(path), path.read_text()), {})


def job(
    framework: str, tasks: int, at_s: float = 0, task_s: float = 20, deadline_s: float | None = None
) -> FrameworkJob:
    return FrameworkJob(
        name=f"{framework}-{at_s:g}",
        framework=framework,
        at_us=round(at_s * SECOND_US),
        stages=(FrameworkStage(tasks, round(task_s * SECOND_US)),),
        deadline_us=None if deadline_s is None else round(deadline_s * SECOND_US),
    )


def study(cloud: str, *jobs: FrameworkJob, **more: Any) -> InterferenceStudy:
    made, frameworks = load_cloud(cloud)
    return InterferenceStudy(
        name=cloud, cloud=made, frameworks=frameworks, jobs=jobs, **{"patience_us": TASK_US, **more}
    )


def played(cloud: str, *jobs: FrameworkJob, remedy: Remedy = Remedy.NONE, **more: Any) -> RunCourse:
    return run(study(cloud, *jobs, remedy=remedy, **more), admission())


def cpus(course: RunCourse, at_s: float) -> dict[str, tuple[float, int]]:
    """CPUs held and tasks that run, of each framework at a time."""
    shares = course.at(round(at_s * SECOND_US)).shares
    return {name: (share.held.cpu_milli / 1000, int(share.standing.running or 0)) for name, share in shares.items()}


def end_s(course: RunCourse, framework: str) -> float:
    finished_us = course.ended[framework].finished_us
    assert finished_us is not None
    return finished_us / SECOND_US


def first_s(course: RunCourse, framework: str) -> float:
    first_us = course.ended[framework].first_us
    assert first_us is not None
    return first_us / SECOND_US
