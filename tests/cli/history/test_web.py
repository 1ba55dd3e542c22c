"""`fawkes web` of a site with ``[web]``, as a process: tokens act over the controller's real socket, by their roles."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import requests

from fawkes.base.units import SECOND_US
from fawkes.cli.asking import client
from fawkes.cli.history.web import _idle, passed
from fawkes.config.settings.tokens import Token
from fawkes.config.site.site import Site
from fawkes.core.values.events import HoldAsked, PauseAsked, ReleaseAsked
from fawkes.core.values.model import Reason
from fawkes.offline.runs.folder import copied
from fawkes.report.web.looks import ASK_EVERY_US, Watcher
from fawkes.store.sqlite import LedgerReader
from tests.cli.conftest import INVENTORY, Run, World
from tests.report.web.browser import browser, there
from tests.report.web.serving import certified
from tests.support.desk import Desk
from tests.support.silent_controller import controller
from tests.support.silent_controller import desk as pool_now
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow
PATIENCE_S = 60.0
VIEWER, USER, OPERATOR = "v" * 16, "u" * 16, "o" * 16
#: answers to dry runs wait until `letGo` is called
LATE = """
window.real = window.fetch;
window.fetch = async (...all) => {
  const told = await (await window.real(...all)).json();
  if (String(all[0]).includes("dry_run")) await new Promise((go) => { window.letGo = go; });
  return { ok: true, json: async () => told };
};
"""
HOLD = {"subject": "node01", "reason": "a fan"}


@pytest.fixture
def table(site: Path) -> Path:
    """The settings of a site with ``[web]`` and three tokens; it has a ledger."""
    desk = Desk(4)
    desk.up("a")
    copied(desk.store, site / "state")
    tokens = site / "tokens"
    tokens.write_text(f"vera viewer {VIEWER}\nalice user {USER}\nolaf operator {OPERATOR}\n")
    tokens.chmod(0o600)
    settings = site / "fawkes.toml"
    settings.write_text('[web]\ntokens = "tokens"\n')
    return settings


@contextmanager
def served(site: Path, *words: str) -> Iterator[str]:
    command = [sys.executable, "-m", "fawkes", "--site", str(site), "web", "--port", "0", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def post(url: str, verb: str, token: str, body: Any, **more: Any) -> requests.Response:
    headers = {"authorization": f"Bearer {token}"}
    return requests.post(f"{url}api/{verb}", json=body, headers=headers, timeout=PATIENCE_S, **more)


def test_holders_of_tokens_act_by_their_roles_and_the_ledger_names_them(site: Path, world: World, table: Path) -> None:
    with served(site) as url:
        tried = post(url, "hold?dry_run=1", OPERATOR, HOLD)
        assert (tried.status_code, world.events) == (200, [])
        assert [event.by for event in world.rehearsed] == ["token olaf"]
        assert post(url, "hold", OPERATOR, HOLD).json()["ok"]
        (event,) = world.events
        assert isinstance(event, HoldAsked)
        assert (event.by, event.subject, event.reason) == ("token olaf", "node01", "a fan")
        for token, name in ((VIEWER, "vera"), (USER, "alice")):
            refused = post(url, "hold", token, HOLD)
            assert refused.status_code == 403
            assert refused.json()["error"]["what"] == f"token {name} may not hold"
        world.refuse = Reason("unknown-name", {"name": "node01"})
        told = post(url, "unhold", OPERATOR, {"subject": "node01"})
        assert (told.status_code, len(told.json()["says"])) == (409, 1)
        assert requests.get(f"{url}api/nodes", headers={"authorization": f"Bearer {VIEWER}"}, timeout=PATIENCE_S).json()
        world.server.close()  # type: ignore[union-attr]
        gone = post(url, "hold", OPERATOR, HOLD)
        assert gone.status_code == 503
        assert "`fawkes run`" in gone.json()["error"]["hint"]


@pytest.mark.parametrize("header", ["Fawkes-Token", "Fawkes-Role"])
def test_headers_of_a_visitor_change_nobodys_name(site: Path, world: World, table: Path, header: str) -> None:
    with served(site) as url:
        answer = requests.post(
            f"{url}api/hold",
            json=HOLD,
            headers={"authorization": f"Bearer {USER}", header: "operator"},
            timeout=PATIENCE_S,
        )
    assert answer.status_code == 403
    assert "token alice may not" in answer.json()["error"]["what"]


def test_a_controller_that_says_nothing_is_a_504(site: Path, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "ALIVE_S", 0.05)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(site / "state" / "control.sock"))
        server.listen()
        status, kind, body = passed(Site(site), "POST", "/hold", b"{}", Token("olaf", "operator"))
    assert (status, kind) == (504, "application/json")
    assert "does not answer" in json.loads(body)["error"]["what"]


def test_over_tls_one_acts_while_hundreds_of_connections_say_nothing(site: Path, world: World, table: Path) -> None:
    pem = certified(site)
    table.write_text('[web]\ntokens = "tokens"\ntls_cert = "page.pem"\ntls_key = "page.pem"\n')
    with served(site) as url, ExitStack() as stack:
        assert url.startswith("https://")
        port = int(url.rstrip("/").rpartition(":")[2])
        for _ in range(500):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE_S))
        assert post(url, "hold", OPERATOR, HOLD, verify=str(pem)).status_code == 200
        assert [event.by for event in world.events] == ["token olaf"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('tokens = "missing"', "missing: there is no such file"),
        ('tokens = "tokens"\naddress = "0.0.0.0:80"', "fawkes.toml: web: tokens would cross"),
        ('tokens = "tokens"\ntls_cert = "a"\ntls_key = "b"', "fawkes.toml: web.tls_cert"),
        ('tokens = "tokens"\nport = 80', "fawkes.toml: web.port"),
    ],
)
@pytest.mark.parametrize("verb", ["web", "check", "run"])
def test_each_verb_refuses_a_wrong_table_by_file_and_key(
    run: Run, table: Path, verb: str, text: str, says: str
) -> None:
    table.write_text(f"[web]\n{text}\n")
    result = run(verb)
    assert result.exit_code == 2, result.output
    assert says in result.stderr


def test_a_controller_brings_its_page_and_takes_it_away(site: Path, table: Path) -> None:
    """A real controller, whose nodes do not answer: it keeps what it is asked in its ledger all the same."""
    shutil.rmtree(site / "state")
    (site / "inventory.toml").write_text(
        INVENTORY.replace("node[01-05]", "localhost").replace("[ssh]", "[ssh]\nport = 9")
    )
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    table.write_text(f'[web]\ntokens = "tokens"\naddress = "127.0.0.1:{port}"\n')
    url = f"http://127.0.0.1:{port}/"
    with subprocess.Popen([sys.executable, "-m", "fawkes", "--site", str(site), "run"], stderr=subprocess.PIPE) as run:
        try:
            assert run.stderr is not None
            while b"controls pool" not in run.stderr.readline():
                assert run.poll() is None
            wait_for(lambda: answers(url), "the page")
            assert post(url, "pause", OPERATOR, {"reason": "a fan"}).json()["ok"]
            with closing(LedgerReader(site / "state")) as ledger:
                (paused,) = ledger.entries(kinds=[PauseAsked.__name__])
            assert getattr(paused.event, "by", "") == "token olaf"
        finally:
            run.kill()
    wait_for(lambda: not answers(url), "the end of the page")


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("fill", "NOTHING IS DECIDED: "),
        ("cut", "THE CONTROLLER DOES NOT ANSWER: its socket is gone"),
        pytest.param("pause", "THE CONTROLLER DOES NOT ANSWER", marks=pytest.mark.drill),
    ],
)
def test_nothing_is_up_or_green_while_nothing_is_decided(site: Path, fault: str, why: str) -> None:
    ready = pool_now()
    ready.up("a")
    now_us = ready.now_us
    with controller(site, ready) as there:
        watcher = Watcher(there.folder, lambda: now_us, lambda: _idle(Site(site)))
        assert b"fawkes_controller_up 1.0" in watcher.look().metrics
        getattr(there, fault)()
        # It is asked again after a moment, not at each look.
        assert watcher.look().stale == ""
        now_us += ASK_EVERY_US
        look = watcher.look()
        watcher.close()
    assert look.stale.startswith(why)
    assert json.loads(look.state)["stale"].endswith("What is shown may be old")
    assert b"fawkes_controller_up 0.0" in look.metrics
    assert b"fawkes_cluster_health{" not in look.metrics


def answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=PATIENCE_S).status_code == 401
    except requests.ConnectionError:
        return False


@pytest.mark.parametrize("name", ["x*", "*.*", "a b", ""])
def test_a_name_that_is_none_is_refused(run: Run, table: Path, name: str) -> None:
    result = run("web", "--name", name)
    assert (result.exit_code, "--name" in result.stderr) == (2, True)


def test_a_page_with_tokens_is_not_opened_to_everybody(run: Run, table: Path) -> None:
    result = run("web", "--no-key")
    assert (result.exit_code, "--no-key" in result.stderr) == (2, True)


@pytest.mark.skipif(not there(), reason="chromium or chromedriver is missing (packages chromium, chromium-driver)")
def test_the_panel_shows_first_and_then_acts(site: Path, world: World, table: Path) -> None:
    with served(site) as url, browser() as window:
        window.live_in("Asia/Kolkata")
        window.open(f"{url}?key={VIEWER}").until("document.body.dataset.seq")
        window.until("!document.querySelector('#act').hidden")

        def enter(token: str) -> None:
            window.run(f"document.querySelector('#token').value = '{token}'")
            window.run("document.querySelector('#token-form').requestSubmit()")

        enter("x" * 16)
        window.until("document.querySelector('#token-answer').textContent.includes('no token')")
        enter(VIEWER)
        window.until("document.querySelector('#token-answer').textContent.includes('only reads')")
        assert window.run("return document.querySelector('#act-form').hidden")
        enter(OPERATOR)
        window.until("!document.querySelector('#act-form').hidden")
        assert window.run("return document.cookie + localStorage.length") == "0"
        verbs = window.run("return [...document.querySelector('#act-verb').options].map((each) => each.value)")
        assert {"hold", "unhold", "grow", "shrink", "drain", "undrain", "pause", "resume", "retry", "cancel"} <= {
            *verbs
        }
        assert "stop" not in verbs
        window.run(
            "const verb = document.querySelector('#act-verb'); verb.value = 'hold';"
            "verb.dispatchEvent(new Event('change'))"
        )
        unnamed = (
            "[...document.querySelectorAll('#act-form input, #act-form select')].filter((each) => !each.labels.length)"
        )
        assert window.run(f"return {unnamed}.length") == 0
        window.run("document.querySelector('#act-subject').focus()")
        for letter in "node01":
            window.press(letter)
        window.press("\ue004")
        for letter in "fan":
            window.press(letter)
        assert window.run("return document.querySelector('label[for=act-until_us]').textContent") == "until (UTC)"
        window.run("document.querySelector('#act-until_us').value = '2030-01-01T12:00'")
        window.press("\ue007")
        window.until("!document.querySelector('#act-do').disabled")
        assert (len(world.rehearsed), world.events) == (1, [])
        # An answer that comes when the fields are others by now does not allow to do these.
        window.run(LATE)
        window.run("document.querySelector('#act-form').requestSubmit()")
        window.until("!!window.letGo")
        field = "const field = document.querySelector('#act-subject'); field.value = '{}';"
        edit = field + "field.dispatchEvent(new Event('input', {{bubbles: true}}));"
        window.run(edit.format("node02"))
        window.run("window.letGo(); return new Promise((done) => setTimeout(done, 0))")
        assert window.run("return document.querySelector('#act-do').disabled")
        window.run("window.fetch = window.real;" + edit.format("node01"))
        window.run("document.querySelector('#act-form').requestSubmit()")
        window.until("!document.querySelector('#act-do').disabled")
        window.run("document.querySelector('#act-do').click()")
        window.until("document.querySelector('#act-answer').textContent.startsWith('Accepted')")
        (event,) = world.events
        assert (event.by, event.subject, event.reason) == ("token olaf", "node01", "fan")
        assert event.until_us == datetime(2030, 1, 1, 12, tzinfo=UTC).timestamp() * SECOND_US
        assert window.run("return document.querySelector('#act-do').disabled")
        window.run(
            "const verb = document.querySelector('#act-verb'); verb.value = 'release';"
            "verb.dispatchEvent(new Event('change')); document.querySelector('#act-cluster').value = 'a';"
            "document.querySelector('#act-form').requestSubmit()"
        )
        window.until("!document.querySelector('#act-do').disabled")
        assert isinstance(world.events[-1], ReleaseAsked)
        assert world.events[-1].dry_run
        world.refuse = Reason("paused", {"reason": "repair"})
        window.run("document.querySelector('#act-form').requestSubmit()")
        window.until("document.querySelector('#act-answer').textContent.startsWith('Refused')")
        window.run("document.querySelector('#act-forget').click()")
        window.until("document.querySelector('#act-form').hidden && sessionStorage.length === 0")
        assert [line for line in window.complaints() if "401" not in line and "409" not in line] == []


@pytest.mark.nightly
def test_answers_to_hostile_input_are_as_described(
    site: Path, world: World, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Schemathesis makes requests of the description, right ones and wrong ones."""
    monkeypatch.setattr(world, "_act", lambda _: None)
    checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
    with served(site) as url:
        # `stop` ends the controller of this test, `stream` has no end, and `reload` needs a whole controller.
        left_out = [word for path in ("stop", "stream", "reload") for word in ("--exclude-path", f"/api/{path}")]
        schemathesis = str(Path(sys.executable).with_name("schemathesis"))
        command = [schemathesis, "run", f"{url}openapi.json", "--checks", checks, *left_out]
        command += ["--header", f"Authorization: Bearer {OPERATOR}", "--max-examples", "15", "--seed", "1"]
        # Slower than the pace of a holder: what is answered with 429 is no test of the rest.
        command += ["--rate-limit", "600/m"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=site, env={**os.environ, "NO_COLOR": "1"})
    assert done.returncode == 0, done.stdout[-8000:]
