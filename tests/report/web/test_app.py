"""Requests to the page: who is let in, what is refused, and answers that are the rows of the commands."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from fawkes.report.tables.board import board
from fawkes.report.tables.explain import Explanation
from fawkes.report.web import app, looks
from fawkes.report.web.app import STATIC, application, openapi
from fawkes.report.web.looks import PageLook, Watcher
from fawkes.store.base import Reader
from fawkes.store.sqlite import Ledger
from tests.report.played import recorded

KEY = "0123456789abcdef"
#: with the port of the test client: browsers send a cookie to all ports of a host
COOKIE = "fawkes-key-80"
BEARER = {"authorization": f"Bearer {KEY}"}
PATHS = ("/", "/api/state", "/api/course", "/api/explain/node/n01", "/metrics", "/openapi.json", "/static/app.js")


@pytest.fixture(scope="module")
def page(played_ledger: Path) -> Iterator[TestClient]:
    """The page of the recorded run, after its ledger was read."""
    app = application(Watcher(played_ledger), key=KEY, hosts=["testserver"])
    with TestClient(app, follow_redirects=False) as client:
        while "seq" not in client.get("/api/state", headers=BEARER).json():
            pass
        yield client


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": KEY},
        {"authorization": f"Basic {KEY}"},
        {"cookie": f"{COOKIE}=wrong"},
        {"cookie": f"{COOKIE}={KEY}x"},
        {"authorization": "Bearer \xff"},
    ],
    ids=["none", "wrong", "bare", "basic", "cookie", "longer", "latin"],
)
def test_without_the_key_nothing_is_answered(page: TestClient, path: str, headers: dict[str, Any]) -> None:
    encoded = {key: value.encode("latin-1") for key, value in headers.items()}
    answer = page.get(path, headers=encoded)
    assert answer.status_code == 401
    assert KEY not in answer.text


@pytest.mark.parametrize("path", PATHS[:3])
def test_the_key_lets_in_as_bearer_and_as_cookie(page: TestClient, path: str) -> None:
    assert page.get(path, headers=BEARER).status_code == 200
    assert page.get(path, headers={"cookie": f"{COOKIE}={KEY}"}).status_code == 200


def test_the_key_leaves_the_address_at_once(page: TestClient) -> None:
    answer = page.get(f"/?key={KEY}")
    page.cookies.clear()
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert cookie.startswith(f"{COOKIE}={KEY}")
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


@pytest.mark.parametrize("path", ["//evil.example/", "/static/app.js", "/\\\\evil.example"])
def test_a_key_in_an_address_leads_to_the_page_and_nowhere_else(page: TestClient, path: str) -> None:
    answer = page.get(f"http://testserver{path}?key={KEY}")
    page.cookies.clear()
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_a_wrong_key_in_the_address_sets_no_cookie(page: TestClient) -> None:
    answer = page.get("/?key=wrong")
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "NONSENSE"])
def test_the_page_only_reads(page: TestClient, method: str) -> None:
    assert page.request(method, "/api/state", headers=BEARER).status_code == 405


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "testserver.evil", ""])
def test_another_name_is_refused(page: TestClient, host: str) -> None:
    assert page.get("/api/state", headers={**BEARER, "host": host}).status_code == 400


@pytest.mark.parametrize("length", ["7", "-1", "x", "9" * 5000, "1.5", "²"])
def test_a_body_is_refused(page: TestClient, length: str) -> None:
    headers = [*((key.encode(), value.encode()) for key, value in BEARER.items()), (b"content-length", length.encode())]
    assert page.get("/api/state", headers=headers).status_code == 400


@pytest.mark.parametrize("path", [*PATHS, "/nothing", "/static/../app.py"])
def test_every_answer_has_the_headers_that_browsers_obey(page: TestClient, path: str) -> None:
    headers = page.get(path, headers=BEARER).headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static//etc/passwd"]
)
def test_only_files_of_the_page_are_served(page: TestClient, path: str) -> None:
    assert page.get(path, headers=BEARER).status_code == 404


@pytest.mark.parametrize(
    "path",
    ["/api/explain/node/nobody", "/api/explain/moon/n01", "/api/explain/node/%00", "/api/explain/job/%f0%9f%90%98"],
)
def test_names_that_are_not_known_are_answered_in_a_sentence(page: TestClient, path: str) -> None:
    answer = page.get(path, headers=BEARER)
    assert answer.status_code == 404
    assert answer.json()["error"]


@pytest.mark.parametrize("of", ["clusters", "nodes"])
def test_the_state_has_the_rows_of_the_commands(page: TestClient, played: Reader, of: str) -> None:
    assert page.get("/api/state", headers=BEARER).json()[of] == board(played, of)


def test_an_answer_that_is_known_is_not_sent_again(page: TestClient) -> None:
    first = page.get("/api/course", headers=BEARER)
    again = page.get("/api/course", headers={**BEARER, "if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_ledger_that_is_not_there_is_told(tmp_path: Path) -> None:
    app = application(Watcher(tmp_path), key="", hosts=["testserver"])
    with TestClient(app) as client:
        while "trouble" not in (state := client.get("/api/state").json()):
            pass
        assert str(tmp_path) in state["trouble"]
        assert client.get("/metrics").status_code == 503


def test_the_description_names_each_path_that_answers(page: TestClient) -> None:
    described = page.get("/openapi.json", headers=BEARER).json()
    assert described == openapi()
    for path, item in described["paths"].items():
        assert item["get"]["summary"], path
        # No code limits wrong keys: 429 is for holders that act.
        assert item["get"]["responses"].keys() <= {"200", "401", "404", "503"}, path
        if path != "/api/stream":
            concrete = path.replace("{of}", "cluster").replace("{name}", "c-1")
            assert page.get(concrete, headers=BEARER).status_code in map(int, item["get"]["responses"])


@pytest.mark.parametrize("file", sorted(STATIC.iterdir()), ids=lambda file: file.name)
def test_nothing_is_loaded_from_elsewhere(file: Path) -> None:
    text = file.read_text().replace("http://www.w3.org/2000/svg", "")
    assert re.findall(r"(?:https?:)?//[\w.-]+\.[a-z]{2,}", text) == []
    assert re.findall(r"\beval\(|innerHTML|\bstyle=|\bon\w+=\"", text) == []


def test_rows_are_there_before_the_history_is_read(
    played_ledger: Path, played: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looks, "STEPS_AT_ONCE", 1)
    watcher = Watcher(played_ledger)
    assert json.loads(watcher.look().state)["reading"] == 0
    watcher.wanted = True
    state = json.loads(watcher.look().state)
    assert (state["reading"], state["of"]) == (1, played.last_seq())
    assert (state["nodes"], "jobs" in state) == (board(played, "nodes"), False)


def test_a_page_that_follows_shows_what_one_shows_that_is_opened_later(tmp_path: Path) -> None:
    followed = Watcher(tmp_path)
    followed.wanted = True
    with closing(Ledger(tmp_path, durable=False)) as ledger:
        for number, entry in enumerate(recorded()):
            ledger.append(entry.event, entry.decision)
            if number % 50 == 0:
                followed.look()
    later = Watcher(tmp_path)
    later.wanted = True
    assert followed.look().state == later.look().state
    assert followed.course() == later.course()


class Ailing(Watcher):
    """A ledger that fails, or takes for ever, from its second look on."""

    def __init__(self, folder: Path, goes_on: threading.Event | None) -> None:
        super().__init__(folder)
        self._goes_on, self._ails = goes_on, False
        self.hangs = threading.Event()

    def look(self) -> PageLook:
        if self._ails and self._goes_on is None:
            raise ZeroDivisionError("a figure")
        if self._ails and self._goes_on is not None:
            self.hangs.set()
            assert self._goes_on.wait(60)
        look = super().look()
        self._ails = not look.reading
        return look


def test_a_ledger_that_takes_for_ever_is_not_answered_with_old_figures(
    played_ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "LOOK_EVERY_S", 0.0)
    monkeypatch.setattr(app, "SILENT_S", 0.2)
    goes_on = threading.Event()
    ailing = Ailing(played_ledger, goes_on)
    with TestClient(application(ailing, key="", hosts=["testserver"])) as client:
        paths = ("/api/state", "/api/course", "/metrics")
        # A first look that was slow would be over when the others are asked for.
        assert ailing.hangs.wait(60)
        while not client.get("/api/state").text.startswith("The ledger"):
            pass
        assert {client.get(path).status_code for path in paths} == {503}
        goes_on.set()
        for path in paths:
            while client.get(path).status_code == 503:
                pass


def test_a_defect_in_the_page_is_said_and_no_old_figure_stays(
    played_ledger: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(app, "LOOK_EVERY_S", 0.0)
    with TestClient(application(Ailing(played_ledger, None), key="", hosts=["testserver"])) as client:
        while "trouble" not in (state := client.get("/api/state").json()):
            pass
        assert "ZeroDivisionError" in state["trouble"]
        assert client.get("/metrics").status_code == 503
    assert len(caplog.records) == 1


def test_a_question_that_takes_too_long_ends_and_takes_nothing_else_away(
    page: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()

    def endless(ledger: Reader, name: str) -> Explanation:
        try:
            while True:
                list(ledger.entries())
        finally:
            ended.set()

    monkeypatch.setattr(app, "ANSWER_S", 0.3)
    monkeypatch.setitem(looks._EXPLAIN, "node", endless)
    answer = page.get("/api/explain/node/n01", headers=BEARER)
    assert (answer.status_code, "fawkes explain" in answer.text) == (503, True)
    assert page.get("/metrics", headers=BEARER).status_code == 200
    assert ended.wait(5)
    monkeypatch.undo()
    assert page.get("/api/explain/node/nobody", headers=BEARER).status_code == 404
