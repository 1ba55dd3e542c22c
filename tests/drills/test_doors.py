"""Answers at a door are read from a server, and judged by whether its MR-cluster wants tickets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

import pytest

from drills.doors import LOCAL, OTHER, OUTSIDE, OWN, Door, Tried, summary
from drills.probe import web
from tests.support.web import Request, serving

DOOR = Door("node01", 9870, "namenode", "10.98.1.1")
SHUT = {OTHER: "403", OUTSIDE: "closed", LOCAL: "no listener"}


@contextmanager
def answering(usual: int, others: Mapping[str, int]) -> Iterator[int]:
    """The port of a web server that gives each path a status."""

    class Handler(Request):
        def answer(self) -> None:
            self.send(b"", others.get(self.path, usual))

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        yield server.server_port


@pytest.mark.parametrize(
    ("usual", "others", "verdict"),
    [
        (403, {}, "403"),
        (401, {"/": 404, "/logs/": 403}, "401"),
        (401, {"/conf": 200}, "pages"),
        (403, {"/": 302}, "answers"),
        (404, {}, "answers"),
    ],
    ids=["all forbidden", "a ticket is wanted", "one page is open", "it redirects", "RPC, which answers all with 404"],
)
def test_a_web_server_is_as_closed_as_its_most_open_path(usual: int, others: Mapping[str, int], verdict: str) -> None:
    with answering(usual, others) as port:
        assert web("127.0.0.1", port) == verdict


@pytest.mark.parametrize(
    ("own", "kerberos", "holes"),
    [
        ("answers", False, ()),
        ("pages", False, ()),
        ("pages", True, (OWN,)),
        ("401", True, ()),
        ("401", False, (OWN,)),
        ("closed", True, (OWN,)),
    ],
)
def test_with_kerberos_an_own_node_gets_no_pages(own: str, kerberos: bool, holes: tuple[str, ...]) -> None:
    assert Tried(DOOR, {OWN: own, **SHUT}, kerberos).holes == holes


@pytest.mark.parametrize("got", ["answers", "pages", "401"])
def test_a_stranger_gets_nothing_even_where_a_ticket_is_wanted(got: str) -> None:
    assert Tried(DOOR, {OWN: "401", **SHUT, OTHER: got}, kerberos=True).holes == (OTHER,)


def test_the_summary_counts_each_place() -> None:
    everywhere = Door("node01", 13562, "nodemanager", "0.0.0.0")
    tried = [Tried(DOOR, {OWN: "401", **SHUT}), Tried(everywhere, {OWN: "answers", **SHUT})]
    assert list(summary(tried))[-1] == "| 1 401, 1 answers | 2 403 | 2 closed | 2 no listener | 1 |"
