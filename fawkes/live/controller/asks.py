"""Requests to a running controller: checked bodies that become events of the core, and a description of all."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from http import HTTPStatus
from typing import Annotated, Any, NamedTuple, TypeVar, get_type_hints

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError, create_model
from pydantic.json_schema import models_json_schema

from fawkes.base.errors import UserError
from fawkes.base.version import __version__
from fawkes.config.clusters.clusters import refuse_unsound_cluster
from fawkes.config.clusters.details import ClusterDetails, JobDetails
from fawkes.config.files.fields import Host, Line, Name
from fawkes.config.files.loader import Strict, wrong
from fawkes.config.jobs.submitted import refuse_unsound
from fawkes.core.values.events import ASKS, Event
from fawkes.core.values.model import (
    JOURNAL_NODES,
    ClusterId,
    ClusterSpec,
    Facts,
    JobId,
    JobSpec,
    NodeId,
    Promise,
)
from fawkes.live.base.timers import STEP_US
from fawkes.live.controller.access import rank_to_act, rank_to_see

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
    refuse_unsound_cluster(spec, "/request")
    return spec


def _sound_job(spec: JobSpec) -> JobSpec:
    _named(spec.id)
    _named(spec.cluster)
    _at_least(0, retries=spec.retries, input_bytes=spec.input_bytes)
    _at_least(1, tasks=spec.tasks, time_limit_us=spec.time_limit_us, reference_us=spec.reference_us)
    _at_least(1, deadline_us=spec.deadline_us, work_us=spec.work_us)
    _details(JobDetails, "submit", spec.details)
    refuse_unsound(spec, "/submit")
    return spec


#: how a field of an event is checked when it comes from outside: by its type, else by its name
_CHECKED: Mapping[Any, Any] = {
    ClusterId: Name,
    JobId: Name,
    NodeId: Host,
    NodeId | None: Host | None,
    ClusterSpec: Annotated[ClusterSpec, AfterValidator(_sound_cluster)],
    JobSpec: Annotated[JobSpec, AfterValidator(_sound_job)],
    "reason": Annotated[Line, Field(min_length=1, max_length=1000)],
    "subject": Host,
    "count": Annotated[int, Field(ge=1, le=100_000)],
    "until_us": Annotated[int, Field(ge=0, le=10**17)],
}
#: what the controller adds
_OWN = ("at_us", "by", "ask")


@cache
def _body(verb: str) -> type[Strict]:
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
        """The event of somebody (``by``) asking this; the reply goes to ``ask``.

        People name the end of a hold by the machine's clock: our time may be ahead of it, after it was set back.
        """
        kind: Any = ASKS[self.verb]
        ahead_us = at_us - time.time_ns() // 1000
        values = dict(self.values)
        if values.get("until_us") and ahead_us > STEP_US:
            values["until_us"] += ahead_us
        event: Event = kind(at_us=at_us, by=by, ask=ask, **values)
        return event


class StopBody(Strict):
    """``POST /stop``, which is not an event: the controller stops, and MR-clusters go on."""


def read_body(verb: str, body: bytes) -> Body:
    """The checked body of a known verb; UserError names the first key that is wrong."""
    return Body(verb, dict(_read(_body(verb), verb, body)))


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


_ROWS = {"type": "array", "items": {"type": "object"}}
_OBJECT = {"type": "object"}
_TEXT = {"type": "string"}
_REF = "#/components/schemas/"


class ControllerQuestion(NamedTuple):
    """A question to the controller; ``takes`` are its parameters, with ``?`` those that may be left out.

    ``kind`` is the schema of the answer; None: a line of JSON for each piece.
    """

    summary: str
    takes: str = ""
    kind: Mapping[str, Any] | None = _ROWS


QUERIES: Mapping[str, ControllerQuestion] = {
    "clusters": ControllerQuestion("The rows of `fawkes status`.", "cluster?"),
    "jobs": ControllerQuestion(
        "The rows of `fawkes jobs` of jobs that have not ended; with `job` that of one, ended or not.", "job? cluster?"
    ),
    "nodes": ControllerQuestion("The rows of `fawkes nodes`.", "node?"),
    "board": ControllerQuestion("Rows of the reading commands, for users who may not read the ledger.", "of"),
    "end": ControllerQuestion("The user who released the whole pool, and whether it has ended.", kind=_OBJECT),
    "at-stake": ControllerQuestion("Files of an MR-cluster, or of all, that a release would save or lose.", "cluster?"),
    "env": ControllerQuestion("The configuration with which users' tools reach an MR-cluster.", "cluster", _OBJECT),
    "config": ControllerQuestion(
        "The configuration of a node, and with `running` how its daemons run.", "cluster node? running?", _OBJECT
    ),
    "logs": ControllerQuestion("Logs of an MR-cluster.", "cluster node? job? lines?", None),
    "history": ControllerQuestion("Hadoop's history of an attempt of a job.", "cluster job attempt application?", None),
    "spark-events": ControllerQuestion("Lines of the event log of a Spark application.", "cluster application", None),
    "restore": ControllerQuestion("The kept copy of an MR-cluster, as a node could use it.", "cluster to", None),
    "copies": ControllerQuestion("The age of the kept copy of each MR-cluster.", "cluster?"),
    "plan": ControllerQuestion("The next tick, and why.", kind=_OBJECT),
    "ledger": ControllerQuestion("Whether the controller decides and stores.", kind=_OBJECT),
    "releases": ControllerQuestion("Releases of Hadoop on the controller's machine.", kind=_OBJECT),
    "openapi": ControllerQuestion("This description.", kind=_OBJECT),
}
"""All queries of a controller (``GET /NAME``)."""

_FAILED = (HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.GATEWAY_TIMEOUT)
_MORE = {"reload": "Read the settings again.", "stop": "End the controller; MR-clusters go on."}


def _object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": [*properties], "properties": properties}


_SAID = _object(code=_TEXT, facts=_OBJECT)
_SCHEMAS: Mapping[str, Any] = {
    "Reply": _object(
        ok={"type": "boolean"},
        refused={**_SAID, "type": ["object", "null"]},
        facts=_OBJECT,
        says={"type": "array", "items": _TEXT, "description": "Why it is refused, or what would be decided, in words"},
    ),
    "Error": _object(error=_object(what=_TEXT, where=_TEXT, hint=_TEXT, exit={"type": "integer"})),
}


@cache
def described(base: str = "", *more: HTTPStatus) -> dict[str, Any]:
    """The description of all verbs and queries (OpenAPI 3.1), with ``base`` before each path.

    ``more`` are further errors of whoever passes requests on.
    """
    bodies: dict[str, type[Strict]] = {**{verb: _body(verb) for verb in ASKS}, **dict.fromkeys(_MORE, StopBody)}
    refs, shared = models_json_schema([(body, "validation") for body in bodies.values()], ref_template=_REF + "{model}")
    errors = {str(int(each)): _answer(each.phrase, {"$ref": f"{_REF}Error"}) for each in (*_FAILED, *more)}
    paths: dict[str, dict[str, Any]] = {}
    for verb, body in bodies.items():
        paths.setdefault(f"{base}/{verb}", {})["post"] = _act(verb, refs[body, "validation"], errors)
    for name, query in QUERIES.items():
        paths.setdefault(f"{base}/{name}", {})["get"] = _look(name, query, errors)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Fawkes", "version": __version__, "description": "Reads a pool, and acts on it."},
        "paths": paths,
        "components": {"schemas": {**shared["$defs"], **_SCHEMAS}},
    }


def _answer(text: str, schema: Mapping[str, Any], kind: str = "application/json") -> dict[str, Any]:
    return {"description": text, "content": {kind: {"schema": schema}}}


def asks_masters(verb: str) -> bool:
    """True for a verb whose dry run first asks the masters: its body says that it is one."""
    return "dry_run" in getattr(ASKS.get(verb), "__dataclass_fields__", {})


def _act(verb: str, schema: Mapping[str, Any], errors: Mapping[str, Any]) -> dict[str, Any]:
    kind, reply = ASKS.get(verb), {"$ref": f"{_REF}Reply"}
    dry = {"name": "dry_run", "in": "query", "schema": {"const": "1"}, "description": "1: do nothing"}
    return {
        "operationId": f"act-{verb}",
        "summary": _MORE[verb] if kind is None else (kind.__doc__ or "").partition("\n")[0].replace("``", "`"),
        "x-role": rank_to_act(kind).name.lower(),
        "parameters": [] if asks_masters(verb) else [dry],
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "responses": {
            "200": _answer("It is done, begun, or would be", reply),
            "409": _answer("The controller refuses it, and says why", reply),
            **errors,
        },
    }


def _look(name: str, query: ControllerQuestion, errors: Mapping[str, Any]) -> dict[str, Any]:
    pieces = _answer("A line of JSON for each piece", {}, "application/x-ndjson")
    return {
        "operationId": f"see-{name}",
        "summary": query.summary,
        "x-role": rank_to_see(name).name.lower(),
        "parameters": [
            {"name": each.rstrip("?"), "in": "query", "required": not each.endswith("?"), "schema": _TEXT}
            for each in query.takes.split()
        ],
        "responses": {"200": pieces if query.kind is None else _answer("The answer", query.kind), **errors},
    }
