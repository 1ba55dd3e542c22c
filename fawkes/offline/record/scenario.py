"""A recorded span as the text of a scenario that asks for the same again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from pydantic import BaseModel

from fawkes.base.units import MOST_DURATION_US, show_time
from fawkes.config.files.loader import written
from fawkes.config.settings.core import GROUPS, GROWTH, WRITTEN
from fawkes.config.settings.keys import SettingsFile
from fawkes.config.workloads.model import ModelTable
from fawkes.core.values.model import ClusterState, JobState, Promise, Role
from fawkes.core.values.settings import Settings
from fawkes.offline.record import toml
from fawkes.offline.record.measured import MeasuredTimes, data_of
from fawkes.offline.record.span import RecordedSpan
from fawkes.offline.record.toml import duration, size
from fawkes.offline.scenarios.scenario import LIMIT_US
from fawkes.report.history import SIMULATED

JOBS_FILE, DEMANDS_FILE, MODEL_FILE = "jobs.jobs.csv", "demands.csv", "model.toml"

#: what the model has and the measured times of a site contain already: the way of the news of a task's end, streams
#: that wait for each other, seeks
INCLUDED: Mapping[str, str | float] = {"task_end": "0s", "serial": 0.0, "disk_seek": 0.0}
_WITHIN = {"task_end": "job_end", "serial": "job_end", "disk_seek": "disk"}


def included(measured: Collection[str]) -> dict[str, str | float]:
    """The constants that are within those that were measured; the others stay the model's own."""
    return {name: value for name, value in INCLUDED.items() if _WITHIN[name] in measured}


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """The machine below the nodes: ``cores`` of each, or of all together where they share one (a lab).

    ``network_bytes_s`` is the limit of each node's network; None is the default.
    """

    cores: int | None = None
    shared_cores: bool = False
    network_bytes_s: int | None = None

    def said(self) -> dict[str, Any]:
        """Its values by the keys of ``[model]``."""
        network = None if self.network_bytes_s is None else toml.size(self.network_bytes_s)
        return {"shared_cores": self.shared_cores or None, "cores": self.cores, "network": network}


def scenario_text(
    recorded: RecordedSpan,
    seen: MeasuredTimes,
    platform: Platform,
    *,
    title: str,
    policy_file: str,
    admission_file: str = "",
    preemption_file: str = "",
    calibrated: ModelTable | None,
) -> str:
    """The scenario; ``policy_file`` is beside it, and so are the files of an admission and of a preemption policy.

    ``calibrated`` are the constants of the file ``model.toml`` beside it, if there is one.
    """
    return "\n".join(
        [
            *_head(recorded, title),
            *_pool(recorded),
            *_settings(recorded, policy_file, admission_file, preemption_file),
            *_model(recorded, seen, platform, calibrated),
            *_clusters(recorded),
            "",
        ]
    )


def _head(recorded: RecordedSpan, title: str) -> Iterator[str]:
    span = recorded.span
    yield f"# Recorded from {show_time(span.since_us)} to {show_time(span.until_us)} by `fawkes record`."
    yield from toml.table({"title": title, "limit": toml.duration(max(LIMIT_US, 10 * (span.until_us - span.since_us)))})


def _pool(recorded: RecordedSpan) -> Iterator[str]:
    yield from ("", "[pool]")
    yield from toml.rows(
        "node",
        (
            {"id": node.id}
            | ({"site": node.site} if node.site else {})
            | ({"capacity": node.capacity_milli / 1000} if node.capacity_milli != 1000 else {})
            | ({} if node.may_core else {"core": False})
            for node in recorded.rules.nodes
        ),
    )


def _settings(recorded: RecordedSpan, *files: str) -> Iterator[str]:
    yield from ("", "[settings]")
    yield from toml.table(settings_table(recorded.rules.settings, *files))


def _model(
    recorded: RecordedSpan, seen: MeasuredTimes, platform: Platform, calibrated: ModelTable | None
) -> Iterator[str]:
    yield from ("", "[model]")
    if calibrated is not None:
        yield f"from = {toml.value(MODEL_FILE)}"
    slots = {"map_slots": 0, "slots": recorded.node_slots} if recorded.node_slots else {}
    said = {
        name: value for name, value in platform.said().items() if calibrated is None or name not in written(calibrated)
    }
    yield from toml.table({**slots, **said}, notes={"slots": "by most readings"})
    if calibrated is None:
        # Of a simulated site nobody timed a task; YARN, whose containers were seen, has no TaskTracker to wait for.
        real = bool(slots) and recorded.rules.controller != SIMULATED
        within = included([*(["job_end"] if real else []), *(["disk"] if seen.load_bytes_s else [])])
        yield from toml.table(within, notes=dict.fromkeys(within, "within what was measured"))
        yield from _measured(seen)


def _measured(seen: MeasuredTimes) -> Iterator[str]:
    """Lines with what the ledger tells by itself. Times of jobs are not among it: the model is held against them."""
    for name, values in (("deploy", seen.deploy_us), ("join", seen.join_us), ("clean", seen.clean_us)):
        if values:
            note = f"median of {len(values)} in this ledger"
            yield from toml.table({name: toml.duration(round(median(values)))}, notes={name: note})
    if seen.drain_us:
        note = f"least of {len(seen.drain_us)} in this ledger"
        yield from toml.table({"drain": toml.duration(min(seen.drain_us))}, notes={"drain": note})
    if seen.load_bytes_s:
        note = f"median of {len(seen.load_bytes_s)} loads in this ledger"
        yield from toml.table({"disk": toml.size(round(median(seen.load_bytes_s)))}, notes={"disk": note})


def _clusters(recorded: RecordedSpan) -> Iterator[str]:
    for state in recorded.clusters:
        mine = [job for job in recorded.jobs if job.cluster == state.id]
        yield from _cluster(state, mine, recorded)
    if recorded.jobs:
        # The jobs of the table name their MR-clusters themselves.
        yield from ("", "[[load]]")
        yield from toml.table({"cluster": recorded.clusters[0].id, "trace": JOBS_FILE, "demands": DEMANDS_FILE})


def _cluster(state: ClusterState, jobs: Sequence[JobState], recorded: RecordedSpan) -> Iterator[str]:
    spec = state.spec
    sets = [(f"{spec.id[:50]}-{number}", to, held) for number, (to, held) in enumerate(data_of(spec.details), 1)]
    for name, _, held in sets:
        if held:
            yield from ("", "[[generate]]")
            yield from toml.table({"name": name, "kind": "records", "size": toml.size(held)})
    yield from ("", "[[cluster]]")
    yield from toml.table(
        {
            "id": spec.id,
            "at": toml.duration(max(0, state.requested_us - recorded.span.since_us)),
            "min_nodes": spec.min_nodes,
            "max_nodes": spec.max_nodes,
            "growth": None if spec.growth is None else code_of(spec.growth),
            "replication": spec.replication,
            "deploy": "first-job" if spec.deploy_on_first_job else None,
            "idle_time": None if spec.idle_us is None else _idle_time(spec.idle_us + _gap_us(state, jobs)),
            "max_running_jobs": spec.max_running_jobs,
            "masters": None if spec.masters is Promise.KEPT else spec.masters.value,
        }
    )
    data = [{"from": f"generated:{name}", "to": to} for name, to, size in sets if size]
    if data:
        yield from toml.rows("data", data)


def _idle_time(us: int) -> str:
    return toml.duration(us) if us <= MOST_DURATION_US else "never"


def _gap_us(state: ClusterState, jobs: Iterable[JobState]) -> int:
    """The longest time between two of its jobs: under a faster policy it must not be gone before the next one."""
    times = [state.requested_us, *sorted(job.submitted_us for job in jobs)]
    return max((later - sooner for sooner, later in pairwise(times)), default=0)


# --- Settings of a ledger as the keys of ``fawkes.toml`` that give them again


CODES = {role: code for code, role in GROWTH.items()}
_DECIDING = {name: name for name in Settings.__dataclass_fields__} | {key: name for name, key in WRITTEN.items()}
_ADMISSION = ("admission", "admission_parameters", "learn_from_pool", "admit_unkept")


def settings_table(settings: Settings, policy: str, admission: str = "", preemption: str = "") -> dict[str, Any]:
    """Every key that decides, none left to the preset; the policies are the paths of their files.

    Without an admission policy, or a preemption policy, the table has no keys of it.
    """
    table = _table(SettingsFile, settings) | {
        "policy": policy,
        "discrimination": str(settings.discrimination),
        "growth": code_of(settings.growth),
        "max_moves": "unlimited" if settings.max_moves_fraction is None else settings.max_moves_fraction,
        "idle_time": "never" if settings.idle_us is None else duration(settings.idle_us),
        "stale_samples": max(1, settings.stale_us // settings.sample_every_us),
        "admission": admission,
        "preemption": preemption,
    }
    table["patience"]["takeover"] = duration(settings.takeover_us or settings.silent_us)
    # 0 is no limit, and no size that the key takes.
    table["site_link"] = size(settings.site_link_bytes_s)
    table["image_rate"] = size(settings.image_bytes_s)
    nothing = {"site_link": settings.site_link_bytes_s == 0, "image_rate": settings.image_bytes_s == 0}
    left_out = {*(key for key, is_nothing in nothing.items() if is_nothing), *(() if admission else _ADMISSION)}
    left_out |= set() if preemption else {"preemption"}
    return {key: value for key, value in table.items() if key not in left_out}


def _table(model: type[BaseModel], settings: Settings) -> dict[str, Any]:
    """The keys of a table of ``fawkes.toml`` that settings of decisions have, in its order, and their values."""
    table: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        kind: Any = field.annotation
        if name in GROUPS:
            table[name] = _table(kind, settings)
        elif name in _DECIDING:
            value: Any = getattr(settings, _DECIDING[name])
            value = dict(value) if name.endswith("_parameters") else value
            table[field.alias or name] = duration(value) if name.endswith("_us") else value
    return table


def code_of(role: Role) -> str:
    """TR or TC."""
    return CODES[role]
