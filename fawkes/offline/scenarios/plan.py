"""The plan of a scenario, before a policy and settings are chosen: one plan gives the scenarios of a whole grid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import Any

from fawkes.base.catalog import Catalog, CatalogFile
from fawkes.base.errors import ConfigError
from fawkes.config.clusters.clusters import cluster_spec
from fawkes.config.settings.settings import settings_of
from fawkes.config.workloads.changes import blamed, changed
from fawkes.config.workloads.scenarios import scenario_of
from fawkes.core.values.events import PolicyText, Requested, Submitted
from fawkes.core.values.model import ClusterId, ClusterSpec, JobId, JobSpec, Node
from fawkes.core.values.settings import Settings
from fawkes.offline.scenarios.applications import details_of
from fawkes.offline.scenarios.load import Coming, Demand, paper, referenced, shaken, wishes
from fawkes.offline.scenarios.machine import bounds_of, constants_of, delays_of, inventory_of
from fawkes.offline.scenarios.scenario import LIMIT_US, Scenario, pool_of, simulate
from fawkes.policy.worker.asking import USUAL, WorkerLimits
from fawkes.policy.worker.policies import admission_loader, load_preemption, loader, parameters_in, policy_text
from fawkes.report import history
from fawkes.sim.events.steps import Delays, Loss
from fawkes.sim.hadoop.constants import DAS4, PAPER, Constants
from fawkes.sim.hadoop.nominal import nominal_work_us
from fawkes.sim.hadoop.profile import Profile, has_chance, profile_of
from fawkes.sim.users import Wish
from fawkes.workload.making.classes import NAMES
from fawkes.workload.seeds import rng

#: seed of a scenario that names none
SEED = 1
_RIGID = "all processors of a rigid job start at once"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Pool, model and demands; ``settings`` are the keys of ``fawkes.toml`` that the scenario gives.

    ``file`` is where they stand, for errors; a policy's path is relative to ``base``. The jobs in
    ``unreferenced`` get no reference times by simulation. ``notes`` say what was skipped, mended or made up in traces.
    """

    name: str
    title: str = ""
    nodes: tuple[Node, ...]
    settings: Mapping[str, Any]
    demands: tuple[Demand, ...]
    seed: int = SEED
    constants: Constants = DAS4
    delays: Delays = field(default_factory=Delays)
    losses: tuple[Loss, ...] = ()
    limit_us: int = LIMIT_US
    file: str = ""
    base: Path = field(default_factory=Path)
    unreferenced: frozenset[JobId] = frozenset()
    bounds: WorkerLimits = USUAL
    notes: tuple[str, ...] = ()

    def scenario(
        self, catalog: Catalog, *, policy: CatalogFile | None = None, changes: Mapping[str, Any] = {}
    ) -> Scenario:
        """The scenario under a policy (default: that of the settings) and with changed settings, without wishes.

        ConfigError names the key that is wrong, in the file or in ``--set``, or that would set the policy again.
        """
        if policy is not None and "policy" in changes:
            raise ConfigError(
                "would set the weighting policy, and it is named already",
                file="--set",
                key="policy",
                hint="Name policies with --policy or --policies; from Python, with policy or policies",
            )
        said = _changed(self.settings, changes)
        place = "--set" if changes else self.file
        chosen = settings_of(said, file=place, base=self.base, catalog=catalog, key="settings", policy=policy)
        text = policy_text(chosen.policy.title, str(chosen.policy.path), chosen.policy.text())
        with parameters_in(place):
            loader(self.bounds)(text, chosen.core)
        let_in = None if chosen.admission is None else self._admission(chosen.admission, chosen.core, place)
        return Scenario(
            name=self.name,
            file=self.file,
            nodes=self.nodes,
            settings=self._known(chosen.core),
            policy=text,
            admission=let_in,
            preemption=self._preemption(chosen.preemption),
            wishes=(),
            constants=self.constants,
            delays=self.delays,
            losses=self.losses,
            limit_us=self.limit_us,
            seed=self.seed,
            bounds=self.bounds,
        )

    def _admission(self, policy: CatalogFile, settings: Settings, place: str) -> PolicyText:
        """The admission policy, loaded once; ConfigError names the file, or the parameter in ``place``."""
        text = policy_text(policy.title, str(policy.path), policy.text())
        with parameters_in(place):
            admission_loader(self.bounds)(text, settings.admission_parameters)
        return text

    def _preemption(self, policy: CatalogFile | None) -> PolicyText | None:
        """The preemption policy, loaded once; ConfigError names the file."""
        if policy is None:
            return None
        text = policy_text(policy.title, str(policy.path), policy.text())
        _load_once(text, self.bounds)
        return text

    def _known(self, settings: Settings) -> Settings:
        """The settings, where moves must pay with what the model says of shared cores and the link between sites."""
        of = self.constants
        if not settings.moves_must_pay:
            return settings
        return replace(
            settings,
            shared_cores=settings.shared_cores or (of.cores if of.shared_cores else 0.0),
            site_link_bytes_s=settings.site_link_bytes_s or (int(of.site_bytes_s) if isfinite(of.site_bytes_s) else 0),
        )

    def with_references(self, scenario: Scenario) -> Plan:
        """The plan with the reference time of each job that had none, by simulation in the scenario's model."""
        wanted = [
            demand.mapped(lambda jobs: [job for job in jobs if job.spec.id not in self.unreferenced])
            for demand in self.demands
        ]
        return replace(self, demands=referenced(self.demands, reference_times(scenario, wanted)))


@lru_cache(maxsize=16)
def _load_once(text: PolicyText, bounds: WorkerLimits) -> None:
    """A preemption policy can be loaded; ConfigError as of `load_preemption`. A sweep has thousands of scenarios."""
    load_preemption(text, bounds)


def with_demands(scenario: Scenario, demands: Sequence[Demand]) -> Scenario:
    """The scenario with these demands as its wishes, whose jobs say what its admission policy must know.

    ConfigError when that policy cannot be loaded.
    """
    if scenario.admission is not None:
        demands = for_admission(demands, scenario.admission, scenario)
    return replace(scenario, wishes=wishes(demands, scenario.settings.idle_us))


def for_admission(demands: Sequence[Demand], policy: PolicyText, scenario: Scenario) -> tuple[Demand, ...]:
    """The jobs as an admission policy meets them: with their work for an oracle; rigid ones keep no grant."""
    admission = admission_loader(scenario.bounds)(policy, scenario.settings.admission_parameters)

    def change(jobs: Sequence[Coming]) -> Iterable[Coming]:
        for job in jobs:
            profile = profile_of(job.spec)
            work_us = nominal_work_us(profile, scenario.constants) if admission.needs_work else None
            unkept = job.spec.unkept or (_RIGID if profile.gang else "")
            yield replace(job, spec=replace(job.spec, work_us=work_us, unkept=unkept))

    return tuple(demand.mapped(change) for demand in demands)


def shaken_scenario(
    scenario: Scenario, demands: Sequence[Demand], *, seed: int, replay: int, spread_us: int
) -> Scenario:
    """The scenario of one replay: the same for each policy that meets it."""
    chances = rng(seed, "tasks", str(replay)).getrandbits(63)
    return with_demands(replace(scenario, seed=chances), shaken(demands, seed, replay, spread_us))


def paper_plan(name: str, seed: int | None = None, changes: Mapping[str, Any] = {}) -> Plan:
    """The plan of ``WKLD-A`` to ``WKLD-E`` by its name in capitals; ``changes`` as those of a file (`read_plan`).

    UserError when the paper has no such workload, ConfigError for a wrong change.
    """
    seed = SEED if seed is None else seed
    demands = paper(name, seed)
    experiment = EXPERIMENTS[name]
    plan = Plan(
        name=name,
        title=f"{name} of the paper",
        nodes=pool_of(experiment.nodes),
        settings=experiment.settings,
        demands=demands,
        constants=PAPER,
        seed=seed,
        file=name,
    )
    return _paper_with(plan, changes) if changes else plan


def _paper_with(plan: Plan, changes: Mapping[str, Any]) -> Plan:
    """A plan of the paper with other keys: as if a file described its machine and its MR-clusters."""
    path = Path(plan.file)
    clusters = [
        {"id": demand.spec.id, "min_nodes": demand.spec.min_nodes, "replication": demand.spec.replication}
        for demand in plan.demands
    ]
    said = {"pool": {"nodes": len(plan.nodes)}, "cluster": clusters}
    with blamed(path, changes):
        table = scenario_of(changed(said, changes), path)
        inventory, nodes = inventory_of(table, path, None)
        specs = [
            cluster_spec(cluster, file=plan.file, folder=Path(), inventory=inventory, key=f"cluster[{cluster.id}]")
            for cluster in table.cluster
        ]
    demands = tuple(
        replace(demand, spec=replace(spec, details=demand.spec.details))
        for demand, spec in zip(plan.demands, specs, strict=True)
    )
    return replace(
        plan,
        nodes=nodes,
        demands=demands,
        constants=constants_of(table.model, None, plan.constants),
        delays=delays_of(table.model),
        bounds=bounds_of(table.bounds),
    )


def _changed(said: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with others over them; a dot in a key names a table, and of tau and share_error the new one counts."""
    result: dict[str, Any] = dict(said)
    for key, value in sorted(changes.items(), key=lambda change: change[0] != "admission"):
        table, dot, name = key.partition(".")
        if dot:
            below = result.get(table, {})
            result[table] = {**below, name: value} if isinstance(below, Mapping) else {name: value}
            continue
        if key in ("tau", "share_error"):
            result.pop("tau", None)
            result.pop("share_error", None)
        if key == "admission" and str(value).casefold() != str(result.get(key, "fifo")).casefold():
            # What is set for one admission policy is nothing for another.
            for other in ("admission_parameters", "learn_from_pool", "admit_unkept"):
                result.pop(other, None)
        result[key] = value
    return result


# --- The paper's macro-experiments by name: pool, settings and MR-clusters of its Table 2 (facts, section 7)


@dataclass(frozen=True, slots=True)
class PaperScenario:
    """A row of Table 2: how many nodes, and settings as ``fawkes.toml`` has them."""

    nodes: int
    settings: Mapping[str, Any]


_SHORT = {"preset": "paper", "period": "60s"}
_LONG = {"preset": "paper", "period": "120s", "growth": "TC", "policy": "TD"}

EXPERIMENTS: Mapping[str, PaperScenario] = dict(
    zip(
        NAMES,
        (
            PaperScenario(60, {**_SHORT, "growth": "TR", "policy": "JD"}),
            PaperScenario(60, {**_SHORT, "growth": "TR", "policy": "TD"}),
            PaperScenario(60, {**_SHORT, "growth": "TC", "policy": "TD"}),
            PaperScenario(48, _LONG),
            PaperScenario(48, _LONG),
        ),
        strict=True,
    )
)
"""The paper shows B and C with TR and TC: here TR for Wordcount, TC for Sort; ``--set growth=TC`` gives the other."""


# --- Reference times: how long each job takes alone on a static MR-cluster of minimum size (facts, sections 4 and 7)


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

    Each distinct profile runs once for each minimum size and replication (three times when tasks differ by chance), one
    after another on one static MR-cluster without other jobs, in the model of the ``scenario``. A rigid job takes what
    its trace says.
    """
    times: dict[JobId, int] = {}
    wanted: dict[tuple[int, int], dict[tuple[Profile, bool], list[JobId]]] = {}
    for demand in demands:
        group = wanted.setdefault((demand.spec.min_nodes, demand.spec.replication), {})
        for job in demand.all_jobs:
            if job.spec.reference_us is None:
                profile = profile_of(job.spec)
                if profile.gang:
                    # Alone it starts at once, and its MR-cluster's minimum may be too small for it.
                    times[job.spec.id] = profile.map_us
                else:
                    group.setdefault((profile, has_chance(job.spec, profile)), []).append(job.spec.id)
    for size, group in sorted(wanted.items()):
        for (_, ids), took_us in zip(group.items(), _alone(scenario, *size, list(group)), strict=True):
            times |= dict.fromkeys(ids, took_us)
    return times


def _alone(scenario: Scenario, nodes: int, replication: int, profiles: Sequence[tuple[Profile, bool]]) -> list[int]:
    if not profiles:
        return []
    times = _TIMES if scenario.constants.spread or scenario.constants.stragglers else 1
    names = [_name(*kind, turn) for kind in profiles for turn in range(times)]
    request = Requested(at_us=0, spec=ClusterSpec(id=_ALONE, min_nodes=nodes, replication=replication))
    jobs = [
        Wish(
            event=Submitted(at_us=0, spec=_spec(name, *profiles[number // times])),
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
    took = {job.id: job.run_us for job in history.jobs(simulate(static)) if job.run_us is not None}
    groups = [names[first : first + times] for first in range(0, len(names), times)]
    return [round(fmean(took[name] for name in group)) for group in groups]


def _name(profile: Profile, by_chance: bool, turn: int) -> JobId:
    """A name by what the job is: the chances of its tasks follow from it, and not from its place among others."""
    return JobId(f"alone-{sha256(repr((profile, by_chance)).encode()).hexdigest()[:16]}-{turn}")


def _spec(name: JobId, profile: Profile, by_chance: bool) -> JobSpec:
    details = details_of(profile) if by_chance else {**details_of(profile), "sleep": {}}
    tasks = profile.maps + profile.reduces
    return JobSpec(id=name, cluster=_ALONE, tasks=tasks, tasks_estimated=False, details=details)
