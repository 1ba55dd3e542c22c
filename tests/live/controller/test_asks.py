"""The description of the API: a validator takes it, it has all verbs and queries, and answers are as it says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from openapi_spec_validator import validate

from fawkes.base.errors import ConfigError
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


@pytest.mark.parametrize(
    ("details", "message"),
    [
        ({"title": "x\x1b[2J"}, "title: the text has characters"),
        ({"block_size_bytes": -5}, "block_size"),
        ({"hadoop": {"../x": {"a": "b"}}}, "hadoop: there is no configuration file"),
        ({"hadoop": {"core-site": {"hadoop.security.authorization": "false"}}}, "hadoop.core-site: .* cannot be"),
        ({"hadoop": {"hdfs-site": {"dfs.name.dir": "/x"}}}, "hadoop.hdfs-site: .* cannot be"),
        ({"roles": {"core": {"yarn-site": {"yarn.nodemanager.hostname": "x"}}}}, "role.core.hadoop.yarn-site"),
        ({"clients": ["0.0.0.0/0 evil\nline"]}, r"clients\[#1\]"),
        ({"release_dir": "/x\ny", "hadoop_version": ""}, "release_dir"),
        ({"release_dir": "/x"}, "release_dir: hadoop_version and release_dir are both given"),
        ({"hadoop_version": "../../../tmp/x"}, "hadoop_version"),
        ({"software": ["../../x"]}, r"software\[#1\]"),
        ({"heap_bytes": {"namenode": -1}}, "heap.namenode"),
        ({"heap_bytes": {"gateway": 1}}, "heap.gateway"),
        ({"leftovers": "bogus"}, "leftovers"),
        ({"run_as": "5"}, "run_as: '5' cannot be a user name"),
        ({"run_as": "+5"}, r"run_as: '\+5' cannot be a user name"),
        ({"run_as": "root"}, "run_as: jobs of root own their nodes"),
        ({"security": "bogus"}, "security"),
        ({"kerberos_users": ["a/b@C\nRULE:[1:$1]"], "security": "kerberos"}, "kerberos_users"),
        ({"outputs": [{"path": "../x", "save_to": "hdfs://x/y"}]}, r"outputs\[#1\].path"),
        ({"outputs": [{"path": "/x", "save_to": "webhdfs://../../x"}]}, "outputs.save_to: 'webhdfs:"),
        ({"outputs": [{"path": "/x", "save_to": "hdfs:x"}]}, "outputs.save_to: 'hdfs:x' is neither"),
        ({"data": [{"source": "x", "to": "/in"}]}, "data.from: 'x' is neither an absolute path nor a URL"),
        ({"data": [{"source": "webhdfs://a@b:9870/x", "to": "/in"}]}, r"data\[#1\].from: .* is no folder of an HDFS"),
        ({"titel": "x"}, "spec.details.titel: is unknown. Did you mean 'title'"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_a_body_says_nothing_that_no_file_of_an_mr_cluster_could(details: Mapping[str, Any], message: str) -> None:
    spec = {"id": "c", "min_nodes": 1, "replication": 1, "details": {"hadoop_version": "3.5.0", **details}}
    with pytest.raises(ConfigError, match=f"/request: {message}"):
        read_body("request", json.dumps({"spec": spec}).encode())
