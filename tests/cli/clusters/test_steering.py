"""`fawkes plan`, `hold`, `grow`, `shrink` and `--dry-run`, against the core itself behind the real socket."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Timer

import pytest
from click.testing import CliRunner, Result

from fawkes.cli.main import cli
from fawkes.core.values.effects import Reply
from fawkes.core.values.events import Event, HoldAsked, Reloaded
from fawkes.core.values.model import ClusterId
from fawkes.live.controller.answers import answers
from fawkes.live.controller.control import ControlServer
from fawkes.offline.runs.folder import copied
from fawkes.report.tables.explain import as_plain, explain_plan
from fawkes.store.sqlite import LedgerReader
from tests.cli.conftest import INVENTORY
from tests.support.desk import Desk
from tests.support.pools import policy, settings

Run = Callable[..., Result]


class Core:
    """A controller that has nothing but the core: it decides, and nothing is done."""

    def __init__(self, folder: Path) -> None:
        self.desk = Desk(10, how=settings())
        self.desk.up("a")
        self.desk.up("b", max_nodes=4)
        queries = answers(self.desk.state, lambda: LedgerReader(folder))
        queries["plan"] = lambda _: as_plain(explain_plan(self.desk.engine.foresee(), self.desk.state))
        self.server = ControlServer(
            folder,
            self._post,
            queries,
            lambda: self.desk.now_us,
            stop=lambda by: None,
            rehearse=self.desk.engine.rehearse,
        )

    def _post(self, event: Event) -> None:
        for effect in self.desk.tell(event).effects:
            if isinstance(effect, Reply):
                # The server knows the question only once it was taken.
                Timer(0.01, self.server.reply, (effect,)).start()


@pytest.fixture
def core(tmp_path: Path) -> Iterator[Core]:
    (tmp_path / "inventory.toml").write_text(INVENTORY)
    core = Core(tmp_path / "state")
    yield core
    core.server.close()


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return lambda *words: CliRunner().invoke(cli, ["--site", str(tmp_path), *words])


def test_a_hold_is_shown_wherever_one_looks(run: Run, core: Core) -> None:
    result = run("hold", "a", "--for", "10d", "--reason", "a visit")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("a is held by ")
    assert "a visit" in result.stdout
    assert "a is held (a visit): it keeps its nodes and gets none" in run("plan").stdout
    assert run("unhold", "a").stdout == "a is no longer held\n"
    assert run("unhold", "a").exit_code == 6


def test_a_hold_of_nodes_and_of_nothing(run: Run, core: Core) -> None:
    result = run("hold", "node[09-10]", "--reason", "repair", "-o", "json")
    assert [row["subject"] for row in json.loads(result.stdout)["rows"]] == ["node09", "node10"]
    assert run("hold", "nobody", "--reason", "r").exit_code == 6
    assert run("hold", "a").exit_code == 2
    assert run("hold", "a", "--reason", "r", "--until", "tomorrow").exit_code == 2
    assert run("hold", "a", "--reason", "r", "--until", "2030-01-01", "--for", "1h").exit_code == 2


def test_a_dry_run_of_a_request_says_what_the_controller_would_decide(run: Run, core: Core, tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    for name in ("a", "new"):
        (tmp_path / "clusters" / f"{name}.toml").write_text("min_nodes = 2\nreplication = 2\n")
    result = run("request", "new", "--dry-run")
    assert result.exit_code == 0, result.stderr
    assert "new gets node[05-06] as core nodes" in result.stderr
    assert "new" not in core.desk.state.clusters
    result = run("request", "a", "--dry-run")
    assert result.exit_code == 6
    assert "There is already an MR-cluster a" in result.stderr
    assert (result.stdout, "dry run" in result.stderr) == ("", False), "a refusal stands alone"
    result = run("request", "a", "new", "--dry-run")
    assert (result.exit_code, "new gets node[05-06] as core nodes" in result.stderr) == (4, True)
    core.server.close()
    result = run("request", "a", "--dry-run")
    assert (result.exit_code, "only files were checked" in result.stderr) == (0, True)


def test_a_grow_says_what_joins_and_that_it_is_held(run: Run, core: Core) -> None:
    result = run("grow", "a", "2")
    assert result.exit_code == 0, result.stderr
    assert "2 nodes join a: node[05-06]" in result.stdout
    assert "a is held by" in result.stdout
    assert "grown by hand" in result.stdout
    core.desk.settle("a")
    result = run("shrink", "a", "node05", "-o", "json")
    assert json.loads(result.stdout)["rows"][0]["moved"] == ["node05"]
    assert core.desk.lives("a")["node05"] == "draining"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("grow", "b", "3"), "b holds 2 nodes and may have at most 4 (max_nodes)"),
        (("grow", "a", "node01"), "node01 is serving with a, so it cannot join"),
        (("shrink", "a"), "a holds 2 nodes and keeps at least 2 (min_nodes)"),
        (("shrink", "a", "node01", "--dry-run"), "node01 is a core node of a"),
        (("undrain", "node01", "--dry-run"), "node01 is not out of service"),
    ],
)
def test_what_the_rules_forbid_ends_with_6(run: Run, core: Core, words: tuple[str, ...], text: str) -> None:
    result = run(*words)
    assert result.exit_code == 6
    assert text in result.stderr
    assert core.desk.sizes() == {"a": 2, "b": 2}


@pytest.mark.parametrize("words", [("grow", "a", "0"), ("grow", "c"), ("grow", "a", "100001")])
def test_what_means_nothing_ends_with_2(run: Run, core: Core, words: tuple[str, ...]) -> None:
    assert run(*words).exit_code == 2


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("grow", "a", "2", "--dry-run"), "node[05-06] join a as transient"),
        (("hold", "a", "--reason", "a visit", "--dry-run"), "so that balancing leaves it alone: a visit"),
        (("pause", "--reason", "a visit", "--dry-run"), "Voluntary moves are stopped: a visit"),
        (("resume", "--dry-run"), "Voluntary moves are allowed again"),
        (("move-masters", "a", "--dry-run"), "a"),
    ],
)
def test_a_dry_run_tells_the_decision_and_does_nothing(run: Run, core: Core, words: tuple[str, ...], text: str) -> None:
    steps, before = len(list(core.desk.store.entries())), dict(core.desk.state.nodes)
    result = run(*words)
    assert (result.exit_code, text in result.stdout) == (0, True), result.stderr
    assert "nothing is done" in result.stderr
    assert (len(list(core.desk.store.entries())), core.desk.state.nodes) == (steps, before)
    assert core.desk.state.clusters[ClusterId("a")].hold is None


def test_a_plan_without_a_controller_is_that_of_the_ledger(run: Run, tmp_path: Path) -> None:
    assert run("plan").exit_code == 2
    (tmp_path / "inventory.toml").write_text(INVENTORY)
    desk = Desk(6, how=settings())
    desk.up("a")
    desk.now_s = 15
    desk.sample(a={"tasks_waiting": 30, "jobs_running": 1})
    copied(desk.store, tmp_path / "state")
    result = run("plan")
    assert result.exit_code == 0, result.stderr
    assert "node[03-06] join a as transient" in result.stdout
    assert "tick, 1, is due" in result.stdout


def test_status_shows_holds_and_what_changed_in_the_settings(run: Run, tmp_path: Path) -> None:
    (tmp_path / "inventory.toml").write_text(INVENTORY)
    desk = Desk(4, how=settings())
    desk.up("a")
    assert "settings changed" not in _status(run, desk, tmp_path / "before")
    for subject in ("a", "node04"):
        desk.tell(HoldAsked(at_us=desk.now_us, subject=subject, reason="a visit", by="ann"))
    desk.tell(Reloaded(at_us=desk.now_us, settings=settings(confirmations=4), policy=policy()))
    shown = _status(run, desk, tmp_path / "state")
    assert "a is held by ann until `fawkes unhold`: a visit" in shown
    assert "node04 is held by ann until `fawkes unhold`: a visit" in shown
    assert "settings changed: confirmations: 1 -> 4 (since " in shown


def _status(run: Run, desk: Desk, folder: Path) -> str:
    copied(desk.store, folder)
    if folder.name != "state":
        folder.rename(folder.parent / "state")
    shown = run("status").stdout
    if folder.name != "state":
        (folder.parent / "state").rename(folder)
    return " ".join(shown.split())
