"""Sets of names as HPC sites write them: ``node[01-10,12]``. The only place that knows ClusterShell."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

from fawkes.errors import cut

MOST_NODES = 100_000
"""In a pool, and so in one set: ten times the largest clusters of Hadoop that are known."""

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_RANGE = re.compile(r"(\d+)-(\d+)(?:/(\d+))?")
_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_COUNTED = 10**18
_DOTTED = re.compile(r"\d+(?:\.\d+){3}")
_INNER_LIST = re.compile(r"\[([^\[\]]*,[^\[\]]*)\]")
_MARKS = re.compile(r"[\[\],!&^]")


def is_host_name(name: str) -> bool:
    """Whether ``name`` can be a host name or an IPv4 address (RFC 1123); four numbers with dots are an address."""
    if len(name) > 253 or _HOST.fullmatch(name) is None:
        return False
    return _DOTTED.fullmatch(name) is None or _is_address(name)


def _is_address(text: str) -> bool:
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


def expand(text: str) -> tuple[str, ...]:
    """The names of a node set, each once, in the order in which they are written.

    The order matters where two sets are paired (``nodes`` and ``address``); ClusterShell alone would sort
    ``b,a`` and give each node the address of the other. ValueError says what is wrong and what is right.
    """
    _refuse_too_many(text)
    try:
        names = _in_order(text)
        if re.search("[!&^]", text):
            kept = set(NodeSet(text, resolver=RESOLVER_NOGROUP))
            names = [name for name in names if name in kept]
    except NodeSetException as error:
        raise ValueError(
            f"{cut(text)!r} is no node set ({cut(str(error))}): write node[01-10], n1,n2 or one name"
        ) from error
    if not names:
        raise ValueError(f"{cut(text)!r} is an empty set of nodes: write node[01-10], n1,n2 or one name")
    for name in names:
        _check_name(name, text)
    return tuple(names)


def fold(names: Iterable[str]) -> str:
    """Names as one short node set, sorted: ``node[01-03],spare``; the empty text for no names."""
    return str(NodeSet.fromlist(list(names), resolver=RESOLVER_NOGROUP))


def _in_order(text: str) -> list[str]:
    ordered: dict[str, None] = {}
    for piece in _pieces(text):
        for simple in _without_inner_lists(piece.strip()):
            if not simple:
                raise ValueError(f"{cut(text)!r} has an empty name in it: a comma too many?")
            if _HOST.fullmatch(simple):
                ordered[simple] = None
                continue
            ordered.update(dict.fromkeys(NodeSet(simple, resolver=RESOLVER_NOGROUP)))
    return list(ordered)


def _pieces(text: str) -> Iterator[str]:
    """What operators outside of brackets divide, in one pass over a text that may have a million of them."""
    start = depth = 0
    for mark in _MARKS.finditer(text):
        if mark[0] == "[":
            depth += 1
        elif mark[0] == "]":
            depth = max(0, depth - 1)
        elif not depth:
            yield text[start : mark.start()]
            start = mark.end()
    yield text[start:]


def _without_inner_lists(piece: str) -> Iterator[str]:
    """``n[3,1]`` as ``n[3]`` and ``n[1]``: ClusterShell would sort them."""
    match = _INNER_LIST.search(piece)
    if match is None:
        yield piece
        return
    for part in match[1].split(","):
        yield from _without_inner_lists(f"{piece[: match.start()]}[{part}]{piece[match.end() :]}")


def _refuse_too_many(text: str) -> None:
    """A slip such as ``node[1-1000000000]`` would fill the memory before anything could be said."""
    count = 0
    for piece in _pieces(text):
        names = 1
        for bracket in _BRACKET.findall(piece):
            names *= sum(_count(part) for part in bracket.split(","))
        count += names
    if count > MOST_NODES:
        shown = f"{count:,}" if count < _COUNTED else "far too many"
        raise ValueError(f"{cut(text)!r} names {shown} nodes: a pool has at most {MOST_NODES:,}")


def _count(part: str) -> int:
    """How many numbers a part of a bracket stands for, at most."""
    match = _RANGE.fullmatch(part.strip())
    if match is None:
        return 1
    if max(map(len, match.groups(""))) > 18:
        return _COUNTED
    first, last, step = int(match[1]), int(match[2]), int(match[3] or 1)
    return max(1, (last - first) // max(1, step) + 1)


def _check_name(name: str, text: str) -> None:
    if is_host_name(name):
        return
    if name.startswith("@"):
        raise ValueError(f"{cut(text)!r} uses the ClusterShell group {cut(name)!r}: name the nodes themselves")
    advice = "separate names by commas" if " " in name else "use letters, digits, '-' and '.'"
    if _DOTTED.fullmatch(name):
        raise ValueError(f"{name!r} in {cut(text)!r} cannot be an IPv4 address: its numbers go from 0 to 255")
    raise ValueError(f"{cut(name)!r} in {cut(text)!r} cannot be a host name: {advice}")
