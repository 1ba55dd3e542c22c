"""Statements of chapter 3 with the rule of each: exact states and orders where the text gives no seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import NamedTuple

from fawkes.base.units import SECOND_US
from fawkes.core.state.admitting import Admission
from fawkes.offline.studies.interference import fixed
from fawkes.offline.studies.interference.course import RunCourse
from fawkes.offline.studies.interference.manager import run
from fawkes.offline.studies.interference.scenario import load_cloud
from fawkes.offline.studies.interference.values import (
    Framework,
    FrameworkJob,
    FrameworkStage,
    InterferenceStudy,
    Mode,
    Offers,
    Remedy,
    most_used,
)
from fawkes.offline.studies.shared.verdicts import DIFFERS, REPRODUCED, RuleVerdict, after_models, percent

Finding = tuple[str, bool]
"""The outcome in words, and whether the rule holds."""


@dataclass(frozen=True)
class Runs:
    """The chapter's runs under one model: the plain one, or one in which a statement should not hold."""

    admission: Admission
    remedy: Remedy = Remedy.NONE
    offers: Offers = Offers.SLAVE
    executors: float = 1.0

    def study(self, cloud: str, *jobs: FrameworkJob) -> InterferenceStudy:
        """These jobs on ``dev`` or ``prod``."""
        made, frameworks = load_cloud(cloud)
        return InterferenceStudy(
            name=cloud,
            cloud=replace(made, offers=self.offers),
            frameworks=tuple(self._framework(framework) for framework in frameworks),
            jobs=jobs,
            remedy=self.remedy,
            patience_us=fixed.PATIENCE_US,
        )

    def course(self, cloud: str, *jobs: FrameworkJob) -> RunCourse:
        """The course of these jobs."""
        return run(self.study(cloud, *jobs), self.admission)

    def alone_us(self, cloud: str, job: FrameworkJob) -> int:
        """The time that a job takes without others."""
        return _took(self.course(cloud, replace(job, at_us=0)), job.framework)

    def _framework(self, framework: Framework) -> Framework:
        executor = framework.executor._replace(cpu_milli=round(framework.executor.cpu_milli * self.executors))
        return replace(framework, executor=executor) if framework.mode is Mode.FINE else framework


def job(
    framework: str, tasks: int, task_us: int = fixed.TASK_US, at_us: int = 0, deadline_us: int | None = None
) -> FrameworkJob:
    """A job with tasks of one length."""
    return FrameworkJob(
        name=framework,
        framework=framework,
        at_us=at_us,
        stages=(FrameworkStage(tasks, task_us),),
        deadline_us=deadline_us,
    )


_STORM = job("storm", 3, fixed.STREAM_US)
"""A topology with three workers."""


def _took(course: RunCourse, framework: str) -> int:
    took = course.ended[framework].took_us
    return course.study.limit_us if took is None else took


def _end(course: RunCourse, framework: str) -> int:
    end = course.ended[framework].finished_us
    return course.study.limit_us if end is None else end


def _first(course: RunCourse, framework: str) -> int:
    first = course.ended[framework].first_us
    return course.study.limit_us if first is None else first


def _same(first: float, second: float) -> bool:
    return abs(first - second) <= fixed.SAME * max(first, second)


def _s(us: float) -> str:
    return f"{us / SECOND_US:.0f} s"


# --- the rules


def table(runs: Runs) -> Finding:
    """Each row of Table 3.1 from the parameters of the frameworks."""
    wanted = {
        ("dev", "hadoop"): ((1000, 980), (2000, 2816), (12000, 16896)),
        ("dev", "spark-fine"): ((2000, 896), (2000, 896), (12000, 5376)),
        ("dev", "storm"): ((2000, 2000), (2000, 2000), (6000, 6000)),
        ("prod", "hadoop"): ((1000, 980), (4000, 5888), (24000, 35328)),
        ("prod", "spark-fine"): ((2000, 896), (4000, 896), (24000, 5376)),
        ("prod", "storm"): ((2000, 2000), (4000, 4000), (6000, 6000)),
    }
    right = 0
    for (cloud, name), rows in wanted.items():
        study = runs.study(cloud)
        bundles = most_used(study.framework(name), study.cloud, 3 if name == "storm" else None)
        right += sum(bundle == expected for bundle, expected in zip(bundles, rows, strict=True))
    return f"{right} of 18 bundles", right == 18


def bayes(runs: Runs) -> Finding:
    """Fine-grained Spark starts one executor for a stage of one task, the others after it."""
    staged = FrameworkJob(
        name="bayes",
        framework="spark-fine",
        at_us=0,
        stages=(FrameworkStage(1, fixed.TASK_US), FrameworkStage(40, fixed.TASK_US)),
    )
    course = runs.course("dev", staged)
    before = {moment.shares["spark-fine"].running for moment in course.moments if moment.at_us < fixed.TASK_US}
    after = max(moment.shares["spark-fine"].running for moment in course.moments)
    return f"{max(before)} task, then up to {after}", before == {1} and after == 6


class Two(NamedTuple):
    """Two jobs, of which the second comes a little later: the course, the end of the first, the start of the second."""

    course: RunCourse
    end_us: int
    start_us: int

    @property
    def blocked(self) -> bool:
        """True if the second starts no sooner than the first has ended."""
        return self.start_us >= self.end_us


def _two(runs: Runs, cloud: str, first: FrameworkJob, second: FrameworkJob) -> Two:
    course = runs.course(cloud, first, replace(second, at_us=fixed.LATER_US))
    return Two(course, _end(course, first.framework), _first(course, second.framework))


def two_coarse(runs: Runs) -> Finding:
    """Whichever comes first keeps its single-tenant time; the other one starts after it."""
    said, held = [], True
    pair = (job("spark-coarse", 120, fixed.SPARK_TASK_US), job("hadoop", 120, fixed.HADOOP_TASK_US))
    for first, second in (pair, pair[::-1]):
        two = _two(runs, "prod", first, second)
        held = held and two.blocked and _same(two.end_us, runs.alone_us("prod", first))
        said.append(f"{first.framework} first: it ends at {_s(two.end_us)}, the other starts at {_s(two.start_us)}")
    return "; ".join(said), held


def delayed(runs: Runs) -> Finding:
    """True if, behind Hadoop by 10 s, coarse Spark ends first at 1 GB alone."""
    won = []
    for size, tasks in fixed.INPUTS.items():
        course = runs.course(
            "prod",
            job("hadoop", tasks, fixed.HADOOP_TASK_US),
            job("spark-coarse", tasks, fixed.SPARK_TASK_US, fixed.DELAYED_US),
        )
        won += [size] if _end(course, "spark-coarse") < _end(course, "hadoop") else []
    return f"Spark ends first at {', '.join(won) or 'no input'}", won == ["1 GB"]


def gap(runs: Runs) -> Finding:
    """15 GB: Spark alone is more than 160 s faster; behind Hadoop it ends more than 85 s after it."""
    hadoop = job("hadoop", 120, fixed.HADOOP_TASK_US)
    spark = job("spark-coarse", 120, fixed.SPARK_TASK_US, fixed.DELAYED_US)
    faster_us = runs.alone_us("prod", hadoop) - runs.alone_us("prod", spark)
    course = runs.course("prod", hadoop, spark)
    slower_us = _end(course, "spark-coarse") - _end(course, "hadoop")
    held = faster_us > fixed.FASTER_S * SECOND_US and slower_us > fixed.SLOWER_S * SECOND_US
    return f"alone {_s(faster_us)} faster, behind Hadoop {_s(slower_us)} slower", held


def hadoop_blocks(runs: Runs) -> Finding:
    """Hadoop first: fine-grained Spark starts once Hadoop has ended."""
    two = _two(runs, "prod", job("hadoop", 120), job("spark-fine", 120))
    return f"Hadoop ends at {_s(two.end_us)}, Spark's first task starts at {_s(two.start_us)}", two.blocked


def hadoop_faster(runs: Runs) -> Finding:
    """Fine-grained Spark first on the production cloud: 12 and 12 CPUs, Spark never stops, Hadoop ends first."""
    course, spark, start_us = _two(runs, "prod", job("spark-fine", 120), job("hadoop", 120))
    hadoop, settled = _end(course, "hadoop"), course.at(start_us).shares
    cpus = [settled[name].held.cpu_milli / 1000 for name in ("spark-fine", "hadoop")]
    even = all(abs(each - 12) <= fixed.FRAMEWORKS_HALF for each in cpus)
    never = course.ended["spark-fine"].stuck_us == 0
    said = f"{cpus[0]:g} and {cpus[1]:g} CPUs, Hadoop ends at {_s(hadoop)}, Spark at {_s(spark)}"
    return said, even and never and hadoop < spark


def deadlock(runs: Runs) -> Finding:
    """5 GB on the development cloud: Spark holds 6 CPUs and no task, Hadoop holds 6; Spark goes on after Hadoop."""
    course = _two(runs, "dev", job("spark-fine", 40), job("hadoop", 40)).course
    spans = course.stuck_spans("spark-fine")
    if not spans:
        return "Spark never stands still", False
    shares = course.at(spans[0][0]).shares
    spark, hadoop = shares["spark-fine"], shares["hadoop"]
    state = (spark.held.cpu_milli, spark.running, hadoop.held.cpu_milli) == (6000, 0, 6000)
    until = spans == [(spans[0][0], _end(course, "hadoop"))]
    said = (
        f"Spark holds {spark.held.cpu_milli / 1000:g} CPUs with {spark.running} tasks, Hadoop "
        f"{hadoop.held.cpu_milli / 1000:g}; Spark stands still from {_s(spans[0][0])} to {_s(spans[-1][1])}, Hadoop "
        f"ends at {_s(_end(course, 'hadoop'))}"
    )
    return said, state and until


def small_input(runs: Runs) -> Finding:
    """The same with 1 GB: no deadlock."""
    course = _two(runs, "dev", job("spark-fine", 8), job("hadoop", 8)).course
    stuck_us = course.ended["spark-fine"].stuck_us
    return f"Spark stands still for {_s(stuck_us)}", stuck_us == 0


def beside_storm(runs: Runs) -> Finding:
    """Batch work beside Storm is slower by the reported part at 5 and 15 GB, and not at 1 GB."""
    said, held = [], True
    for cloud, (least, most) in fixed.BESIDE_STORM.items():
        for size, tasks in fixed.INPUTS.items():
            batch = job("hadoop", tasks)
            course = _two(runs, cloud, _STORM, batch).course
            slower = _took(course, "hadoop") / runs.alone_us(cloud, batch) - 1
            said.append(f"{cloud} {size} {percent(slower)}")
            held = held and (slower <= fixed.INSIGNIFICANT if size == "1 GB" else least <= slower <= most)
    return ", ".join(said), held


def storm_first(runs: Runs) -> Finding:
    """Storm keeps its three workers whatever batch work comes."""
    courses = [
        _two(runs, cloud, _STORM, job(batch, 120)).course
        for cloud in ("dev", "prod")
        for batch in ("hadoop", "spark-coarse", "spark-fine")
    ]
    running = {moment.shares["storm"].running for course in courses for moment in course.moments[:-1]}
    return f"workers that run: {sorted(running)}", running == {3}


def batch_first(runs: Runs) -> Finding:
    """Coarse-grained batch work first: Storm starts once that has ended."""
    said, held = [], True
    for batch in ("hadoop", "spark-coarse"):
        two = _two(runs, "dev", job(batch, 120), _STORM)
        held = held and two.blocked
        said.append(f"{batch} ends at {_s(two.end_us)}, Storm starts at {_s(two.start_us)}")
    return "; ".join(said), held


def fine_then_storm(runs: Runs) -> Finding:
    """Fine-grained Spark first: Storm is blocked on the development cloud and gets some on the production cloud."""
    on = {cloud: _two(runs, cloud, job("spark-fine", 120), _STORM) for cloud in ("dev", "prod")}
    said = ", ".join(
        f"{cloud}: Storm at {_s(two.start_us)}, Spark ends at {_s(two.end_us)}" for cloud, two in on.items()
    )
    return said, on["dev"].blocked and not on["prod"].blocked


def _cured(runs: Runs, remedy: Remedy) -> Finding:
    """The deadlock's load: Spark stands still for no longer than a task, and both have a task in each task length."""
    spark = job("spark-fine", 40, deadline_us=5 * 60 * SECOND_US)
    hadoop = job("hadoop", 40, deadline_us=3 * 60 * SECOND_US)
    course = _two(replace(runs, remedy=remedy), "dev", spark, hadoop).course
    stuck_us = course.ended["spark-fine"].stuck_us + course.ended["hadoop"].stuck_us
    ends = {name: end.finished_us for name, end in course.ended.items()}
    said = f"stands still for {_s(stuck_us)}; ends: " + ", ".join(
        f"{name} {'never' if end is None else _s(end)}" for name, end in ends.items()
    )
    return said, stuck_us <= fixed.TASK_US and None not in ends.values()


@dataclass(frozen=True, slots=True)
class Ruled:
    """A statement with its rule. ``against`` is the model in which it should not hold, None where there is none."""

    name: str
    section: str
    published: str
    rule: Callable[[Runs], Finding]
    refuted_by: str
    against: str | None


_TAKES_BACK = "a manager that takes resources back"
STATEMENTS: tuple[Ruled, ...] = (
    Ruled("3-table-3.1", "3.2", "Table 3.1: least and most of each framework", table,
              "other demands of an executor", "half-executors"),
    Ruled("3.2-bayes", "3.3", "Naive Bayes on fine Spark stages one task first, the others after it", bayes,
              "an order of stages that is not kept; the model has none", None),
    Ruled("3.3-serial", "3.3", "Two coarse frameworks: the first wins, in its single-tenant time", two_coarse,
              _TAKES_BACK, "revoke"),
    Ruled("3.4-delayed", "3.3", "Spark 10 s behind Hadoop wins at 1 GB alone", delayed, _TAKES_BACK, "revoke"),
    Ruled("3.5-gap", "3.3", "15 GB: Spark alone > 160 s faster, behind Hadoop > 85 s slower", gap,
              _TAKES_BACK, "revoke"),
    Ruled("3.6-deadlock", "3.3.2", "Fine Spark, then Hadoop: Spark's executors idle until Hadoop ends", deadlock,
              "executors that go with their tasks", "release"),
    Ruled("3.6-1gb", "3.3.2", "The same with 1 GB: no deadlock", small_input,
              "one offer for all that is free", "batch"),
    Ruled("3.7-hadoop-first", "3.3.2", "Hadoop first blocks fine Spark", hadoop_blocks, _TAKES_BACK, "revoke"),
    Ruled("3.7-spark-first", "3.3.2", "Fine Spark first: Hadoop is still faster", hadoop_faster,
              "one offer for all that is free", "batch"),
    Ruled("3.8-batch", "3.3.3", "Beside Storm: dev 25-80 %, prod 5-35 % slower, none at 1 GB", beside_storm,
              _TAKES_BACK, "revoke"),
    Ruled("3.9-storm-first", "3.3.3", "Storm first: its throughput does not change", storm_first,
              _TAKES_BACK, "revoke"),
    Ruled("3.10-batch-first", "3.3.3", "Coarse batch first: Storm is blocked until it ends", batch_first,
              _TAKES_BACK, "revoke"),
    Ruled("3.3-fine-storm", "3.3.3", "Fine Spark first: Storm blocked on dev, gets some on prod", fine_then_storm,
              "executors that go with their tasks", "release"),
    Ruled("3.5-m1", "3.5.2", "Revocation would cure the deadlock", partial(_cured, remedy=Remedy.REVOKE),
              "no remedy", "none"),
    Ruled("3.5-m2", "3.5.2", "Admission control would make it rarer", partial(_cured, remedy=Remedy.ADMIT),
              "no remedy", "none"),
    Ruled("3.5-m3", "3.5.2", "Full release would cure it", partial(_cured, remedy=Remedy.RELEASE),
              "no remedy", "none"),
)  # fmt: skip


def models(admission: Admission) -> dict[str, Runs]:
    """The models in which statements should not hold, by name."""
    plain = Runs(admission)
    return {
        "revoke": replace(plain, remedy=Remedy.REVOKE),
        "release": replace(plain, remedy=Remedy.RELEASE),
        "batch": replace(plain, offers=Offers.BATCH),
        "half-executors": replace(plain, executors=0.5),
    }


def judge(admission: Admission) -> Iterator[RuleVerdict]:
    """All verdicts: "reproduced" when the rule holds and fails on the refuting model, which else "cannot fail"."""
    plain, others = Runs(admission), models(admission)
    bare = cache(partial(_cured, plain, Remedy.NONE))
    for statement in STATEMENTS:
        ours, holds = statement.rule(plain)
        there, passed = "no model", list[bool]()
        if statement.against is not None:
            there, still = bare() if statement.against == "none" else statement.rule(others[statement.against])
            passed = [still]
        verdict = after_models(REPRODUCED if holds else DIFFERS, passed)
        refuted = f"{statement.refuted_by} ({there})"
        yield RuleVerdict(statement.name, statement.section, statement.published, ours, verdict, refuted)
