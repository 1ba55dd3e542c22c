"""The controller's socket, for real: a server with a core that answers at once, and whoever talks to it."""

from __future__ import annotations

import contextlib
import getpass
import http.client
import json
import logging
import os
import pwd
import socket
import stat
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.errors import ConfigError, ElsewhereError, RefusedError
from fawkes.core.values import events
from fawkes.core.values.effects import Reply
from fawkes.core.values.model import ClusterId, ClusterSpec, JobId, JobSpec, Plain, Promise, Reason, Role
from fawkes.live.controller.access import Access, Gate
from fawkes.live.controller.control import MOST_OPEN_OF_USER, ControlServer
from fawkes.live.controller.endpoint import MOST_BODY_BYTES, SOCKET, reachable
from fawkes.report.words.sentences import sentence

Answer = Callable[[Any], Reply]


class Controller:
    """A control server with a core of one line; keeps what it was asked."""

    def __init__(self, folder: Path, answer: Answer | None = None, **options: Any) -> None:
        self.events: list[Any] = []
        self.stopped_by: list[str] = []
        self.posted = threading.Event()
        self.stopped = threading.Event()
        self._answer = answer
        self.server = ControlServer(folder, self._post, self.queries(), lambda: 1_000_000, stop=self._stop, **options)

    def queries(self) -> Mapping[str, Callable[[Mapping[str, str]], Plain]]:
        return {
            "status": lambda query: {"asked": query},
            "clusters": lambda _: [],
            "logs": pieces,
            "bad": bad,
            "odd": lambda _: object(),
        }

    def _stop(self, by: str) -> None:
        self.stopped_by.append(by)
        self.stopped.set()

    def _post(self, event: events.Event) -> None:
        self.events.append(event)
        self.posted.set()
        if self._answer is not None:
            # From another thread, as the live world does it.
            threading.Thread(target=self.server.reply, args=(self._answer(event),)).start()


def pieces(query: Mapping[str, str]) -> Iterator[Plain]:
    yield {"node": "node01", "text": "one"}
    if query.get("break"):
        raise ConfigError("broke", file="x.toml", key="k", hint="Mend it")
    if query.get("defect"):
        raise ZeroDivisionError("ouch")
    yield {"node": "node02", "text": "two"}


def bad(_asked: Mapping[str, str]) -> Plain:
    raise ConfigError("is wrong", file="x.toml", key="k", hint="Mend it")


def yes(event: Any) -> Reply:
    return Reply(event.ask, None, {"told": "fine"})


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Controller]]:
    started: list[Controller] = []

    def start_one(folder: Path = tmp_path, answer: Answer | None = yes, **options: Any) -> Controller:
        started.append(Controller(folder, answer, **options))
        return started[-1]

    yield start_one
    for controller in started:
        controller.server.close()


@contextlib.contextmanager
def nobody() -> Iterator[None]:
    os.seteuid(pwd.getpwnam("nobody").pw_uid)
    yield
    os.seteuid(0)


def connected(folder: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(10)
    with reachable(folder) as address:
        connection.connect(address)
    return connection


def said(folder: Path, raw: bytes) -> tuple[int, Any]:
    """Send bytes as they are; status and JSON of the answer."""
    with connected(folder) as connection:
        connection.sendall(raw)
        connection.shutdown(socket.SHUT_WR)
        response = http.client.HTTPResponse(connection)
        response.begin()
        return response.status, json.loads(response.read())


def post(folder: Path, verb: str, body: object) -> tuple[int, Any]:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return said(folder, b"POST /%s HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s" % (verb.encode(), len(text), text))


def get(folder: Path, path: str) -> tuple[int, Any]:
    return said(folder, f"GET {path} HTTP/1.0\r\n\r\n".encode())


def lines(folder: Path, path: str) -> list[Any]:
    with connected(folder) as connection:
        connection.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
        response = http.client.HTTPResponse(connection)
        response.begin()
        return [json.loads(line) for line in response.read().splitlines()]


CLUSTER = {
    "id": "c-1",
    "min_nodes": 2,
    "growth": "transient",
    "details": {"hadoop_version": "3.5.0", "heap_bytes": {"namenode": 1}},
}
JOB = {"id": "sort-1", "cluster": "c-1", "retries": 1, "details": {"kind": "jar", "jar": "/x.jar"}}
ME = getpass.getuser()


@pytest.mark.parametrize(
    ("verb", "body", "event"),
    [
        (
            "request",
            {"spec": CLUSTER},
            events.Requested(
                at_us=1_000_000,
                by=ME,
                spec=ClusterSpec(
                    id=ClusterId("c-1"),
                    min_nodes=2,
                    growth=Role.TRANSIENT,
                    details={"hadoop_version": "3.5.0", "heap_bytes": {"namenode": 1}},
                ),
            ),
        ),
        (
            "request",
            {"spec": {"id": "c-1", "min_nodes": 3, "masters": "standby"}},
            events.Requested(
                at_us=1_000_000,
                by=ME,
                spec=ClusterSpec(id=ClusterId("c-1"), min_nodes=3, masters=Promise.STANDBY),
            ),
        ),
        (
            "submit",
            {"spec": JOB},
            events.Submitted(
                at_us=1_000_000,
                by=ME,
                spec=JobSpec(
                    id=JobId("sort-1"), cluster=ClusterId("c-1"), retries=1, details={"kind": "jar", "jar": "/x.jar"}
                ),
            ),
        ),
        (
            "release",
            {"cluster": "c-1", "discard": True},
            events.ReleaseAsked(at_us=1_000_000, by=ME, cluster=ClusterId("c-1"), discard=True),
        ),
        ("down", {"force": True}, events.DownAsked(at_us=1_000_000, by=ME, force=True)),
        ("cancel", {"job": "sort-1"}, events.CancelAsked(at_us=1_000_000, by=ME, job=JobId("sort-1"))),
        ("pause", {"reason": "a talk"}, events.PauseAsked(at_us=1_000_000, by=ME, reason="a talk")),
        ("resume", {}, events.ResumeAsked(at_us=1_000_000, by=ME)),
        (
            "drain",
            {"node": "node03", "reason": "fan"},
            events.DrainAsked(at_us=1_000_000, by=ME, node="node03", reason="fan"),  # type: ignore[arg-type]
        ),
        ("undrain", {"node": "node03"}, events.UndrainAsked(at_us=1_000_000, by=ME, node="node03")),  # type: ignore[arg-type]
    ],
)
def test_each_verb_becomes_its_event_with_who_asked(
    start: Callable[..., Controller], tmp_path: Path, verb: str, body: object, event: Any
) -> None:
    controller = start()
    status, answer = post(tmp_path, verb, body)
    assert (status, answer) == (200, {"ok": True, "refused": None, "facts": {"told": "fine"}, "says": []})
    ask = controller.events[0].ask
    assert len(ask) == 32
    assert controller.events == [type(event)(**{name: getattr(event, name) for name in _fields(event)} | {"ask": ask})]


def _fields(event: Any) -> list[str]:
    return list(type(event).__dataclass_fields__)


def test_two_questions_get_their_own_answers(start: Callable[..., Controller], tmp_path: Path) -> None:
    both = threading.Barrier(2)

    def together(event: Any) -> Reply:
        return Reply(event.ask, None, {"node": event.node})

    controller = start(answer=None)
    answers: dict[str, Any] = {}

    def ask(node: str) -> None:
        both.wait()
        answers[node] = post(tmp_path, "undrain", {"node": node})[1]["facts"]

    threads = [threading.Thread(target=ask, args=(node,)) for node in ("node01", "node02")]
    for thread in threads:
        thread.start()
    while len(controller.events) < 2:
        assert controller.posted.wait(10)
        controller.posted.clear()
    for event in reversed(controller.events):
        controller.server.reply(together(event))
    for thread in threads:
        thread.join()
    assert answers == {"node01": {"node": "node01"}, "node02": {"node": "node02"}}
    assert len({event.ask for event in controller.events}) == 2


def test_a_refusal_is_told_with_its_code_and_facts(start: Callable[..., Controller], tmp_path: Path) -> None:
    start(answer=lambda event: Reply(event.ask, Reason("min-above-pool", {"min": 20, "pool": 10}), {}))
    status, answer = post(tmp_path, "request", {"spec": CLUSTER})
    assert status == 409
    refusal = Reason("min-above-pool", {"min": 20, "pool": 10})
    refused = {"code": refusal.code, "facts": refusal.facts}
    assert answer == {"ok": False, "refused": refused, "facts": {}, "says": [sentence(refusal)]}


@pytest.mark.parametrize(
    ("verb", "body", "where", "what"),
    [
        ("request", b"", "/request: spec", "is missing"),
        ("request", b"{", "/request", "Invalid JSON"),
        ("request", b"[]", "/request", "object"),
        ("request", b"\xff\xfe", "/request", "Invalid JSON"),
        ("request", b"[" * 100_000, "/request", "Invalid JSON"),
        ("request", {"spec": {"id": "c-1"}}, "/request: spec.min_nodes", "is missing"),
        ("request", {"spec": CLUSTER | {"min_node": 3}}, "/request: spec.min_node", "is unknown"),
        ("request", {"spec": CLUSTER | {"min_nodes": "2"}}, "/request: spec.min_nodes", "integer"),
        ("request", {"spec": CLUSTER | {"min_nodes": 0}}, "/request: spec", "min_nodes is 0"),
        ("request", {"spec": CLUSTER | {"max_nodes": 1}}, "/request: spec", "max_nodes is 1"),
        ("request", {"spec": CLUSTER | {"masters": "standby"}}, "/request: spec", "min_nodes is 2"),
        ("request", {"spec": CLUSTER | {"masters": "doubled"}}, "/request: spec.masters", "'kept'"),
        ("request", {"spec": CLUSTER | {"id": "../../etc"}}, "/request: spec", "cannot be a name"),
        ("request", {"spec": CLUSTER | {"growth": "core-ish"}}, "/request: spec.growth", "'transient'"),
        ("request", b'{"spec":{"id":"c","min_nodes":1,"details":{"x":NaN}}}', "/request: spec", "not finite"),
        ("request", {"spec": CLUSTER | {"details": {"data": 3}}}, "/request: spec.details.data", "valid"),
        ("submit", {"spec": JOB | {"details": {}}}, "/submit: spec.details.kind", "required"),
        ("submit", {"spec": JOB | {"id": "a b"}}, "/submit: spec", "cannot be a name"),
        ("submit", {"spec": JOB | {"deadline_us": 0}}, "/submit: spec", "deadline_us is 0"),
        ("submit", {"spec": JOB | {"deadline_us": -5}}, "/submit: spec", "deadline_us is -5"),
        ("submit", {"spec": JOB | {"retries": -1}}, "/submit: spec", "retries is -1"),
        ("submit", {"spec": JOB | {"time_limit_us": 0}}, "/submit: spec", "time_limit_us is 0"),
        ("submit", {"spec": JOB | {"details": {"kind": "nosuch"}}}, "/submit: kind", "is none of"),
        ("release", {"cluster": "c-1", "discard": 1}, "/release: discard", "boolean"),
        ("release", {"cluster": "C 1"}, "/release: cluster", "cannot be a name"),
        ("pause", {"reason": ""}, "/pause: reason", "at least 1"),
        ("pause", {"reason": "disk\nnode02 is held"}, "/pause: reason", "end lines"),
        ("hold", {"subject": "a", "reason": "disk\u202e"}, "/hold: reason", "turn the direction"),
        ("drain", {"node": "n1", "reason": "\x1b[2J"}, "/drain: reason", "controls"),
        ("drain", {"node": "node03"}, "/drain: reason", "is missing"),
        ("drain", {"node": "no/de", "reason": "r"}, "/drain: node", "host name"),
        ("cancel", {"job": "j", "why": "x"}, "/cancel: why", "is unknown"),
        ("destroy", {}, "", "there is no command /destroy"),
        ("v9/resume", {}, "", "there is no command /v9/resume"),
    ],
)
def test_a_wrong_body_is_refused_by_key_and_never_becomes_an_event(
    start: Callable[..., Controller], tmp_path: Path, verb: str, body: object, where: str, what: str
) -> None:
    controller = start()
    for asked in (verb, f"{verb}?dry_run=1"):
        status, answer = post(tmp_path, asked, body)
        assert status == 400
        assert (answer["error"]["exit"], answer["error"]["where"]) == (2, where)
        assert what in answer["error"]["what"]
    assert controller.events == []
    assert post(tmp_path, "resume", {})[0] == 200


@pytest.mark.parametrize(
    "raw",
    [
        b"POST /resume HTTP/1.0\r\n\r\n",
        b"POST /resume HTTP/1.0\r\nContent-Length: -1\r\n\r\n",
        b"POST /resume HTTP/1.0\r\nContent-Length: x\r\n\r\n",
        b"POST /resume HTTP/1.0\r\nContent-Length: \xb2\r\n\r\n",
        b"POST /resume HTTP/1.0\r\nContent-Length: %d\r\n\r\n{}" % (MOST_BODY_BYTES + 1),
        b"POST /resume HTTP/1.0\r\nContent-Length: 10\r\n\r\n{}",
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET //evil/../x HTTP/1.0\r\n\r\n",
        b"DELETE /status HTTP/1.0\r\n\r\n",
        b"garbage\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.0\r\n\r\n",
        b"GET /status HTTP/1.0\r\n" + b"a: b\r\n" * 200 + b"\r\n",
    ],
)
def test_what_is_not_our_http_gets_an_error_and_the_next_one_its_answer(
    start: Callable[..., Controller], tmp_path: Path, raw: bytes
) -> None:
    controller = start()
    status, answer = said(tmp_path, raw)
    assert 400 <= status <= 501
    assert answer["error"]["what"]
    assert controller.events == []
    assert get(tmp_path, "/status?x=1") == (200, {"asked": {"x": "1"}})


def test_a_client_that_goes_away_harms_nobody(start: Callable[..., Controller], tmp_path: Path) -> None:
    start()
    for raw in (b"", b"POST /resume HTTP/1.0\r\nContent-Length: 100\r\n\r\n", b"GET /logs HTTP/1.0\r\n\r\n"):
        with connected(tmp_path) as connection:
            connection.sendall(raw)
    assert get(tmp_path, "/status") == (200, {"asked": {}})


def test_questions_are_answered_by_the_world(start: Callable[..., Controller], tmp_path: Path) -> None:
    start()
    assert get(tmp_path, "/status?cluster=c-1&empty=") == (200, {"asked": {"cluster": "c-1", "empty": ""}})
    status, answer = get(tmp_path, "/stauts")
    assert (status, answer["error"]["what"]) == (400, "there is no query /stauts")
    assert "status" in answer["error"]["hint"]


def test_an_error_of_the_world_keeps_what_where_and_hint(start: Callable[..., Controller], tmp_path: Path) -> None:
    start()
    assert get(tmp_path, "/bad") == (
        400,
        {"error": {"what": "is wrong", "where": "x.toml: k", "hint": "Mend it", "exit": 2}},
    )


def test_a_defect_of_the_world_is_told_and_logged(
    start: Callable[..., Controller], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    start()
    with caplog.at_level(logging.ERROR):
        status, answer = get(tmp_path, "/odd")
    assert (status, answer["error"]["exit"]) == (500, 1)
    assert answer["error"]["what"] == "defect in the controller: TypeError: object is not plain data"
    assert "Traceback" in caplog.text
    assert get(tmp_path, "/status")[0] == 200


def test_a_stream_ends_with_a_last_line(start: Callable[..., Controller], tmp_path: Path) -> None:
    start()
    first, two = {"piece": {"node": "node01", "text": "one"}}, {"piece": {"node": "node02", "text": "two"}}
    assert lines(tmp_path, "/logs") == [first, two, {"end": True}]
    broken = lines(tmp_path, "/logs?break=1")
    assert broken == [first, {"error": {"what": "broke", "where": "x.toml: k", "hint": "Mend it", "exit": 2}}]
    assert "ZeroDivisionError" in lines(tmp_path, "/logs?defect=1")[-1]["error"]["what"]


def test_no_answer_in_time_says_that_it_may_still_be_done(start: Callable[..., Controller], tmp_path: Path) -> None:
    controller = start(answer=None, answer_within_s=0.01)
    status, answer = post(tmp_path, "resume", {})
    assert (status, answer["error"]["exit"]) == (504, 5)
    assert "may still do it" in answer["error"]["hint"]
    controller.server.reply(yes(controller.events[0]))
    assert get(tmp_path, "/status")[0] == 200


def test_closing_tells_those_who_wait(start: Callable[..., Controller], tmp_path: Path) -> None:
    controller = start(answer=None)
    answers: list[tuple[int, Any]] = []
    waiting = threading.Thread(target=lambda: answers.append(post(tmp_path, "resume", {})))
    waiting.start()
    assert controller.posted.wait(10)
    controller.server.close()
    waiting.join()
    assert answers[0][0] == 500
    assert answers[0][1]["error"]["what"] == "the controller is shutting down"
    assert not (tmp_path / SOCKET).exists()
    controller.server.close()


def test_stop_is_not_an_event(start: Callable[..., Controller], tmp_path: Path) -> None:
    controller = start()
    assert post(tmp_path, "stop", {})[0] == 200
    assert controller.stopped.wait(10)
    assert controller.stopped_by == [ME]
    assert controller.events == []


def test_a_stop_that_is_not_understood_stops_nothing(start: Callable[..., Controller], tmp_path: Path) -> None:
    controller = start()
    code, answer = post(tmp_path, "stop", {"for_god": True})
    assert (code, answer["error"]["where"], answer["error"]["what"]) == (400, "/stop: for_god", "is unknown")
    assert controller.stopped_by == []


def test_a_path_longer_than_a_socket_address(start: Callable[..., Controller], tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30) / ("longer" * 30)
    start(folder)
    assert len(os.fspath(folder)) > 300
    assert get(folder, "/status")[0] == 200
    assert stat.S_ISSOCK((folder / SOCKET).stat().st_mode)


def test_only_the_owner_reaches_folder_and_socket(start: Callable[..., Controller], tmp_path: Path) -> None:
    start(tmp_path / "state")
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "state" / SOCKET).stat().st_mode) == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can try to be somebody else")
def test_the_kernel_says_who_asks(start: Callable[..., Controller]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        controller = start(folder)
        folder.chmod(0o755)
        (folder / SOCKET).chmod(0o666)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            with nobody():
                connection.connect(str(folder / SOCKET))
            # The controller may have hung up already.
            with contextlib.suppress(BrokenPipeError):
                connection.sendall(b"POST /resume HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}")
            response = http.client.HTTPResponse(connection)
            response.begin()
            assert response.status == 403
            assert b"nobody may not command" in response.read()
        assert controller.events == []
        controller.server.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can try to be somebody else")
def test_a_user_holds_so_many_connections_and_keeps_nobody_else_out(start: Callable[..., Controller]) -> None:
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as stack:
        folder = Path(place)
        start(folder, gate=Gate(Access(viewers=frozenset({os.getegid()})), None, folder, own_uid=lambda: 0))
        with nobody():
            held = [stack.enter_context(connected(folder)) for _ in range(MOST_OPEN_OF_USER)]
            with connected(folder) as one_more:
                assert b"too many connections" in one_more.recv(10_000)
        assert get(folder, "/clusters") == (200, [])
        held[0].close()
        with nobody():
            while get(folder, "/clusters")[0] != 200:
                pass


def test_a_request_comes_whole_in_time(
    start: Callable[..., Controller], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fawkes.live.controller.control.limits.REQUEST_S", 0.2)
    start()
    with connected(tmp_path) as connection:
        connection.settimeout(0.01)
        answer = None
        while answer is None:
            with contextlib.suppress(TimeoutError):
                connection.sendall(b"G")
                answer = connection.recv(1)


def with_headers(folder: Path, verb: str, headers: Mapping[str, str]) -> tuple[int, Any]:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return said(folder, f"POST /{verb} HTTP/1.0\r\n{lines}Content-Length: 2\r\n\r\n{{}}".encode())


def test_the_holder_of_a_token_is_in_the_event(start: Callable[..., Controller], tmp_path: Path) -> None:
    controller = start()
    headers = {"Fawkes-Token": "olaf", "Fawkes-Role": "operator"}
    assert with_headers(tmp_path, "resume", headers)[0] == 200
    assert [event.by for event in controller.events] == ["token olaf"]


@pytest.mark.parametrize("role", ["viewer", "user", ""])
def test_a_token_does_no_more_than_its_role(start: Callable[..., Controller], tmp_path: Path, role: str) -> None:
    controller = start()
    for verb in ("resume", "stop"):
        status, answer = with_headers(tmp_path, verb, {"Fawkes-Token": "vera", "Fawkes-Role": role})
        assert status == (403 if role else 400)
        assert "vera" in answer["error"]["what"]
    assert (controller.events, controller.stopped_by) == ([], [])


@pytest.mark.parametrize("query", ["dry_run=true", "dry-run=1", "dry_run=1&x=2", "dry_run"])
def test_what_is_meant_as_a_dry_run_is_not_done(start: Callable[..., Controller], tmp_path: Path, query: str) -> None:
    controller = start()
    for asked, body in ((f"resume?{query}", {}), ("release?dry_run=1", {"cluster": "a"})):
        status, answer = post(tmp_path, asked, body)
        assert (status, "dry_run" in answer["error"]["hint"]) == (400, True)
    assert controller.events == []


def test_the_socket_of_a_killed_controller_is_taken_over(start: Callable[..., Controller], tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left, reachable(tmp_path) as address:
        left.bind(address)
    start()
    assert get(tmp_path, "/status")[0] == 200


def test_a_second_controller_is_refused_and_the_first_goes_on(start: Callable[..., Controller], tmp_path: Path) -> None:
    start()
    with pytest.raises(ElsewhereError, match="another controller"):
        start()
    assert get(tmp_path, "/status")[0] == 200


def test_a_file_in_the_way_is_not_removed(start: Callable[..., Controller], tmp_path: Path) -> None:
    (tmp_path / SOCKET).write_text("mine")
    with pytest.raises(RefusedError, match="Move it away"):
        start()
    assert (tmp_path / SOCKET).read_text() == "mine"


def test_closing_late_leaves_the_socket_of_the_successor(start: Callable[..., Controller], tmp_path: Path) -> None:
    first = start()
    os.rename(tmp_path / SOCKET, tmp_path / "old.sock")
    start()
    first.server.close()
    assert get(tmp_path, "/status")[0] == 200


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can try to be somebody else")
def test_members_of_a_group_are_let_in_by_what_the_kernel_says_of_their_groups(
    start: Callable[..., Controller],
) -> None:
    """A viewer may look, and nothing else; the folder of the socket can be entered and not listed."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o711)
        folder = Path(place) / "control"
        gate = Gate(Access(viewers=frozenset({54321})), None, folder)
        controller = start(folder, gate=gate)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o711
        code = textwrap.dedent("""
            import os, socket, sys
            os.setgroups([int(sys.argv[2])]); os.setgid(65534); os.setuid(65534)
            for line in (b"GET /clusters HTTP/1.0", b"POST /resume HTTP/1.0\\r\\nContent-Length: 2"):
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.connect(sys.argv[1])
                    try:
                        connection.sendall(line + b"\\r\\n\\r\\n{}")
                    except BrokenPipeError:
                        pass
                    print(connection.recv(4096).split()[1].decode())
        """)
        said = [
            subprocess.run(
                [sys.executable, "-c", code, str(folder / SOCKET), group], capture_output=True, text=True, check=True
            ).stdout.split()
            for group in ("54321", "54322")
        ]
        assert said == [["200", "403"], ["403", "403"]]
        assert controller.events == []
        controller.server.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can try to be somebody else")
def test_an_operator_by_group_cannot_name_the_holder_of_a_token(start: Callable[..., Controller]) -> None:
    """Else each member of the group could act under the name of another."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o711)
        folder = Path(place) / "control"
        controller = start(folder, gate=Gate(Access(operators=frozenset({54321})), None, folder))
        code = textwrap.dedent("""
            import os, socket, sys
            os.setgroups([54321]); os.setgid(65534); os.setuid(65534)
            for header in ("", "Fawkes-Token: alice\\r\\nFawkes-Role: operator\\r\\n"):
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.connect(sys.argv[1])
                    head = f"POST /resume HTTP/1.0\\r\\n{header}Content-Length: 2\\r\\n\\r\\n{{}}"
                    connection.sendall(head.encode())
                    print(connection.recv(4096).split()[1].decode())
        """)
        command = [sys.executable, "-c", code, str(folder / SOCKET)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        assert said == ["200", "403"]
        assert [event.by for event in controller.events] == ["nobody"]
        controller.server.close()
