"""A case is played: stages with barriers, and the control code of the core every half second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from fawkes.base.catalog import Kind, bundled_dir
from fawkes.core.quota import control
from fawkes.core.quota.control import Control
from fawkes.core.quota.planner import HeldExecutors, StagePlan, deal_tasks, mean_rate, plan_stage
from fawkes.core.quota.profile import ApplicationProfile, ProfiledStage
from fawkes.core.quota.supervisor import supervise
from fawkes.core.quota.values import Claim, Divide, Parameters
from fawkes.offline.studies.quota import fixed
from fawkes.offline.studies.quota.cases import MODELS, QuotaCase, theta_of
from fawkes.offline.studies.quota.fixed import APPLICATIONS, StudyArrival
from fawkes.offline.studies.quota.tasks import Part, lengths_of
from fawkes.policy.worker.policies import load_quota, policy_text

Row = dict[str, Any]

#: the seed of the run that made the profiles
_PROFILED = 0
_EPSILON_S = 1e-9


@lru_cache
def strategy(name: str) -> Divide:
    """A bundled quota policy."""
    path: Path = bundled_dir(Kind.QUOTA) / Kind.QUOTA.value / f"{name}.py"
    return load_quota(policy_text(name.upper(), path.name, path.read_text("utf-8")))


def stage_lengths(case: QuotaCase, arrival: StudyArrival, seed: int, skew: float | None) -> list[list[float]]:
    """Lengths of the tasks of each stage of an application, over all nodes; on all cores they take ``work_s``."""
    app, model, lengths = APPLICATIONS[arrival.app], MODELS[case.model], []
    for place, part in enumerate(app.parts):
        tasks = model.tasks or app.tasks
        narrow = place == app.narrow and model.narrow
        if narrow:
            tasks = fixed.NARROW_TASKS
        seconds = part * arrival.work_s
        # A narrow stage takes its part of the time although it cannot use all cores.
        mean_s = seconds if narrow else seconds * fixed.CORES / tasks
        skewed = skew if place == len(app.parts) - 1 and model.skewed else None
        lengths.append(lengths_of(seed, arrival.app, place, tasks * fixed.NODES, mean_s, skewed))
    scale = arrival.work_s * model.work / sum(map(full_s, lengths))
    return [[length * scale for length in stage] for stage in lengths]


def dealt(lengths: Sequence[float], nodes: int) -> list[list[float]]:
    """The tasks of each node: equal numbers, the remainder spread."""
    counts, parts, start = deal_tasks(len(lengths), {f"{node:03}": 1.0 for node in range(nodes)}), [], 0
    for count in counts.values():
        parts.append(list(lengths[start : start + count]))
        start += count
    return parts


def full_s(lengths: Sequence[float]) -> float:
    """Seconds that a stage takes on all cores."""
    return max(Part(part, fixed.CORES).full_s for part in dealt(lengths, fixed.NODES))


def profile_of(case: QuotaCase, arrival: StudyArrival) -> ApplicationProfile:
    """The profile of an application, from a run on all cores with data of its own."""
    rate, stages = APPLICATIONS[arrival.app].rate, list[ProfiledStage]()
    lengths = stage_lengths(case, arrival, _PROFILED, case.profiled)
    records = [rate * sum(each) for each in lengths]
    for place, each in enumerate(lengths):
        stages.append(
            ProfiledStage(
                id=f"{place}",
                duration_s=full_s(each),
                tasks=len(each),
                records_read=records[place],
                records_written=records[min(place + 1, len(records) - 1)],
                rate=rate,
                parents=(f"{place - 1}",) if place else (),
            )
        )
    return ApplicationProfile(arrival.app, 1, tuple(stages))


@dataclass
class _Executor:
    """An executor of a stage: its tasks, its controller (None: it has none), its quota now and the next one."""

    part: Part
    quota: float
    control: Control | None = None
    next_quota: float | None = None


@dataclass
class _Running:
    """An application under way."""

    case: QuotaCase
    arrival: StudyArrival
    lengths: list[list[float]]
    profile: ApplicationProfile
    deadline_s: float
    theta: float
    rate: float | None
    stage: int = -1
    began_s: float = 0.0
    plan: StagePlan = field(default_factory=lambda: StagePlan(deadline_s=0, cores=None, initial=0))
    executors: dict[int, _Executor] = field(default_factory=dict)
    end_s: float | None = None
    core_s: float = 0.0
    ended: list[tuple[float, float]] = field(default_factory=list)

    @property
    def task_rate(self) -> float:
        """Tasks that a core does in a second, as the profile has it (resolution 5)."""
        stage = self.profile.stages[self.stage]
        return (stage.rate or 0.0) * stage.tasks / stage.records_read

    @property
    def until_s(self) -> float:
        """The time when the stage should end."""
        return self.began_s + self.plan.deadline_s


class QuotaPlay:
    """The course of one case."""

    def __init__(self, case: QuotaCase) -> None:
        self.case, self.model = case, MODELS[case.model]
        gamma = case.gamma if self.model.gamma is None else self.model.gamma
        alpha = case.alpha if self.model.alpha is None else self.model.alpha
        self.parameters = Parameters(gamma=gamma, alpha=alpha, beta=case.beta)
        self.nodes = list(range(case.nodes))
        self.apps = [self._app(arrival) for arrival in case.arrivals]
        self.trace: list[tuple[float, ...]] = []

    def _app(self, arrival: StudyArrival) -> _Running:
        case = self.case
        lengths = stage_lengths(case, arrival, case.seed, case.skew)
        base_s = sum(map(full_s, lengths))
        profile = profile_of(case, arrival)
        return _Running(
            case=case,
            arrival=arrival,
            lengths=lengths,
            profile=profile,
            deadline_s=arrival.deadline_s if arrival.deadline_s > 0 else base_s * case.relaxed,
            theta=theta_of(APPLICATIONS[arrival.app], self.model),
            rate=mean_rate(profile, case.beta),
        )

    def run(self) -> Row:
        """Play until all applications have ended; the row of the case."""
        period_s, step = self.parameters.period_s, 0
        while any(app.end_s is None for app in self.apps):
            now_s = step * period_s
            if now_s > fixed.LIMIT_S:
                raise AssertionError(f"{self.case} does not end")
            self._change_nodes(now_s)
            for app in self.apps:
                if app.stage < 0 and app.arrival.at_s <= now_s + _EPSILON_S:
                    self._submit(app, now_s)
            self._decide(now_s)
            self._advance(now_s, now_s + fixed.DELAY_S)
            self._enact()
            self._advance(now_s + fixed.DELAY_S, now_s + period_s)
            step += 1
        return {"apps": [_outcome(app) for app in self.apps], "trace": self.trace}

    def _active(self) -> list[_Running]:
        return [app for app in self.apps if app.executors and app.end_s is None]

    def _submit(self, app: _Running, now_s: float) -> None:
        """Begin the next stage, or end the application."""
        app.stage += 1
        if app.stage == len(app.lengths):
            app.end_s, app.executors = now_s, {}
            return
        stage = app.profile.stages[app.stage]
        app.began_s = now_s
        app.plan = plan_stage(
            stage,
            app.profile.stages[app.stage :],
            records=stage.records_read,
            spent_s=now_s - app.arrival.at_s,
            deadline_s=app.deadline_s,
            held=HeldExecutors(executors=len(self.nodes), node_cores=fixed.CORES),
            parameters=self.parameters,
            end_s=app.profile.end_s,
        )
        parts = dealt(app.lengths[app.stage], len(self.nodes))
        app.executors = {
            node: self._executor(app, node, Part(part, fixed.CORES), now_s)
            for node, part in zip(self.nodes, parts, strict=True)
        }

    def _executor(self, app: _Running, node: int, part: Part, now_s: float) -> _Executor:
        """An executor with its first quota: what the plan has, as far as its node has it free."""
        beside = [other.executors[node] for other in self._active() if other is not app]
        others = sum(max(executor.quota, executor.next_quota or 0.0) for executor in beside)
        quota = min(app.plan.initial, max(0.0, fixed.CORES - others), len(part.tasks))
        controlled = self.model.control and app.plan.cores is not None and part.tasks
        state = None
        if controlled:
            state = control.begin(
                len(part.tasks), app.task_rate, now_s=now_s, deadline_s=app.until_s, initial=app.plan.initial,
                parameters=self.parameters,
            )  # fmt: skip
        return _Executor(part, quota, state)

    def _change_nodes(self, now_s: float) -> None:
        """A node joins or is lost: what has not begun is dealt anew, and controllers start from now (X7 to X9)."""
        wanted = self.case.nodes if now_s < self.case.change_s else self.case.nodes_then
        if wanted == len(self.nodes):
            return
        before, self.nodes = self.nodes, list(range(wanted))
        for app in self._active():
            gone = [app.executors.pop(node) for node in before if node not in self.nodes]
            stay = list(app.executors.values())
            waiting = [length for each in (*stay, *gone) for length in each.part.waiting()]
            waiting += [length for each in gone for length in each.part.running(afresh=True)]
            quota = sum(each.quota for each in (*stay, *gone)) / len(self.nodes)
            for node, part in zip(self.nodes, dealt(waiting, len(self.nodes)), strict=True):
                kept = app.executors.get(node)
                lengths = [*(kept.part.running() if kept else ()), *part]
                app.executors[node] = self._redealt(app, kept, lengths, quota, now_s)

    def _redealt(
        self, app: _Running, kept: _Executor | None, lengths: Sequence[float], quota: float, now_s: float
    ) -> _Executor:
        part = Part(lengths, fixed.CORES)
        if not lengths:
            return _Executor(part, 0.0)
        if kept is None or kept.control is None:
            state = control.begin(
                len(lengths), app.task_rate, now_s=now_s, deadline_s=app.until_s, initial=quota,
                parameters=self.parameters,
            )  # fmt: skip
            return _Executor(part, min(quota, fixed.CORES), state if self.model.control else None)
        state = control.rebase(kept.control, now_s, 0.0, len(lengths), app.task_rate, app.until_s, self.parameters)
        return _Executor(part, kept.quota, state)

    def _decide(self, now_s: float) -> None:
        """One period of control: requests, then the supervisor of each node, then the states calculated back."""
        for node in self.nodes:
            claims, executors = [], dict[str, _Executor]()
            for place, app in enumerate(self._active()):
                executor = app.executors[node]
                if executor.part.left:
                    claim = self._claim(f"{place}", app, executor, now_s)
                    claims.append(claim)
                    executors[claim.id] = executor
            if not claims:
                continue
            given = supervise(
                claims, fixed.CORES, strategy(self.case.strategy),
                gamma=self.parameters.gamma, quantum=self.parameters.quantum,
            )  # fmt: skip
            for name, executor in executors.items():
                executor.next_quota = given[name]
                if executor.control is not None:
                    executor.control = control.apply(executor.control, given[name])
        if self.case.traced:
            self._remember(now_s)

    def _claim(self, name: str, app: _Running, executor: _Executor, now_s: float) -> Claim:
        most = float(min(fixed.CORES, executor.part.left))
        requested = min(app.plan.initial, most)
        if executor.control is not None:
            executor.control, requested = control.request(
                executor.control, now_s, executor.part.done, most=most, parameters=self.parameters
            )
        return Claim(
            id=name,
            requested=requested,
            most=most,
            left_s=app.arrival.at_s + app.deadline_s - now_s,
            rate=app.rate,
            submitted_s=app.arrival.at_s,
        )

    def _remember(self, now_s: float) -> None:
        """A row of the trace: the first executor of the first application."""
        executor = self.apps[0].executors[self.nodes[0]]
        if executor.control is not None:
            state, done = executor.control, executor.part.done
            self.trace.append((now_s, state.set_point(now_s), state.progress(done), executor.next_quota or 0.0))

    def _enact(self) -> None:
        for app in self._active():
            for executor in app.executors.values():
                if executor.next_quota is not None:
                    executor.quota, executor.next_quota = executor.next_quota, None

    def _advance(self, now_s: float, until_s: float) -> None:
        for app in self._active():
            self._advance_app(app, now_s, until_s)

    def _advance_app(self, app: _Running, now_s: float, until_s: float) -> None:
        """Let an application go on; stages that end make room for the next ones at once."""
        while app.end_s is None and now_s < until_s - _EPSILON_S:
            spare = []
            for node, executor in app.executors.items():
                busy = executor.quota > 0 and executor.part.left > 0
                speed = executor.quota * self._per_core(app, node) if busy else 0.0
                spare.append(executor.part.advance(until_s - now_s, speed))
                app.core_s += executor.quota * (until_s - now_s - spare[-1])
            if any(executor.part.left for executor in app.executors.values()):
                return
            now_s = until_s - min(spare)
            app.ended.append((app.plan.deadline_s, now_s - app.began_s))
            self._submit(app, now_s)

    def _per_core(self, app: _Running, node: int) -> float:
        """Speed of a core: it falls with all cores that work on the node, so that sharing a node gains nothing."""
        executors = (other.executors[node] for other in self._active())
        cores = sum(executor.quota for executor in executors if executor.part.left)
        return float((cores / fixed.CORES) ** (app.theta - 1))


def _outcome(app: _Running) -> Row:
    assert app.end_s is not None
    duration_s = app.end_s - app.arrival.at_s
    return {
        "app": app.arrival.app,
        "deadline_s": app.deadline_s,
        "duration_s": duration_s,
        "error": 100 * (app.deadline_s - duration_s) / app.deadline_s,
        "stage_errors": [100 * abs(due_s - took_s) / app.deadline_s for due_s, took_s in app.ended],
        "cores": app.core_s / duration_s,
    }


def play(case: QuotaCase) -> Row:
    """The row of a case: for each application its deadline, duration, errors (eq. 4 and 5) and mean cores."""
    return _fifo(case) if case.fifo else QuotaPlay(case).run()


def _fifo(case: QuotaCase) -> Row:
    """Stock Spark: all cores to whoever came first."""
    free_s, rows = 0.0, []
    for arrival in case.arrivals:
        took_s = sum(map(full_s, stage_lengths(case, arrival, case.seed, case.skew)))
        free_s = max(free_s, arrival.at_s) + took_s
        duration_s = free_s - arrival.at_s
        error = 100 * (arrival.deadline_s - duration_s) / arrival.deadline_s
        rows.append({"app": arrival.app, "deadline_s": arrival.deadline_s, "duration_s": duration_s, "error": error})
    return {"apps": rows, "trace": []}
