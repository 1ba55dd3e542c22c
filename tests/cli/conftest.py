"""A site folder, a controller with a world of a few rows behind the real socket, and a way to run `fawkes`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fawkes.base.errors import FawkesError
from fawkes.cli.main import cli
from fawkes.core.values.decision import Decision
from fawkes.core.values.effects import Reply
from fawkes.core.values.events import DownAsked, DrainAsked, Event, ReleaseAsked, Requested, Submitted
from fawkes.core.values.model import Plain, Reason
from fawkes.live.controller.control import ControlServer
from fawkes.offline.runs.folder import copied
from tests.support.desk import Desk

Run = Callable[..., Result]

INVENTORY = """
pool = "pool-1"
[ssh]
allow_root = true

[[group]]
name = "rack1"
nodes = "node[01-05]"
site = "lab"
cores = 2
memory = "2GB"
disk = "10GB"
work_dir = "/srv/fawkes"
software_dir = "/srv/fawkes/dist"
user = "root"
"""


class World:
    """The knowledge and the acts of a controller: answers requests at once; lives go on when somebody looks."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.rehearsed: list[Any] = []
        self.stopped_by: list[str] = []
        self.ended = False
        self.refuse: Reason | None = None
        self.refusals: dict[str, Reason] = {}
        self.kept: list[Reason] = []
        self.going = False
        self.forgetful = False
        self.facts: dict[str, Any] = {}
        self.clusters: dict[str, dict[str, Any]] = {}
        self.jobs: dict[str, dict[str, Any]] = {}
        self.nodes = {f"node0{n}": node(f"node0{n}") for n in range(1, 6)}
        self.outputs: list[dict[str, Any]] = []
        self.then: dict[str, list[dict[str, Any]]] = {}
        self.log_pieces: list[Any] = []
        self.env: dict[str, Any] = {}
        self.releases: dict[str, Any] = {
            "folder": "/var/cache/fawkes/dist",
            "releases": ["3.5.0", "doors"],
            "acts": True,
        }
        self.asked: list[Mapping[str, str]] = []
        self.server: ControlServer | None = None

    def queries(self) -> dict[str, Callable[[Mapping[str, str]], Plain]]:
        return {
            "clusters": lambda query: self._seen(self.clusters, query.get("cluster")),
            "jobs": lambda query: self._seen(self.jobs, query.get("job")),
            "nodes": lambda query: self._seen(self.nodes, query.get("node")),
            "end": lambda _: {"asked_by": "ann" if self.going else "", "ended": self.ended},
            "at-stake": lambda query: [row for row in self.outputs if query.get("cluster") in (None, row["cluster"])],
            "env": lambda _: self.env,
            "releases": lambda _: self.releases,
            "logs": self._logs,
            "restore": self._logs,
            "spark-events": self._logs,
        }

    def later(self, name: str, *changes: dict[str, Any]) -> None:
        """After each look at a row it changes once more."""
        self.then[name] = list(changes)

    def post(self, event: Event) -> None:
        self.events.append(event)
        request: Any = event
        self._act(event)
        refusal = self.refusals.get(getattr(request, "cluster", ""), self.refuse)
        if isinstance(event, DownAsked) and self.kept:
            refusal = Reason("pool-kept", {"refusals": [{"code": r.code, "facts": r.facts} for r in self.kept]})
        reply = Reply(request.ask, refusal, self.facts)
        assert self.server is not None
        threading.Thread(target=self.server.reply, args=(reply,)).start()

    def rehearse(self, event: Event) -> Decision:
        self.rehearsed.append(event)
        refusal = self.refusals.get(getattr(event, "cluster", ""), self.refuse)
        return Decision(effects=(Reply("dry-run", refusal, {}),))

    def stop(self, by: str) -> None:
        self.stopped_by.append(by)
        assert self.server is not None
        threading.Thread(target=self.server.close).start()

    def _act(self, event: Event) -> None:
        refused = self.refuse is not None or getattr(event, "cluster", "") in self.refusals
        if refused or (isinstance(event, ReleaseAsked | DownAsked) and event.dry_run):
            return
        if isinstance(event, DownAsked) and not self.kept:
            self.going, self.forgetful = not self.forgetful, False
            for name in [name for name in self.clusters if name not in self.then]:
                self.clusters[name]["state"] = "gone"
        if isinstance(event, Requested):
            self.clusters[event.spec.id] = cluster(event.spec.id, state="waiting", nodes=0)
        elif isinstance(event, Submitted):
            self.jobs[event.spec.id] = job(event.spec.id, cluster=event.spec.cluster)
        elif isinstance(event, ReleaseAsked) and event.cluster not in self.then:
            self.clusters[event.cluster]["state"] = "gone"
        elif isinstance(event, DrainAsked):
            out = {} if event.node in self.then else {"state": "out"}
            self.nodes[event.node].update(keep_out=event.reason, **out)

    def _seen(self, rows: Mapping[str, dict[str, Any]], only: str | None) -> list[dict[str, Any]]:
        names = [name for name in rows if only in (None, name)]
        seen = [dict(rows[name]) for name in names]
        for name in names:
            if self.then.get(name):
                rows[name].update(self.then[name].pop(0))
        self._end_when_empty()
        return seen

    def _end_when_empty(self) -> None:
        """Ends the controller, as the core does, when the pool was given back and nothing is left."""
        left = any(row["state"] != "gone" for row in self.clusters.values())
        unclean = any(row["state"] in ("cleaning", "lost") for row in self.nodes.values())
        if self.going and not self.ended and not left and not unclean:
            self.ended = True
            assert self.server is not None
            ending = Desk(1)
            ending.tell(DownAsked(at_us=1, ask="down"))
            copied(ending.store, self.server.folder)
            threading.Thread(target=self.server.close).start()

    def _logs(self, query: Mapping[str, str]) -> Iterator[Plain]:
        self.asked.append(query)
        for piece in self.log_pieces:
            if isinstance(piece, FawkesError):
                raise piece
            yield piece


def cluster(name: str, **facts: Any) -> dict[str, Any]:
    row = {"cluster": name, "state": "running", "failed": "", "alert": "", "nodes": 3}
    return row | {"jobs_started": 0, "jobs_queued": 0} | facts


def job(name: str, **facts: Any) -> dict[str, Any]:
    row = {"job": name, "cluster": "c-1", "state": "queued", "attempt": 1, "why": "", "log": ""}
    return row | {"wait_s": None, "run_s": None} | facts


def node(name: str, **facts: Any) -> dict[str, Any]:
    return {"node": name, "state": "free", "cluster": None, "role": None, "alert": "", "keep_out": ""} | facts


def output(name: str, path: str, **facts: Any) -> dict[str, Any]:
    row = {"cluster": name, "path": path, "bytes": 1_500_000_000, "files": 3, "owner": "alice"}
    return row | {"save_to": "/keep/out", "saved": False} | facts


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "inventory.toml").write_text(INVENTORY)
    (tmp_path / "clusters").mkdir()
    (tmp_path / "clusters" / "c-1.toml").write_text("min_nodes = 2\nreplication = 2\n")
    return tmp_path


@pytest.fixture
def world(site: Path) -> Iterator[World]:
    world = World()
    world.server = ControlServer(
        site / "state", world.post, world.queries(), lambda: 7, stop=world.stop, rehearse=world.rehearse
    )
    yield world
    world.server.close()


@pytest.fixture
def run(site: Path) -> Callable[..., Result]:
    def run_fawkes(*words: str, answers: str | None = None) -> Result:
        return CliRunner().invoke(cli, ["--site", str(site), *words], input=answers)

    return run_fawkes


@pytest.fixture
def loaded(world: World) -> World:
    """Two MR-clusters, one with data."""
    world.clusters = {"c-1": cluster("c-1"), "c-2": cluster("c-2")}
    world.outputs = [output("c-1", "/out"), output("c-1", "/tmp", save_to="", bytes=None, files=None, owner=None)]
    return world


@pytest.fixture(autouse=True)
def _as_wide_as_it_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are as wide as a terminal says, and pytest's workers say something of their own."""
    monkeypatch.delenv("COLUMNS", raising=False)
