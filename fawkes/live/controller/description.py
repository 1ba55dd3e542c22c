"""The description of the controller's API (OpenAPI 3.1), made of the tables of events, bodies, queries and ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from http import HTTPStatus
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from fawkes.base.version import __version__
from fawkes.core.values.events import ASKS
from fawkes.core.values.model import Plain
from fawkes.live.controller.access import rank_to_act, rank_to_see
from fawkes.live.controller.asks import StopBody, body_of

_ROWS = {"type": "array", "items": {"type": "object"}}
_OBJECT = {"type": "object"}
_TEXT = {"type": "string"}
_JSON, _LINES = "application/json", "application/x-ndjson"
_REF = "#/components/schemas/"


class Query(NamedTuple):
    """A question to the controller; ``takes`` are its parameters, with ``?`` those that may be left out.

    ``kind`` is the schema of the answer; None: a line of JSON for each piece.
    """

    summary: str
    takes: str = ""
    kind: Mapping[str, Any] | None = _ROWS


QUERIES: Mapping[str, Query] = {
    "clusters": Query("The rows of `fawkes status`.", "cluster?"),
    "jobs": Query("The rows of `fawkes jobs`.", "job? cluster?"),
    "nodes": Query("The rows of `fawkes nodes`.", "node?"),
    "board": Query("Rows of the reading commands, for users who may not read the ledger.", "of"),
    "end": Query("The user who released the whole pool, and whether it has ended.", kind=_OBJECT),
    "at-stake": Query("Files of an MR-cluster, or of all, that a release would save or lose.", "cluster?"),
    "env": Query("The configuration with which users' tools reach an MR-cluster.", "cluster", _OBJECT),
    "logs": Query("Logs of an MR-cluster.", "cluster node? job? lines?", None),
    "history": Query("Hadoop's history of an attempt of a job.", "cluster job attempt application?", None),
    "restore": Query("The kept copy of an MR-cluster, as a node could use it.", "cluster to", None),
    "copies": Query("The age of the kept copy of each MR-cluster.", "cluster?"),
    "plan": Query("The next tick, and why.", kind=_OBJECT),
    "ledger": Query("Whether the controller decides and stores.", kind=_OBJECT),
    "releases": Query("Releases of Hadoop on the controller's machine.", kind=_OBJECT),
    "openapi": Query("This description.", kind=_OBJECT),
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
    """The description, with ``base`` before each path; ``more`` are further errors of whoever passes requests on."""
    bodies: dict[str, type[BaseModel]] = {**{verb: body_of(verb) for verb in ASKS}, **dict.fromkeys(_MORE, StopBody)}
    refs, shared = models_json_schema([(body, "validation") for body in bodies.values()], ref_template=_REF + "{model}")
    paths: dict[str, dict[str, Any]] = {}
    for verb, body in bodies.items():
        paths.setdefault(f"{base}/{verb}", {})["post"] = _act(verb, refs[body, "validation"], more)
    for name, query in QUERIES.items():
        paths.setdefault(f"{base}/{name}", {})["get"] = _look(name, query, more)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Fawkes", "version": __version__, "description": "Reads a pool, and acts on it."},
        "paths": paths,
        "components": {"schemas": {**shared["$defs"], **_SCHEMAS}},
    }


def _act(verb: str, schema: Mapping[str, Any], more: tuple[HTTPStatus, ...]) -> dict[str, Any]:
    kind = ASKS.get(verb)
    reply = {_JSON: {"schema": {"$ref": f"{_REF}Reply"}}}
    dry_run = {"name": "dry_run", "in": "query", "schema": {"const": "1"}, "description": "1: only ask, do nothing"}
    return {
        "operationId": f"act-{verb}",
        "summary": _MORE[verb] if kind is None else (kind.__doc__ or "").partition("\n")[0].replace("``", "`"),
        "x-role": rank_to_act(kind).name.lower(),
        "parameters": [dry_run],
        "requestBody": {"required": True, "content": {_JSON: {"schema": schema}}},
        "responses": {
            "200": {"description": "It is done, begun, or would be", "content": reply},
            "409": {"description": "The controller refuses it, and says why", "content": reply},
            **dict(_errors(more)),
        },
    }


def _look(name: str, query: Query, more: tuple[HTTPStatus, ...]) -> dict[str, Any]:
    content: Plain = {_LINES: {}} if query.kind is None else {_JSON: {"schema": query.kind}}
    return {
        "operationId": f"see-{name}",
        "summary": query.summary,
        "x-role": rank_to_see(name).name.lower(),
        "parameters": [
            {"name": each.rstrip("?"), "in": "query", "required": not each.endswith("?"), "schema": _TEXT}
            for each in query.takes.split()
        ],
        "responses": {"200": {"description": "The answer", "content": content}, **dict(_errors(more))},
    }


def _errors(more: tuple[HTTPStatus, ...]) -> Iterator[tuple[str, Any]]:
    content = {_JSON: {"schema": {"$ref": f"{_REF}Error"}}}
    for status in (*_FAILED, *more):
        yield str(int(status)), {"description": status.phrase, "content": content}
