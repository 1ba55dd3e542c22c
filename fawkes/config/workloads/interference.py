"""Scenarios of the interference study: a cloud, the demands of frameworks, and who comes when."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fawkes.base.units import SECOND_US
from fawkes.config.files.fields import DurationUs, Name, PositiveDurationUs, Seed, Tasks, TaskTimeUs, between
from fawkes.config.files.loader import Strict

Cpus = Annotated[float, between(0, 1_000, "no slave has more CPUs")]
Megabytes = Annotated[int, between(0, 10**8, "no slave has more memory")]
Slaves = Annotated[int, between(1, 1_000, "each round of offers looks at every one")]
Slots = Annotated[int, between(1, 1_000, "no slave runs more tasks at once")]


class BundleTable(Strict):
    """CPUs and memory."""

    cpu: Cpus = Field(default=0.0, description="CPUs, such as 0.5")
    memory_mb: Megabytes = Field(default=0, description="megabytes of memory")


class CloudTable(Strict):
    """``[cloud]``: equal slaves under one manager."""

    slaves: Slaves = Field(description="how many slaves")
    cpu: Cpus = Field(description="CPUs of a slave")
    memory_mb: Megabytes = Field(description="megabytes of a slave")
    offers: Literal["slave", "batch"] = Field(
        default="slave",
        description="`slave`: shares are compared before each offer; `batch`: once for all",
    )
    seed: Seed | None = Field(default=None, description="draws the order of slaves in each round; else their order")


class FrameworkTable(Strict):
    """``[framework.NAME]``: what a framework demands, as in Table 3.1."""

    mode: Literal["coarse", "fine"] = Field(description="coarse or fine")
    keeps: Literal["job", "queue"] = Field(default="job", description="until when executors stay: job or queue")
    executor: BundleTable = Field(description="what an executor takes of its slave")
    task: BundleTable = Field(description="what each task, slot or worker takes besides")
    floor: BundleTable = Field(default=BundleTable(), description="the least offer that it looks at")
    tasks_per_slave: Slots = Field(default=1_000, description="the most tasks at once on one slave")
    greedy: bool = Field(default=False, description="whether it takes all of an offer while it has a job")
    start_us: DurationUs = Field(default=0, alias="start", description="how long an executor takes to start")
    start_step_us: DurationUs = Field(
        default=0, alias="start_step", description="more time for each executor that the framework has already"
    )
    start_task_us: DurationUs = Field(
        default=0, alias="start_task", description="more time for each task of the job, for larger inputs"
    )


class FrameworkStageTable(Strict):
    """``stages`` of a job: tasks of one length."""

    tasks: Tasks = Field(description="how many tasks")
    task_time_us: TaskTimeUs = Field(alias="task_time", description="how long each takes")


class FrameworkJobTable(Strict):
    """``[[job]]``: a job of a framework; the first one registers the framework."""

    framework: Name = Field(description="the framework that runs it")
    at_us: DurationUs = Field(default=0, alias="at", description="when it comes, from the start of the run")
    tasks: Tasks | None = Field(default=None, description="how many tasks")
    task_time_us: TaskTimeUs | None = Field(default=None, alias="task_time", description="how long each takes")
    stages: list[FrameworkStageTable] = Field(
        default=[], description="stages one after another, instead of tasks and task_time"
    )
    deadline_us: PositiveDurationUs | None = Field(
        default=None, alias="deadline", description="until when it should end, from its coming; for M2"
    )


class IsolatedTable(Strict):
    """``[isolated]``: the same load on MR-clusters of their own, under Fawkes."""

    slots: Slots = Field(default=3, description="tasks at once on a node")
    min_nodes: Slaves = Field(default=1, description="the minimum of each MR-cluster")
    policy: str = Field(default="TD", description="the weighting policy")


class InterferenceTable(Strict):
    """All keys of a scenario of the study."""

    title: str = Field(default="", description="what it shows")
    base: str | None = Field(
        default=None, alias="from", description="a file beside this one with [cloud], [framework.NAME] and [isolated]"
    )
    cloud: CloudTable = Field(description="the slaves: [cloud]")
    framework: dict[Name, FrameworkTable] = Field(min_length=1, description="the frameworks: [framework.NAME]")
    job: list[FrameworkJobTable] = Field(min_length=1, description="who comes when: [[job]]")
    isolated: IsolatedTable = Field(default=IsolatedTable(), description="the MR-clusters of the comparison")
    admission: str = Field(default="oracle", description="the admission policy of M2: a name or the path of a file")
    patience_us: DurationUs = Field(
        default=10 * SECOND_US, alias="patience", description="how long M1 lets a share be violated"
    )
    limit_us: PositiveDurationUs = Field(
        default=24 * 3600 * SECOND_US, alias="limit", description="how long a run may take, in simulated time"
    )
