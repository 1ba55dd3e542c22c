"""The view of a run while it goes on: a live board on a terminal, else a line for every change."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fawkes.base.units import SECOND_US
from fawkes.cli.show.show import console, note, quiet
from fawkes.core.deciding.tick import MOVING
from fawkes.engine.ports import Entry
from fawkes.report.tables.explain import lines_of

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fawkes.store.sqlite import LedgerReader

_LOOK_S = 0.5
_LATEST = 12
#: errors that take more than the rest of a line
_LONG = 60
#: reasons of steps in between, which say nothing to somebody who watches
_QUIET = frozenset({"job-queued", "job-released", "late-answer", "drained", "freed", "serves"})


def news(entry: Entry, known: set[str] | None = None) -> list[str]:
    """The lines about a step of the ledger worth telling; a long error in ``told`` is not repeated.

    One error ends an MR-cluster and all of its jobs, and each of them says so.
    """
    known = set() if known is None else known
    reasons = [
        reason
        for reason in entry.decision.reasons
        if reason.code not in _QUIET and (reason.code != "tick" or reason.facts.get("verdict") in MOVING)
    ]
    errors = [error for reason in reasons if isinstance(error := reason.facts.get("error"), str) and len(error) > _LONG]
    return [_without_repeats(line.text, errors, known) for line in lines_of(reasons)]


def _without_repeats(text: str, errors: list[str], known: set[str]) -> str:
    """A line without the errors that were shown before; those that it has are shown now."""
    for error in {*errors, *known}:
        if f": {error}" not in text:
            continue
        if error in known:
            text = text.replace(f": {error}", "")
        known.add(error)
    return text


@contextmanager
def watched(state: Path) -> Iterator[None]:
    """Show what a controller writes into the ledger of a state folder, from now until the end of the block."""
    out = console(stderr=True)
    if quiet():
        yield
        return
    if not out.is_terminal:
        with _following(state, lambda reader, lines: note("\n".join(lines)) if lines else None):
            yield
        return
    from rich.live import Live

    latest: deque[str] = deque(maxlen=_LATEST)
    with Live(console=out, auto_refresh=False, transient=True) as live:

        def draw(reader: LedgerReader, lines: list[str]) -> None:
            latest.extend(lines)
            live.update(_board(reader, list(latest), out.width), refresh=True)

        with _following(state, draw):
            yield


def _board(reader: LedgerReader, latest: list[str], width: int) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from fawkes.cli.clusters.status import board
    from fawkes.report.tables.rows import cluster_rows, pool_row

    pool = pool_row(reader)
    facts = pool["tick_facts"]
    balance = Text(
        f"discrimination {facts['raw']:.3g} against tau {facts['tau']:.3g}" if facts else "no tick yet", style="bold"
    )
    return Group(board(pool, cluster_rows(reader), width), balance, *(Text(line, no_wrap=True) for line in latest))


@contextmanager
def _following(state: Path, tell: Callable[[LedgerReader, list[str]], None]) -> Iterator[None]:
    """Call ``tell`` with the news of each look, in a thread of its own; the ledger must be there."""
    stop = threading.Event()
    thread = threading.Thread(target=_follow, args=(state, stop, tell), name="watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _follow(state: Path, stop: threading.Event, tell: Callable[[LedgerReader, list[str]], None]) -> None:
    from fawkes.report.history import first_us
    from fawkes.store.sqlite import LedgerReader

    reader = LedgerReader(state)
    after, last_look = 0, False
    known: set[str] = set()
    try:
        while not last_look:
            # One look more after the end: nothing that happened is left out.
            last_look = stop.wait(_LOOK_S)
            start_us = first_us(reader)
            lines = []
            seen = after
            for entry in reader.entries(after):
                after = entry.seq
                lines += [f"{(entry.event.at_us - start_us) / SECOND_US:7.1f} s  {text}" for text in news(entry, known)]
            if after != seen:
                tell(reader, lines)
    finally:
        reader.close()
