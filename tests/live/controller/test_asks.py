"""The description of the API: a validator takes it, it has all verbs and queries, and answers are as it says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from openapi_spec_validator import validate

from fawkes.base.units import SECOND_US
from fawkes.core.values.events import ASKS
from fawkes.live.controller import access
from fawkes.live.controller.answers import answers
from fawkes.live.controller.asks import QUERIES, described, read_body
from fawkes.live.controller.data_answers import DataAnswers
from fawkes.live.controller.restoring import Restorer
from fawkes.report.web.acting import STATUSES
from fawkes.report.web.app import openapi
from tests.live.controller.test_control import Controller, get

NOTHING = cast(Any, None)


@pytest.mark.parametrize("base", ["", "/api"])
def test_a_validator_takes_the_description(base: str) -> None:
    validate(described(base, *STATUSES))


def test_a_validator_takes_the_description_of_the_page() -> None:
    validate(cast(Mapping[Any, Any], openapi()))


def test_every_verb_is_described_with_its_fields() -> None:
    said = described()
    posts = {path[1:]: item["post"] for path, item in said["paths"].items() if "post" in item}
    assert posts.keys() == {*ASKS, "reload", "stop"}
    for verb, kind in ASKS.items():
        schema = posts[verb]["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        fields = said["components"]["schemas"][schema.rpartition("/")[2]]["properties"]
        assert {*fields, "at_us", "by", "ask"} == set(kind.__dataclass_fields__), verb
        assert posts[verb]["summary"], verb


def test_every_query_is_described() -> None:
    data = DataAnswers(*[NOTHING] * 7)
    restorer = Restorer(*[NOTHING] * 7)
    there = {*answers(NOTHING, NOTHING), *data.queries(), *restorer.queries(), "plan", "ledger", "releases", "openapi"}
    assert QUERIES.keys() == there
    gets = {path[1:] for path, item in described()["paths"].items() if "get" in item}
    assert gets == there
    assert there >= access._VIEWS | access._OWN_VIEWS


@pytest.mark.parametrize("ahead_s", [-3600, 0, 3600])
@pytest.mark.parametrize(
    ("verb", "more"),
    [("hold", {"subject": "a", "reason": "disk"}), ("grow", {"cluster": "a"}), ("shrink", {"cluster": "a"})],
)
def test_the_end_of_a_hold_comes_as_late_as_people_say(
    monkeypatch: pytest.MonkeyPatch, verb: str, more: Mapping[str, str], ahead_s: int
) -> None:
    """Our time is ahead of the machine's clock after that was set back; a clock that was set ahead is told soon."""
    wall_us = 10**6 * SECOND_US
    monkeypatch.setattr("fawkes.live.controller.asks.time.time_ns", lambda: wall_us * 1000)
    body = read_body(verb, json.dumps({**more, "until_us": wall_us + 1800 * SECOND_US}).encode())
    event: Any = body.event(wall_us + ahead_s * SECOND_US, "ann", "q")
    assert event.until_us == wall_us + (1800 + max(0, ahead_s)) * SECOND_US
    endless: Any = read_body(verb, json.dumps(more).encode()).event(wall_us + 3600 * SECOND_US, "ann", "q")
    assert endless.until_us == 0


def test_the_controller_gives_it(tmp_path: Path) -> None:
    controller = Controller(tmp_path)
    try:
        assert get(tmp_path, "/openapi") == (200, described())
    finally:
        controller.server.close()


def test_the_roles_are_those_that_are_asked_for() -> None:
    paths = described()["paths"]
    assert paths["/hold"]["post"]["x-role"] == "operator"
    assert paths["/stop"]["post"]["x-role"] == "operator"
    assert paths["/submit"]["post"]["x-role"] == "user"
    assert paths["/env"]["get"]["x-role"] == "user"
    assert paths["/nodes"]["get"]["x-role"] == "viewer"
    assert paths["/end"]["get"]["x-role"] == "operator"
