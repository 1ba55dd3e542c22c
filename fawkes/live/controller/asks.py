"""Requests of commands to a running controller: checked bodies that become events of the core."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Annotated, Any, TypeVar, get_type_hints

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError, create_model

from fawkes.base.errors import UserError
from fawkes.config.clusters.details import ClusterDetails, JobDetails
from fawkes.config.files.fields import Host, Name
from fawkes.config.files.loader import Strict, wrong
from fawkes.core.values.events import ASKS, Event
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


def _sound_cluster(spec: ClusterSpec) -> ClusterSpec:
    _named(spec.id)
    _at_least(1, min_nodes=spec.min_nodes, replication=spec.replication)
    _at_least(1, max_running_jobs=spec.max_running_jobs, idle_us=spec.idle_us)
    _at_least(spec.min_nodes, max_nodes=spec.max_nodes)
    if spec.masters is Promise.STANDBY:
        _at_least(JOURNAL_NODES, min_nodes=spec.min_nodes)
    _details(ClusterDetails, "request", spec.details)
    return spec


def _sound_job(spec: JobSpec) -> JobSpec:
    _named(spec.id)
    _named(spec.cluster)
    _at_least(0, retries=spec.retries, input_bytes=spec.input_bytes)
    _at_least(1, tasks=spec.tasks, time_limit_us=spec.time_limit_us, reference_us=spec.reference_us)
    _at_least(1, deadline_us=spec.deadline_us, work_us=spec.work_us)
    _details(JobDetails, "submit", spec.details)
    return spec


#: how a field of an event is checked when it comes from outside: by its type, else by its name
_CHECKED: Mapping[Any, Any] = {
    ClusterId: Name,
    JobId: Name,
    NodeId: Host,
    NodeId | None: Host | None,
    ClusterSpec: Annotated[ClusterSpec, AfterValidator(_sound_cluster)],
    JobSpec: Annotated[JobSpec, AfterValidator(_sound_job)],
    "reason": Annotated[str, Field(min_length=1, max_length=1000)],
    "subject": Host,
    "count": Annotated[int, Field(ge=1, le=100_000)],
    "until_us": Annotated[int, Field(ge=0, le=10**17)],
}
#: what the controller adds
_OWN = ("at_us", "by", "ask")


@cache
def body_of(verb: str) -> type[Strict]:
    """The model of the body of a verb: the fields of its event, but for those that the controller adds."""
    kind = ASKS[verb]
    types = get_type_hints(kind)
    made: dict[str, Any] = {
        each.name: (
            _CHECKED.get(types[each.name]) or _CHECKED.get(each.name, types[each.name]),
            ... if each.default is MISSING else each.default,
        )
        for each in fields(kind)
        if each.name not in _OWN
    }
    return create_model(f"{kind.__name__}Body", __base__=Strict, **made)


@dataclass(frozen=True)
class Body:
    """A checked body of a verb."""

    verb: str
    values: Mapping[str, Any]

    def event(self, at_us: int, by: str, ask: str) -> Event:
        """The event of somebody (``by``) asking this; the reply goes to ``ask``."""
        kind: Any = ASKS[self.verb]
        event: Event = kind(at_us=at_us, by=by, ask=ask, **self.values)
        return event


class StopBody(Strict):
    """``POST /stop``, which is not an event: the controller stops, and MR-clusters go on."""


def read_body(verb: str, body: bytes) -> Body:
    """The checked body of a known verb; UserError names the first key that is wrong."""
    return Body(verb, dict(_read(body_of(verb), verb, body)))


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
    """Refuses details that the world could not read or the ledger could not store, before they get into the core."""
    try:
        json.dumps(details, allow_nan=False)
        kind.of(details)
    except UserError as error:
        raise UserError(error.what, where=_place(verb, f"spec.{error.where}"), hint=error.hint) from None
    except ValueError:
        raise wrong("details hold a number that is not finite", "JSON knows no NaN and no infinity") from None
