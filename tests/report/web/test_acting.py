"""Requests that act: who is let through, what is refused before anybody is asked, and a controller that hangs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from fawkes.config.settings.tokens import Token, Tokens
from fawkes.report.web import acting
from fawkes.report.web.acting import (
    MOST_ACTS,
    MOST_AT_ONCE,
    MOST_BODY_BYTES,
    MOST_OF_HOLDER,
    MOST_QUESTIONS,
    Acting,
    Pace,
    Passed,
)
from fawkes.report.web.app import application
from fawkes.report.web.looks import Watcher

VIEWER, USER, OPERATOR = "v" * 16, "u" * 16, "o" * 16
KEY = "0123456789abcdef"
COOKIE = "fawkes-key-80"
LINES = f"vera viewer {VIEWER}\nalice user {USER}\nolaf operator {OPERATOR}\n"


class Stand:
    """A controller that keeps what it is asked, and hangs while ``hangs`` is clear."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, bytes | None, Token]] = []
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.begun = threading.Semaphore(0)

    def ask(self, method: str, path: str, body: bytes | None, token: Token) -> Passed:
        self.asked.append((method, path, body, token))
        self.begun.release()
        assert self.goes_on.wait(60)
        if path == "/defect":
            raise ZeroDivisionError
        return 409, "application/json", b'{"ok": false}'


@pytest.fixture
def stand() -> Stand:
    return Stand()


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    file = tmp_path / "tokens"
    file.write_text(LINES)
    file.chmod(0o600)
    return file


@pytest.fixture
def page(played_ledger: Path, stand: Stand, tokens: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    # So slow that no test depends on the speed of the machine.
    monkeypatch.setattr(acting, "ACTS_PER_S", 0.001)
    way = Acting(Tokens(tokens), stand.ask, {"openapi": "3.1.0", "paths": {}, "components": {}})
    app = application(Watcher(played_ledger), key=None, hosts=["testserver"], acting=way)
    with TestClient(app, follow_redirects=False) as client:
        yield client
    stand.goes_on.set()


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.mark.parametrize(("token", "name"), [(VIEWER, "vera"), (USER, "alice"), (OPERATOR, "olaf")])
def test_a_request_goes_to_the_controller_with_the_holder_of_its_token(
    page: TestClient, stand: Stand, token: str, name: str
) -> None:
    answer = page.post("/api/hold?dry_run=1", headers=bearer(token), content=b'{"subject": "n01"}')
    assert (answer.status_code, answer.json()) == (409, {"ok": False})
    ((method, path, body, holder),) = stand.asked
    assert (method, path, body) == ("POST", "/hold?dry_run=1", b'{"subject": "n01"}')
    assert holder.name == name


def test_the_holder_of_a_token_is_told(page: TestClient, stand: Stand) -> None:
    assert page.get("/api/token", headers=bearer(USER)).json() == {"name": "alice", "role": "user"}
    assert "/api/token" in page.get("/openapi.json", headers=bearer(USER)).json()["paths"]
    assert stand.asked == []


def test_a_question_goes_the_same_way(page: TestClient, stand: Stand) -> None:
    page.get("/api/logs", params={"cluster": "c-1", "job": "a b\u00e9&"}, headers=bearer(USER))
    assert stand.asked == [("GET", "/logs?cluster=c-1&job=a+b%C3%A9%26", None, Token("alice", "user"))]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        bearer("x" * 16),
        bearer(""),
        bearer(OPERATOR[:-1]),
        {"authorization": OPERATOR},
        {"authorization": f"Basic {OPERATOR}"},
        {"cookie": f"{COOKIE}={OPERATOR}"},
        {"cookie": f"{COOKIE}={VIEWER}"},
    ],
    ids=["none", "wrong", "empty", "shorter", "bare", "basic", "cookie", "viewer's cookie"],
)
def test_without_a_token_in_the_header_nothing_is_asked(page: TestClient, stand: Stand, headers: Any) -> None:
    answer = page.post("/api/pause", headers=headers, json={"reason": "x"})
    assert answer.status_code == 401
    assert answer.json()["error"]["hint"]
    assert stand.asked == []


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "http://testserver:81", "null", "", "http://testserver.evil", "http://["]
)
def test_other_origins_are_refused(page: TestClient, stand: Stand, origin: str) -> None:
    answer = page.post("/api/pause", headers={**bearer(OPERATOR), "origin": origin}, json={"reason": "x"})
    assert answer.status_code == 403
    assert stand.asked == []


def test_the_page_itself_may_ask(page: TestClient, stand: Stand) -> None:
    page.post("/api/pause", headers={**bearer(OPERATOR), "origin": "https://testserver"}, json={"reason": "x"})
    assert len(stand.asked) == 1


@pytest.mark.parametrize(
    "path", ["/api/../pause", "/api/a%2fb", "/api/%00", "/api/%0d%0aX:%20y", "/api/hold?\u00e9=%0a"]
)
def test_names_and_parameters_cannot_leave_their_place(page: TestClient, stand: Stand, path: str) -> None:
    page.post(path, headers=bearer(OPERATOR), content=b"{}")
    for _, sent, _, _ in stand.asked:
        assert sent.startswith("/")
        assert sent.isascii()
        assert sent.isprintable()
        assert " " not in sent
        assert sent.count("/") == 1


def test_a_body_that_is_too_long_is_not_passed_on(page: TestClient, stand: Stand) -> None:
    answer = page.post("/api/pause", headers=bearer(OPERATOR), content=b"x" * (MOST_BODY_BYTES + 1))
    assert answer.status_code == 413
    assert stand.asked == []
    assert page.post("/api/pause", headers=bearer(OPERATOR), content=b"x" * MOST_BODY_BYTES).status_code == 409


def test_a_defect_is_an_answer(page: TestClient) -> None:
    answer = page.post("/api/defect", headers=bearer(OPERATOR))
    assert answer.status_code == 500
    assert "ZeroDivisionError" in answer.json()["error"]["what"]


def test_a_controller_that_hangs_costs_few_threads_and_the_page_goes_on(page: TestClient, stand: Stand) -> None:
    stand.goes_on.clear()
    answers: list[int] = []

    def ask() -> None:
        answers.append(page.post("/api/pause", headers=bearer(OPERATOR), json={}).status_code)

    asking = [threading.Thread(target=ask) for _ in range(MOST_OF_HOLDER)]
    for thread in asking:
        thread.start()
        assert stand.begun.acquire(timeout=60)
    assert page.post("/api/pause", headers=bearer(OPERATOR), json={}).status_code == 503
    assert page.get("/api/state", headers=bearer(VIEWER)).status_code == 200
    stand.goes_on.set()
    for thread in asking:
        thread.join()
    assert answers == [409] * MOST_OF_HOLDER
    assert page.post("/api/pause", headers=bearer(OPERATOR), json={}).status_code == 409


def test_questions_keep_nobody_who_acts_out_and_no_holder_has_all_places(page: TestClient, stand: Stand) -> None:
    stand.goes_on.clear()

    def ask(token: str) -> int:
        return page.get("/api/plan", headers=bearer(token)).status_code

    with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
        asks = []
        for token, count in ((VIEWER, MOST_OF_HOLDER), (USER, MOST_QUESTIONS - MOST_OF_HOLDER)):
            asks += [pool.submit(ask, token) for _ in range(count)]
            assert all(stand.begun.acquire(timeout=60) for _ in range(count))
            assert ask(VIEWER) == 503
        assert ask(OPERATOR) == 503
        acts = pool.submit(page.post, "/api/down", headers=bearer(OPERATOR), json={})
        assert stand.begun.acquire(timeout=60)
        stand.goes_on.set()
        assert [each.result() for each in asks] == [409] * MOST_QUESTIONS
        assert acts.result().status_code == 409


def test_a_slow_body_is_given_up(page: TestClient, stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acting, "BODY_S", 0.0)
    answer = page.post("/api/pause", headers=bearer(OPERATOR), content=iter([b"{", b"}"]))
    assert answer.status_code == 408
    assert stand.asked == []


@pytest.mark.parametrize("token", [VIEWER, USER, OPERATOR])
def test_each_token_reads_as_a_bearer(page: TestClient, token: str) -> None:
    assert page.get("/api/state", headers=bearer(token)).status_code == 200


def test_in_an_address_and_a_cookie_only_a_viewers_token_reads(page: TestClient) -> None:
    assert page.get(f"/?key={VIEWER}").status_code == 303
    page.cookies.clear()
    for token in (USER, OPERATOR, KEY, ""):
        assert page.get(f"/?key={token}").status_code == 401
        assert page.get("/api/state", headers={"cookie": f"{COOKIE}={token}"}).status_code == 401
    assert page.get("/api/state", headers={"cookie": f"{COOKIE}={VIEWER}"}).status_code == 200


def test_a_token_that_is_taken_away_is_refused_at_once(page: TestClient, stand: Stand, tokens: Path) -> None:
    tokens.write_text(f"vera viewer {VIEWER}\n")
    assert page.post("/api/pause", headers=bearer(OPERATOR), json={}).status_code == 401
    tokens.chmod(0o640)
    assert page.get("/api/state", headers=bearer(VIEWER)).status_code == 401
    assert stand.asked == []


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "NONSENSE"])
def test_other_methods_are_refused(page: TestClient, stand: Stand, method: str) -> None:
    assert page.request(method, "/api/pause", headers=bearer(OPERATOR)).status_code == 405
    assert stand.asked == []


def test_a_holder_who_acts_too_often_is_told_when_to_ask_again(page: TestClient, stand: Stand) -> None:
    statuses = [page.post("/api/pause", headers=bearer(OPERATOR), json={}) for _ in range(2 * MOST_ACTS)]
    refused = [answer for answer in statuses if answer.status_code == 429]
    assert refused
    assert len(stand.asked) == 2 * MOST_ACTS - len(refused) >= MOST_ACTS
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)
    assert page.post("/api/pause", headers=bearer(USER), json={}).status_code == 409
    assert page.get("/api/nodes", headers=bearer(OPERATOR)).status_code == 409


def test_wrong_tokens_shut_nobody_out(page: TestClient) -> None:
    wrong = [page.get("/api/state", headers=bearer(f"{number:016}")).status_code for number in range(MOST_ACTS)]
    assert set(wrong) == {401}
    assert page.get("/api/state", headers=bearer(OPERATOR)).status_code == 200


@pytest.mark.parametrize(
    ("at_s", "waits_s"), [([0.0] * 3, 0.0), ([0.0] * 4, 1.0), ([0.0] * 4 + [1.0], 1.0), ([0.0, 100.0], 0.0)]
)
def test_a_pace_allows_some_at_once_and_then_so_many_a_second(at_s: list[float], waits_s: float) -> None:
    now = [0.0]
    pace = Pace(at_once=4, per_s=1.0, clock=lambda: now[0])
    for now[0] in at_s:
        assert pace.wait_s("b") == 0
        pace.take("a")
    assert pace.wait_s("a") == waits_s
