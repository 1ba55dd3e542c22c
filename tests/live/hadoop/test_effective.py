"""The configuration of a node as it is written and as its daemons have it."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from fawkes.core.values.model import NodeId, Role
from fawkes.live.hadoop import effective
from tests.support.stub import Stub, stub_master

NODE = NodeId("node1")
SECRET_FILE = """<configuration>
  <property>
    <name>ssl.server.keystore.password</name>
    <value>hunter2</value>
  </property>
  <property>
    <name>ssl.server.keystore.location</name>
    <value>/there</value>
  </property>
</configuration>
"""


@pytest.fixture
def server() -> Iterator[Stub]:
    with stub_master() as stub:
        yield stub


def setup_with(**more: Any) -> Any:
    return SimpleNamespace(**more)


def test_keys_and_passwords_are_never_shown() -> None:
    files = {
        "doors.key": "k3y\n",
        "fawkes-doors.jar": b"PK",
        "ssl-server.xml": SECRET_FILE,
        "hadoop-env.sh": "export A=1\n",
    }
    texts = effective.written(setup_with(files=lambda *_: files), setup_with(), NODE, Role.CORE)
    assert list(texts) == ["hadoop-env.sh", "ssl-server.xml"]
    assert "hunter2" not in texts["ssl-server.xml"]
    assert "<value>/there</value>" in texts["ssl-server.xml"]
    assert "&lt;redacted&gt;" in texts["ssl-server.xml"]


def test_daemons_tell_how_they_run_and_one_that_does_not_is_not_known(
    server: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        {"key": "a", "value": "1", "resource": "hdfs-site.xml"},
        {"key": "b", "value": "node1:1", "resource": "programmatically"},
    ]
    server.answers = {"/conf": {"properties": rows}}
    port = urlsplit(server.url).port
    daemons = {"namenode": (port, ()), "datanode": (1, ()), "nodemanager": (port, ())}
    monkeypatch.setattr(effective, "DAEMONS", daemons)
    names = [SimpleNamespace(name=name) for name in ("namenode", "datanode", "nodemanager", "sshd")]
    setup = setup_with(daemons=lambda *_: names, masters=lambda *_: SimpleNamespace(key="k"))
    said = effective.running(setup, setup_with(), NODE, Role.CORE, "127.0.0.1")
    assert said == {"namenode": {"a": "1", "b": None}, "datanode": None, "nodemanager": {"a": "1", "b": None}}
    server.answers = {"/conf": {"rows": []}}
    said = effective.running(setup, setup_with(), NODE, Role.CORE, "127.0.0.1")
    assert set(said.values()) == {None}
