"""The folder of a record: written whole or not at all, and refused when it is of another version or damaged."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fawkes.base.errors import RefusedError, UserError
from fawkes.base.version import __version__
from fawkes.config.workloads.model import read_model
from fawkes.core.values.model import JobLife, JobState
from fawkes.offline.record.demand import demand_of
from fawkes.offline.record.hadoop import RecordedApplication, applications_in
from fawkes.offline.record.measured import seen_in
from fawkes.offline.record.scenario import DEMANDS_FILE, JOBS_FILE, MODEL_FILE, Platform, scenario_text
from fawkes.offline.record.span import RecordedSpan, Span
from fawkes.offline.runs.folder import stamp_of, whole, write_json
from fawkes.offline.scenarios.demands import JobDemand, KnownDemands, write_demands
from fawkes.store.sqlite import LEDGER_FILE, LedgerReader
from fawkes.workload.formats import table
from fawkes.workload.model import Trace, TraceJob

FORMAT = 1
"""The version of record.json; another number is another layout of the folder."""

RECORD_FILE, SCENARIO_FILE, HISTORY, POLICIES = "record.json", "scenario.toml", "history", "policies"
_DAMAGED = "Nothing was changed. Take another copy, or record again"

Histories = Mapping[str, Mapping[str, Any]]
"""What the controller answered, by job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """An opened record. ``missing`` says of each job without a history why, ``known`` what each demand is from."""

    folder: Path
    ledger_id: str
    pool: str
    span: Span
    policy: str
    known: Mapping[str, KnownDemands]
    missing: Mapping[str, str]
    left_out: Mapping[str, str]
    notes: tuple[str, ...]

    @property
    def scenario(self) -> Path:
        """The file that `fawkes simulate` runs."""
        return self.folder / SCENARIO_FILE

    def ledger(self) -> closing[LedgerReader]:
        """The copy of the ledger, closed at the end of its ``with``."""
        return closing(LedgerReader(self.folder))


def write_record(
    folder: Path,
    ledger: LedgerReader,
    recorded: RecordedSpan,
    platform: Platform,
    histories: Histories,
    missing: Mapping[str, str],
    *,
    model: Path | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Record:
    """Make the record of a span. RefusedError when the folder is there already, or the ledger is damaged.

    ``model`` is a file of `fawkes calibrate` that the scenario shall use. ``say`` is told each part that is done.
    """
    with whole(folder, refuse_present) as draft:
        ledger.copy_to(draft)
        _verify(draft)
        say("ledger")
        applications = _write_histories(draft, recorded, histories, missing)
        say("histories")
        demands: dict[str, JobDemand] = {}
        for job in recorded.jobs:
            demands[job.id] = demand_of(job, applications.get(job.id, ()), recorded.slots.get(job.id))
        write_demands(draft / DEMANDS_FILE, demands)
        table.write(_trace(recorded, demands), draft / JOBS_FILE)
        _write_scenario(draft, ledger, recorded, platform, model)
        say("scenario")
        write_json(draft / RECORD_FILE, _said(ledger, recorded, demands, missing))
    return open_record(folder, verified=True)


PARTS_OF_A_RECORD = 3


def open_record(folder: Path, *, verified: bool = False) -> Record:
    """A record that is there; UserError when it is none.

    RefusedError when it is of another version, incomplete, or its ledger is damaged (looked for unless ``verified``).
    """
    said = stamp_of(folder / RECORD_FILE)
    if said is None:
        raise UserError("is not a record", where=str(folder), hint="`fawkes record --out DIR` makes one")
    version = said.get("fawkes"), said.get("format")
    if version != (__version__, FORMAT):
        raise RefusedError(
            f"is a record of Fawkes {version[0]} (format {version[1]}); this is {__version__} (format {FORMAT})",
            where=str(folder),
            hint="Use the version that made it, or record the span again",
        )
    absent = [name for name in (SCENARIO_FILE, JOBS_FILE, DEMANDS_FILE, LEDGER_FILE) if not (folder / name).is_file()]
    if absent:
        raise RefusedError(f"has no {absent[0]}", where=str(folder), hint=_DAMAGED)
    if not verified:
        _verify(folder)
    try:
        return Record(
            folder=folder,
            ledger_id=str(said["ledger"]),
            pool=str(said["pool"]),
            span=Span(**said["span"]),
            policy=str(said["policy"]),
            known={str(job): KnownDemands(text) for job, text in said["known"].items()},
            missing=dict(said["missing"]),
            left_out=dict(said["left_out"]),
            notes=tuple(said["notes"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RefusedError(
            f"cannot be understood ({error!r})", where=str(folder / RECORD_FILE), hint=_DAMAGED
        ) from None


def history_file(job: JobState) -> str:
    """The name of the file with the history of the last attempt of a job."""
    return f"{job.id}.{job.attempt}.json"


def _verify(folder: Path) -> None:
    with closing(LedgerReader(folder)) as reader:
        try:
            reader.verify()
        except RefusedError as error:
            raise RefusedError(error.what, where=error.where, hint=_DAMAGED) from None


def _write_histories(
    draft: Path, recorded: RecordedSpan, histories: Histories, missing: Mapping[str, str]
) -> dict[str, tuple[RecordedApplication, ...]]:
    (draft / HISTORY).mkdir()
    applications: dict[str, tuple[RecordedApplication, ...]] = {}
    for job in recorded.jobs:
        if job.id in histories:
            write_json(draft / HISTORY / history_file(job), histories[job.id])
            if job.id not in missing:
                applications[job.id] = applications_in(histories[job.id])
    return applications


def _trace(recorded: RecordedSpan, demands: Mapping[str, JobDemand]) -> Trace:
    jobs = tuple(_row(job, demands[job.id], recorded.span.since_us) for job in recorded.jobs)
    header = {"from": f"fawkes record, pool {recorded.rules.pool}"}
    return Trace(source=recorded.rules.pool, jobs=tuple(sorted(jobs, key=lambda job: job.submit_us)), header=header)


def _row(job: JobState, demand: JobDemand, since_us: int) -> TraceJob:
    profile = demand.profile
    by_time = demand.known is not KnownDemands.HISTORY and bool(profile.map_us or profile.reduce_us)
    return TraceJob(
        id=job.id,
        submit_us=job.submitted_us - since_us,
        cluster=job.cluster,
        maps=profile.maps,
        reduces=profile.reduces,
        map_us=profile.map_us if by_time else None,
        reduce_us=profile.reduce_us if by_time else None,
        input_bytes=None if by_time else profile.map_read_bytes * profile.maps,
        shuffle_bytes=None if by_time else profile.map_output_bytes * profile.maps,
        output_bytes=None if by_time else profile.output_bytes * (profile.reduces or profile.maps),
        run_us=job.run_us if job.life is JobLife.SUCCEEDED else None,
        deadline_us=job.spec.deadline_us,
    )


def _write_scenario(
    draft: Path, ledger: LedgerReader, recorded: RecordedSpan, platform: Platform, model: Path | None
) -> None:
    policy = recorded.rules.policy
    (draft / POLICIES).mkdir()
    file = f"{POLICIES}/{policy.name.lower()}.py"
    (draft / file).write_text(policy.text, encoding="utf-8")
    files = {"admission": "", "preemption": ""}
    for kind, text in (("admission", recorded.rules.admission), ("preemption", recorded.rules.preemption)):
        if text is not None:
            files[kind] = f"{POLICIES}/{kind}/{text.name.lower()}.py"
            (draft / files[kind]).parent.mkdir()
            (draft / files[kind]).write_text(text.text, encoding="utf-8")
    if model is not None:
        shutil.copyfile(model, draft / MODEL_FILE)
    scenario = scenario_text(
        recorded,
        seen_in(ledger, recorded.span),
        platform,
        title=f"Recorded in the pool {recorded.rules.pool}",
        policy_file=file,
        admission_file=files["admission"],
        preemption_file=files["preemption"],
        calibrated=None if model is None else read_model(model),
    )
    (draft / SCENARIO_FILE).write_text(scenario, encoding="utf-8")


def _said(
    ledger: LedgerReader, recorded: RecordedSpan, demands: Mapping[str, JobDemand], missing: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "fawkes": __version__,
        "format": FORMAT,
        "ledger": ledger.identity().pool_id,
        "pool": recorded.rules.pool,
        "policy": recorded.rules.policy.name,
        "policy_sha256": recorded.rules.policy.sha256,
        "span": asdict(recorded.span),
        "counts": {"nodes": len(recorded.rules.nodes), "clusters": len(recorded.clusters), "jobs": len(recorded.jobs)},
        "known": {job: str(demand.known) for job, demand in demands.items()},
        "missing": dict(missing),
        "left_out": dict(recorded.left_out),
        "notes": list(recorded.notes),
    }


def refuse_present(folder: Path) -> None:
    """RefusedError when something is where a record shall go."""
    if folder.exists() or folder.is_symlink():
        said = stamp_of(folder / RECORD_FILE)
        what = "exists already" if said is None else f"exists already, a record of the pool {said.get('pool')!r}"
        raise RefusedError(what, where=str(folder), hint="Name a new folder, or move this one away")
