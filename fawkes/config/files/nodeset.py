"""Sets of names as HPC sites write them: ``node[01-10,12]``. The only place that knows ClusterShell."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

from fawkes.base.errors import cut

MOST_NODES = 100_000
"""In a pool, and so in one set: ten times the largest clusters of Hadoop that are known."""

Groups = Callable[[str], Iterable[str]]
"""Gives the nodes of a group by its name, such as ``rack1`` or ``ansible:web``; ValueError when there are none."""

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_RANGE = re.compile(r"(\d+)-(\d+)(?:/(\d+))?")
_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_COUNTED = 10**18
_DOTTED = re.compile(r"\d+(?:\.\d+){3}")
_INNER_LIST = re.compile(r"\[([^\[\]]*,[^\[\]]*)\]")
_MARKS = re.compile(r"[\[\],!&^]")
_GROUP = re.compile(r"(?:[\w.-]+:)?(?:[\w.-]+|\*)")
_OPERATORS = {
    ",": set.update,
    "!": set.difference_update,
    "&": set.intersection_update,
    "^": set.symmetric_difference_update,
}


def is_host_name(name: str) -> bool:
    """True if ``name`` can be a host name or an IPv4 address (RFC 1123); four numbers with dots are an address."""
    if len(name) > 253 or _HOST.fullmatch(name) is None:
        return False
    return _DOTTED.fullmatch(name) is None or _is_address(name)


def _is_address(text: str) -> bool:
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


def expand(text: str, groups: Groups | None = None) -> tuple[str, ...]:
    """The names of a node set, each once, in the order in which they are written.

    The order matters where two sets are paired (``nodes`` and ``address``); ClusterShell alone would sort
    ``b,a`` and give each node the address of the other. ``groups`` gives the nodes of groups (``@rack1``); without it
    they are refused. ValueError says what is wrong and what is right.
    """
    _refuse_too_many(text)
    try:
        names = _in_order(text, groups)
    except NodeSetException as error:
        advice = _advice(text) or "write node[01-10], n1,n2 or one name"
        raise ValueError(f"{cut(text)!r} is no node set ({cut(str(error))}): {advice}") from error
    if not names:
        raise ValueError(f"{cut(text)!r} is an empty set of nodes: write node[01-10], n1,n2 or one name")
    if len(names) > MOST_NODES:
        raise ValueError(f"{cut(text)!r} names {len(names):,} nodes: a pool has at most {MOST_NODES:,}")
    same: dict[str, str] = {}
    for name in names:
        _check_name(name, text)
        first = same.setdefault(name.lower(), name)
        if first != name:
            why = "are the same host, for names of hosts have no case: name it once"
            raise ValueError(f"{first!r} and {name!r} in {cut(text)!r} {why}")
    return tuple(names)


def fold(names: Iterable[str]) -> str:
    """Names as one short node set, sorted: ``node[01-03],spare``; the empty text for no names."""
    return str(NodeSet.fromlist(list(names), resolver=RESOLVER_NOGROUP))


def _in_order(text: str, groups: Groups | None = None) -> list[str]:
    ordered: dict[str, None] = {}
    kept: set[str] = set()
    for operator, piece in _pieces(text):
        names = list(_named(piece.strip(), text, groups))
        ordered.update(dict.fromkeys(names))
        _OPERATORS[operator](kept, names)
    return [name for name in ordered if name in kept]


def _named(piece: str, text: str, groups: Groups | None) -> Iterator[str]:
    """The names that a piece without operators stands for."""
    for simple in _without_inner_lists(piece):
        if not simple:
            raise ValueError(f"{cut(text)!r} has an empty name in it: a comma too many?")
        if groups is not None and simple.startswith("@"):
            for group in NodeSet(simple[1:], resolver=RESOLVER_NOGROUP):
                if not _GROUP.fullmatch(group):
                    raise ValueError(
                        f"{cut(group)!r} in {cut(text)!r} cannot be a group: write @GROUP or @SOURCE:GROUP"
                    )
                yield from groups(group)
        elif _HOST.fullmatch(simple):
            yield simple
        else:
            yield from NodeSet(simple, resolver=RESOLVER_NOGROUP)


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """The pieces between operators outside of brackets, each with the operator before it (the first: a comma).

    Makes one pass over a text that may have a million of them.
    """
    start, depth, operator = 0, 0, ","
    for mark in _MARKS.finditer(text):
        if mark[0] == "[":
            depth += 1
        elif mark[0] == "]":
            depth = max(0, depth - 1)
        elif not depth:
            yield operator, text[start : mark.start()]
            start, operator = mark.end(), mark[0]
    yield operator, text[start:]


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
    for _, piece in _pieces(text):
        names = 1
        for bracket in _BRACKET.findall(piece):
            names *= sum(_count(part) for part in bracket.split(","))
        count += names
    if count > MOST_NODES:
        shown = f"{count:,}" if count < _COUNTED else "far too many"
        raise ValueError(f"{cut(text)!r} names {shown} nodes: a pool has at most {MOST_NODES:,}")


def _count(part: str) -> int:
    """The number of values that a part of a bracket stands for, at most."""
    match = _RANGE.fullmatch(part.strip())
    if match is None:
        return 1
    if max(map(len, match.groups(""))) > 18:
        return _COUNTED
    first, last, step = int(match[1]), int(match[2]), int(match[3] or 1)
    return max(1, (last - first) // max(1, step) + 1)


def _advice(text: str) -> str:
    """The way to write a set of another tool here; empty if it is unknown what is meant."""
    if any(_is_ipv6(piece) for piece in (*(piece for _, piece in _pieces(text)), text)):
        return "IPv6 addresses are not supported: write the host's name or its IPv4 address"
    written = text
    for pattern, replacement in _FOREIGN:
        written = pattern.sub(replacement, written)
    good = [_UNEVEN.sub(way, written) for way in (_padded, _as_counted)]
    shown = [
        f"{cut(way)} (from {expand(way)[0]} to {expand(way)[-1]})" for way in dict.fromkeys(good) if _is_new(way, text)
    ]
    return f"write {' or '.join(shown)}" if shown else ""


def _padded(match: re.Match[str]) -> str:
    width = max(map(len, match.groups()))
    return f"{match[1].zfill(width)}-{match[2].zfill(width)}"


def _as_counted(match: re.Match[str]) -> str:
    """``01-100`` as a program counts that pads to two digits."""
    width, more = len(match[1]), 10 ** len(match[1])
    if width >= len(match[2]):
        return _padded(match)
    return f"{match[1]}-{more - 1}," + (match[2] if int(match[2]) == more else f"{more}-{match[2]}")


_FOREIGN = (
    # Ansible's [01:50] and [1:50:2], bash's {01..50} and {1,2}, and [01..50]
    (re.compile(r"\[(\d+):(\d+):(\d+)\]"), r"[\1-\2/\3]"),
    (re.compile(r"\[(\d+)(?::|\.\.)(\d+)\]"), r"[\1-\2]"),
    (re.compile(r"\{(\d+)\.\.(\d+)\}"), r"[\1-\2]"),
    (re.compile(r"\{(\d+(?:,\d+)*)\}"), r"[\1]"),
    (re.compile(r"(?<=[\w\]])\s+(?=\w)"), ","),
)
_UNEVEN = re.compile(r"(?<=[\[,])(0\d{0,5})-(\d{1,6})(?=[\],])")


def _is_new(text: str, before: str) -> bool:
    """True if a text is a node set, and another one than the text before it was rewritten."""
    try:
        _refuse_too_many(text)
        return text != before and all(map(is_host_name, _in_order(text)))
    except (NodeSetException, ValueError):
        return False


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text.strip().strip("[]").split("%")[0])
    except ValueError:
        return False
    return True


def _check_name(name: str, text: str) -> None:
    if is_host_name(name):
        return
    if name.startswith("@"):
        raise ValueError(f"{cut(text)!r} uses the ClusterShell group {cut(name)!r}: name the nodes themselves")
    usual = "separate names by commas" if " " in name else "use letters, digits, '-' and '.'"
    advice = _advice(text) or usual
    if _DOTTED.fullmatch(name):
        raise ValueError(f"{name!r} in {cut(text)!r} cannot be an IPv4 address: its numbers go from 0 to 255")
    raise ValueError(f"{cut(name)!r} in {cut(text)!r} cannot be a host name: {advice}")
