"""Documents over HTTP from servers that are slow, wrong or gone."""

from __future__ import annotations

import gzip
import math
import socket
import threading
import tracemalloc
from collections.abc import Iterator

import pytest

from fawkes.live.wire import rest
from fawkes.live.wire.names import NameLookups
from fawkes.live.wire.rest import Deadline, UnreadableError, count, get_json, get_lines, listed
from tests.live.masters_server import (
    Answer,
    Handler,
    Query,
    Server,
    clear,
    drips,
    hangs,
    hangs_up,
    redirects,
    says,
    text,
)


@pytest.fixture
def server(one_server: Server) -> Iterator[Server]:
    yield one_server
    clear(one_server)


def ask(server: Server, seconds: float = 20.0) -> object:
    return get_json(f"{server.url}/doc", Deadline.after(seconds), {"a": "b c"})


def refused(server: Server, seconds: float = 20.0) -> UnreadableError:
    with pytest.raises(UnreadableError) as caught:
        ask(server, seconds)
    assert caught.value.where == f"{server.url}/doc"
    return caught.value


def test_a_document_comes_with_its_parameters_sent(server: Server) -> None:
    server.answers["/doc"] = says({"x": [1, 2]})
    assert ask(server) == {"x": [1, 2]}
    assert server.questions("/doc") == [{"a": "b c"}]


def test_nan_is_read_and_is_no_number(server: Server) -> None:
    server.answers["/doc"] = text('{"x": NaN, "y": Infinity}')
    document = ask(server)
    assert isinstance(document, dict)
    assert math.isnan(document["x"])
    assert [count(document["x"]), count(document["y"])] == [None, None]


def test_a_page_instead_of_a_document_is_named(server: Server) -> None:
    server.answers["/doc"] = text("<html>the login page</html>")
    error = refused(server)
    assert error.why == "the answer is not JSON (text/html)"
    assert error.status == 200


def test_another_status_is_told(server: Server) -> None:
    server.answers["/doc"] = says({}, 503)
    error = refused(server)
    assert (error.status, error.why) == (503, "answered 503 Service Unavailable")


def test_no_redirect_is_followed(server: Server) -> None:
    server.answers["/doc"] = redirects(f"{server.url}/elsewhere")
    server.answers["/elsewhere"] = says({"x": 1})
    error = refused(server)
    assert (error.status, error.why) == (302, f"redirected ({server.url}/elsewhere)")
    assert server.questions("/elsewhere") == []


@pytest.mark.slow
def test_a_server_that_says_nothing_is_given_up(server: Server) -> None:
    server.answers["/doc"] = hangs
    error = refused(server, 0.2)
    assert (error.status, error.why) == (None, "did not answer in time")


@pytest.mark.slow
@pytest.mark.parametrize("headers", [False, True], ids=["body", "headers"])
def test_a_dripping_server_does_not_outlast_the_deadline(server: Server, headers: bool) -> None:
    """It would answer in the end: with a time limit for each read alone, there would be no error."""
    server.answers["/doc"] = drips({"x": 1}, headers=headers)
    assert refused(server, 0.3).why == "did not answer in time"


def test_what_drips_is_read_when_there_is_time(server: Server) -> None:
    server.answers["/doc"] = drips({"x": 1}, drops=5)
    assert ask(server) == {"x": 1}


def test_nothing_is_asked_when_the_deadline_is_past(server: Server) -> None:
    server.answers["/doc"] = says({})
    assert refused(server, -1.0).why == "there was no time left to ask"
    assert server.asked == []


def test_a_connection_that_is_closed_without_an_answer_is_tried_once_more(server: Server) -> None:
    def at_first(handler: object, query: object) -> None:
        server.answers["/doc"] = says({"x": 2})
        hangs_up(handler, query)  # type: ignore[arg-type]

    server.answers["/doc"] = at_first
    assert ask(server) == {"x": 2}
    assert len(server.questions("/doc")) == 2


def test_a_server_that_always_hangs_up_is_an_error(server: Server) -> None:
    server.answers["/doc"] = hangs_up
    assert refused(server).status is None
    assert len(server.questions("/doc")) == 2


def test_nobody_at_the_port() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/doc"
        with pytest.raises(UnreadableError) as caught:
            get_json(url, Deadline.after(20))
    assert caught.value.why == "connection refused"


def test_proxies_of_the_environment_are_not_used(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    server.answers["/doc"] = says({"x": 3})
    assert ask(server) == {"x": 3}


def test_an_endless_answer_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "MAX_BYTES", 1000)
    server.answers["/doc"] = says("x" * 2000)
    assert "is larger than" in refused(server).why


BOMB_BYTES = 64 << 20
BOMB = gzip.compress(b" " * BOMB_BYTES + b"{}", 9)


def compressed(handler: Handler, query: Query) -> None:
    """60 kB that become 64 MB."""
    handler.send(BOMB, content_encoding="gzip")


def test_a_compressed_answer_is_refused_before_it_grows(server: Server) -> None:
    server.answers["/doc"] = compressed
    tracemalloc.start()
    try:
        error = refused(server)
        lines = get_lines(f"{server.url}/doc", Deadline.after(20))
        with pytest.raises(UnreadableError, match="compressed"):
            next(lines)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert error.why == "the answer is compressed (gzip), which is not allowed"
    assert most < BOMB_BYTES // 4


def test_nobody_is_asked_for_a_compressed_answer(server: Server) -> None:
    heard = []

    def answer(handler: Handler, query: Query) -> None:
        heard.append(handler.headers["accept-encoding"])
        handler.send(b"{}")

    server.answers["/doc"] = answer
    ask(server)
    assert heard == ["identity"]


def raw(data: bytes) -> Answer:
    """These bytes instead of an answer."""

    def answer(handler: Handler, query: Query) -> None:
        handler.close_connection = True
        handler.wfile.write(data)

    return answer


OK = b"HTTP/1.1 200 OK\r\n"
GARBAGE = {
    "no HTTP": b"\x00\xff" * 100,
    "an endless status": b"HTTP/1.1 200 " + b"x" * 200_000,
    "an endless header": OK + b"a: " + b"x" * 200_000,
    "too many headers": OK + b"".join(b"h%d: x\r\n" % n for n in range(1000)) + b"\r\n{}",
    "a length that is none": OK + b"content-length: many\r\n\r\n",
    "two lengths": OK + b"content-length: 1\r\ncontent-length: 2\r\n\r\n{}",
    "chunks without a size": OK + b"transfer-encoding: chunked\r\n\r\nzzz\r\n",
    "an endless size of a chunk": OK + b"transfer-encoding: chunked\r\n\r\n" + b"1" * 200_000,
    "less than was promised": OK + b"content-length: 1000\r\n\r\n{",
    "no text": OK + b"content-length: 4\r\n\r\n\xff\xfe\x00\xd8",
    "nested without end": OK + b"\r\n" + b"[" * 200_000,
    "a number without end": OK + b"\r\n" + b"1" * 200_000,
    "an unknown coding": OK + b"content-encoding: sdch\r\ncontent-length: 2\r\n\r\n{}",
    "a location that is none": b"HTTP/1.1 302 Found\r\nlocation: http://[::1\r\n\r\n",
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_is_an_error_of_this_answer_alone(server: Server, kind: str) -> None:
    server.answers["/doc"] = raw(GARBAGE[kind])
    assert refused(server).why
    server.answers["/doc"] = says({"x": 1})
    assert ask(server) == {"x": 1}


def test_only_a_line_feed_ends_a_line(server: Server) -> None:
    server.answers["/doc"] = text("a\u2028b\x0bc\x0cd\x85e\rf\r\ng\n")
    assert list(get_lines(f"{server.url}/doc", Deadline.after(20))) == ["a\u2028b\x0bc\x0cd\x85e\rf", "g"]


def test_a_line_without_end_is_refused(server: Server) -> None:
    server.answers["/doc"] = text("x" * (3 << 20))
    with pytest.raises(UnreadableError, match="a line of the answer is longer than 1024 KiB"):
        list(get_lines(f"{server.url}/doc", Deadline.after(20)))


@pytest.mark.parametrize(("key", "sent"), [("k3y", "k3y"), ("", None)])
def test_the_key_of_an_mr_cluster_is_sent_to_it_alone(server: Server, key: str, sent: str | None) -> None:
    heard: list[str | None] = []

    def answer(handler: Handler, query: Query) -> None:
        heard.append(handler.headers["X-Fawkes-Key"])
        handler.send(b"{}")

    server.answers["/doc"] = answer
    get_json(f"{server.url}/doc", Deadline.after(20), key=key)
    list(get_lines(f"{server.url}/doc", Deadline.after(20), key=key))
    get_json(f"{server.url}/doc", Deadline.after(20))
    assert heard == [sent, sent, None]


@pytest.mark.slow
def test_a_silent_name_server_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr(rest, "NAMES", NameLookups(lambda host: [over.wait()]))
    try:
        with pytest.raises(UnreadableError) as caught:
            get_json("http://master.invalid:8088/doc", Deadline.after(0.2))
    finally:
        over.set()
    assert caught.value.why == "did not answer in time"


def test_a_redirect_is_not_read_without_end(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "MAX_BYTES", 1000)
    server.answers["/doc"] = lambda handler, query: handler.send(b"x" * 2000, 302, location="/elsewhere")
    assert "is larger than" in refused(server).why


def test_lines_come_one_by_one_and_other_questions_may_be_asked_between_them(server: Server) -> None:
    server.answers["/doc"] = text("one\ntwo\n\nfour")
    server.answers["/other"] = says({"x": 1})
    lines = []
    for line in get_lines(f"{server.url}/doc", Deadline.after(20)):
        lines.append(line)
        assert get_json(f"{server.url}/other", Deadline.after(20)) == {"x": 1}
    assert lines == ["one", "two", "", "four"]


@pytest.mark.parametrize(
    ("value", "whole"),
    [(0, 0), (7, 7), (7.9, 7), (-1, None), (math.nan, None), (math.inf, None), (None, None), ("7", None), (True, None)],
)
def test_a_count_is_a_whole_number_or_nothing(value: object, whole: int | None) -> None:
    assert count(value) == whole


@pytest.mark.parametrize(
    ("document", "rows"),
    [
        ({"apps": {"app": [{"id": 1}, {"id": 2}]}}, [{"id": 1}, {"id": 2}]),
        ({"apps": {"app": {"id": 1}}}, [{"id": 1}]),
        ({"apps": {}}, []),
        ({"apps": None}, []),
        ({"apps": ""}, []),
        ({"apps": {"app": []}}, []),
    ],
)
def test_each_way_in_which_hadoop_writes_a_list(document: object, rows: object) -> None:
    assert listed(document, "apps", "app", "here") == rows


@pytest.mark.parametrize("document", [{}, [], None, {"app": []}, {"apps": {"app": [1]}}, {"apps": "none"}])
def test_another_shape_is_not_an_empty_list(document: object) -> None:
    with pytest.raises(UnreadableError, match="apps"):
        listed(document, "apps", "app", "here")


def test_a_deadline_within_a_deadline() -> None:
    far = Deadline.after(1000)
    assert far.within(5000) == far
    assert far.within(1).at < far.at


def test_a_read_outside_of_a_deadline_waits_as_long_as_it_was_given() -> None:
    """A file is read in pieces: what was left of the question's deadline must not be the limit of the next piece."""
    ours, theirs = socket.socketpair()
    with theirs, rest._Socket(fileno=ours.detach()) as reader:
        reader.settimeout(50.0)
        theirs.sendall(b"xyz")
        with rest.until(Deadline.after(20)):
            reader.recv_into(bytearray(1))
            assert (reader.gettimeout() or 0) <= 20
        reader.recv_into(bytearray(1))
        assert reader.gettimeout() == 50.0
        with rest.until(Deadline.after(-1)), pytest.raises(TimeoutError):
            reader.recv_into(bytearray(1))
