"""What commands may ask of a running controller: checked bodies that become events of the core."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from pydantic import Field, TypeAdapter, ValidationError, field_validator

from fawkes.base.errors import UserError
from fawkes.config.clusters.details import ClusterDetails, JobDetails
from fawkes.config.files.fields import Host, Name
from fawkes.config.files.loader import Strict, wrong
from fawkes.core.values.events import (
    CancelAsked,
    DownAsked,
    DrainAsked,
    Event,
    MoveMastersAsked,
    PauseAsked,
    ReleaseAsked,
    Requested,
    RestoreAsked,
    ResumeAsked,
    RetryAsked,
    Submitted,
    UndrainAsked,
)
from fawkes.core.values.model import JOURNAL_NODES, ClusterId, ClusterSpec, Facts, JobId, JobSpec, NodeId, Promise

Kind = TypeVar("Kind", bound=Strict)
_NAME: TypeAdapter[str] = TypeAdapter(Name)
_WORDING = {
    "missing": "is missing",
    "missing_argument": "is missing",
    "missing_keyword_only_argument": "is missing",
    "extra_forbidden": "is unknown",
    "unexpected_keyword_argument": "is unknown",
}


class Body(Protocol):
    """A checked body; it knows which event it is."""

    def event(self, at_us: int, by: str, ask: str) -> Event:
        """The event of somebody (``by``) asking this; the reply goes to ``ask``."""
        ...


class RequestBody(Strict):
    """``POST /request``: an MR-cluster."""

    spec: ClusterSpec

    @field_validator("spec")
    @classmethod
    def _sound(cls, spec: ClusterSpec) -> ClusterSpec:
        _named(spec.id)
        _at_least(1, min_nodes=spec.min_nodes, replication=spec.replication)
        _at_least(1, max_running_jobs=spec.max_running_jobs, idle_us=spec.idle_us)
        _at_least(spec.min_nodes, max_nodes=spec.max_nodes)
        if spec.masters is Promise.STANDBY:
            _at_least(JOURNAL_NODES, min_nodes=spec.min_nodes)
        _details(ClusterDetails, "request", spec.details)
        return spec

    def event(self, at_us: int, by: str, ask: str) -> Event:
        """Requested."""
        return Requested(at_us=at_us, spec=self.spec, by=by, ask=ask)


class ReleaseBody(Strict):
    """``POST /release``: an MR-cluster given back."""

    cluster: Name
    discard: bool = False
    force: bool = False
    dry_run: bool = False

    def event(self, at_us: int, by: str, ask: str) -> Event:
        """ReleaseAsked."""
        return ReleaseAsked(
            at_us=at_us,
            cluster=ClusterId(self.cluster),
            discard=self.discard,
            force=self.force,
            dry_run=self.dry_run,
            by=by,
            ask=ask,
        )


class DownBody(Strict):
    """``POST /down``: the whole pool given back."""

    discard: bool = False
    force: bool = False
    dry_run: bool = False

    def event(self, at_us: int, by: str, ask: str) -> Event:
        """DownAsked."""
        return DownAsked(at_us=at_us, discard=self.discard, force=self.force, dry_run=self.dry_run, by=by, ask=ask)


class SubmitBody(Strict):
    """``POST /submit``: a job."""

    spec: JobSpec

    @field_validator("spec")
    @classmethod
    def _sound(cls, spec: JobSpec) -> JobSpec:
        _named(spec.id)
        _named(spec.cluster)
        _at_least(0, retries=spec.retries, input_bytes=spec.input_bytes)
        _at_least(1, tasks=spec.tasks, time_limit_us=spec.time_limit_us, reference_us=spec.reference_us)
        _at_least(1, deadline_us=spec.deadline_us, work_us=spec.work_us)
        _details(JobDetails, "submit", spec.details)
        return spec

    def event(self, at_us: int, by: str, ask: str) -> Event:
        """Submitted."""
        return Submitted(at_us=at_us, spec=self.spec, by=by, ask=ask)


class CancelBody(Strict):
    """``POST /cancel``: a job taken back."""

    job: Name

    def event(self, at_us: int, by: str, ask: str) -> Event:
        """CancelAsked."""
        return CancelAsked(at_us=at_us, job=JobId(self.job), by=by, ask=ask)


class PauseBody(Strict):
    """``POST /pause``: no voluntary moves."""

    reason: str = Field(min_length=1, max_length=1000)

    def event(self, at_us: int, by: str, ask: str) -> Event:
        """PauseAsked."""
        return PauseAsked(at_us=at_us, reason=self.reason, by=by, ask=ask)


class ResumeBody(Strict):
    """``POST /resume``: voluntary moves again."""

    def event(self, at_us: int, by: str, ask: str) -> Event:
        """ResumeAsked."""
        return ResumeAsked(at_us=at_us, by=by, ask=ask)


class DrainBody(Strict):
    """``POST /drain``: a node out of service."""

    node: Host
    reason: str = Field(min_length=1, max_length=1000)
    discard: bool = False

    def event(self, at_us: int, by: str, ask: str) -> Event:
        """DrainAsked."""
        node = NodeId(self.node)
        return DrainAsked(at_us=at_us, node=node, reason=self.reason, discard=self.discard, by=by, ask=ask)


class RetryBody(Strict):
    """``POST /retry``: what waits for the next try of a node or an MR-cluster is tried now."""

    subject: Host

    def event(self, at_us: int, by: str, ask: str) -> Event:
        """RetryAsked."""
        return RetryAsked(at_us=at_us, subject=self.subject, by=by, ask=ask)


class UndrainBody(Strict):
    """``POST /undrain``: a node back into service."""

    node: Host

    def event(self, at_us: int, by: str, ask: str) -> Event:
        """UndrainAsked."""
        return UndrainAsked(at_us=at_us, node=NodeId(self.node), by=by, ask=ask)


class RestoreBody(Strict):
    """``POST /restore``: an MR-cluster brought back from its kept copy."""

    cluster: Name
    to: Host | None = None
    dry_run: bool = False

    def event(self, at_us: int, by: str, ask: str) -> Event:
        """RestoreAsked."""
        to = None if self.to is None else NodeId(self.to)
        return RestoreAsked(at_us=at_us, cluster=ClusterId(self.cluster), to=to, dry_run=self.dry_run, by=by, ask=ask)


class MoveMastersBody(Strict):
    """``POST /move-masters``: the masters of an MR-cluster on another of its core nodes."""

    cluster: Name
    to: Host | None = None
    now: bool = False

    def event(self, at_us: int, by: str, ask: str) -> Event:
        """MoveMastersAsked."""
        to = None if self.to is None else NodeId(self.to)
        return MoveMastersAsked(at_us=at_us, cluster=ClusterId(self.cluster), to=to, now=self.now, by=by, ask=ask)


ASKS: Mapping[str, type[Strict]] = {
    "request": RequestBody,
    "release": ReleaseBody,
    "down": DownBody,
    "submit": SubmitBody,
    "cancel": CancelBody,
    "pause": PauseBody,
    "resume": ResumeBody,
    "retry": RetryBody,
    "drain": DrainBody,
    "undrain": UndrainBody,
    "restore": RestoreBody,
    "move-masters": MoveMastersBody,
}


class StopBody(Strict):
    """``POST /stop``, which is not an event: the controller stops, and MR-clusters go on."""


def read_body(verb: str, body: bytes) -> Body:
    """The checked body of a known verb; UserError names the first key that is wrong."""
    checked: Any = _read(ASKS[verb], verb, body)
    read: Body = checked
    return read


def read_stop(body: bytes) -> StopBody:
    """The checked body of a stop; UserError names the key that is wrong."""
    return _read(StopBody, "stop", body)


def _read(kind: type[Kind], verb: str, body: bytes) -> Kind:
    try:
        return kind.model_validate_json(body or b"{}")
    except ValidationError as error:
        raise _explained(verb, error) from None


def _explained(verb: str, error: ValidationError) -> UserError:
    details = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in details["loc"])
    if details["type"] == "fawkes":
        context = details.get("ctx", {})
        return UserError(context["what"], where=_place(verb, key), hint=context["hint"])
    return UserError(_WORDING.get(details["type"], details["msg"]), where=_place(verb, key))


def _place(verb: str, key: str) -> str:
    return f"/{verb}: {key}" if key else f"/{verb}"


def _named(name: str) -> None:
    """Ids become names of folders on nodes: a '/' or '..' must never get that far."""
    try:
        _NAME.validate_python(name)
    except ValidationError as error:
        context = error.errors(include_url=False)[0]["ctx"]
        raise wrong(context["what"], context["hint"]) from None


def _at_least(least: int, **values: int | None) -> None:
    for key, value in values.items():
        if value is not None and value < least:
            raise wrong(f"{key} is {value}", f"It must be at least {least}")


def _details(kind: type[ClusterDetails | JobDetails], verb: str, details: Facts) -> None:
    """What the world could not read must not get into the core, nor what the ledger could not store."""
    try:
        json.dumps(details, allow_nan=False)
        kind.of(details)
    except UserError as error:
        raise UserError(error.what, where=_place(verb, f"spec.{error.where}"), hint=error.hint) from None
    except ValueError:
        raise wrong("details hold a number that is not finite", "JSON knows no NaN and no infinity") from None
