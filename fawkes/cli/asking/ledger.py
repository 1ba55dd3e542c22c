"""Ways of reading commands to the ledger: also when no controller runs, and then they say so."""

from __future__ import annotations

import difflib
import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from fawkes.base.errors import FawkesError, UserError
from fawkes.base.units import SECOND_US, clock, show_duration, show_time
from fawkes.cli.asking.client import Client, HungUpError, NoControllerError, SilentError, trouble
from fawkes.cli.show.show import TABLE, note, say, warn

if TYPE_CHECKING:
    from fawkes.config.site.site import Site
    from fawkes.store.lock import Holder
    from fawkes.store.sqlite import LedgerReader

#: where the context of a command notes that the controller does not answer; `fawkes.cli.main` has the exit code
SILENT = "fawkes.silent"
_DEAF = "THE CONTROLLER DOES NOT ANSWER"
_DEAD = "NO CONTROLLER IS RUNNING, and the last one left no word of its end"
_ASK_S = 3.0
#: a controller that starts looks at all nodes before it listens, and waits for those that do not answer
_START_US = 60 * SECOND_US


@contextmanager
def ledger_of(site: Site, *, now: bool = False) -> Iterator[LedgerReader]:
    """The ledger of a site, for reading; UserError without one.

    A note on stderr when no controller writes to it. When one runs and does not answer, or decides nothing, the first
    line says so, and the verb ends with 4 (`ends_partly`); also, if it shows how things stand ``now``, when one died.
    """
    from fawkes.report.history import last_us, simulated
    from fawkes.store.lock import holder
    from fawkes.store.sqlite import LedgerReader

    reader = LedgerReader(site.state_dir)
    try:
        held = holder(site.state_dir)
        if held is not None:
            if line := silence(site, held, last_us(reader)):
                ends_partly(line)
        elif simulated(reader):
            note(f"this is a simulated run of {show_duration(last_us(reader))}; times count from its start")
        elif now and (line := death(site, last_us(reader))):
            ends_partly(line)
        else:
            note(absence(last_us(reader)))
        yield reader
    finally:
        reader.close()


def absence(end_us: int) -> str:
    """The line on a controller that does not run; ``end_us`` is the time of the ledger's last step."""
    since = f"the last one stopped after {show_time(end_us)}" if end_us else "none has run yet"
    return f"no controller is running for this site: {since}"


def death(site: Site, as_of_us: int) -> str:
    """The line on a controller that is gone without a word; empty where it ended in order, or none has run."""
    from fawkes.store.lock import died

    last = died(site.state_dir)
    return "" if last is None else _as_of(_DEAD, last, as_of_us)


def ends_partly(line: str) -> None:
    """Say that what follows may be old, in the first line of the table, else on stderr; the verb ends with 4."""
    context = click.get_current_context(silent=True)
    if context is None:
        return
    context.meta[SILENT] = line
    if context.params.get("output", "") == TABLE:
        say(line, "  ")
    else:
        warn(line)


def silent() -> str:
    """The line of `ends_partly`, if it was said; else empty."""
    context = click.get_current_context(silent=True)
    return "" if context is None else str(context.meta.get(SILENT, ""))


def deaf() -> bool:
    """True once it was said that the controller does not answer: then it is not asked again."""
    return silent().startswith(_DEAF)


def silence(site: Site, held: Holder, as_of_us: int) -> str:
    """The line on a controller that holds the site and cannot be relied on now; empty when it answers and goes on."""
    what = unwell(site, held, note)
    return _as_of(what, held, as_of_us) if what else ""


def unwell(site: Site, held: Holder, starting: Callable[[str], None]) -> str:
    """The reason why the controller that holds the site decides nothing; empty when it does, or is ``starting``."""
    try:
        return trouble(Client(site, timeout_s=_ASK_S).alive())
    except (NoControllerError, HungUpError):
        if held.alive_us > held.since_us:
            return f"{_DEAF}: its socket is gone"
        if time.time_ns() // 1000 - held.since_us < _START_US:
            starting(f"the controller is starting: {held}")
            return ""
        return f"{_DEAF}: it has not started yet"
    except SilentError:
        return _DEAF
    except FawkesError as error:
        return error.what


def _as_of(what: str, held: Holder, as_of_us: int) -> str:
    now_us = time.time_ns() // 1000
    alive = f", last sign of life {clock(show_time(held.alive_us))}" if held.alive_us else ""
    # Where our time is ahead of the machine's clock nobody knows how long ago that was.
    ago = f", {show_duration((now_us - as_of_us) // SECOND_US * SECOND_US)} ago" if now_us >= as_of_us else ""
    process = f"process {held.pid} on {held.host}"
    return f"{what} ({process}{alive}). What follows is as of {clock(show_time(as_of_us))}{ago}"


@contextmanager
def boards_of(site: Site) -> Iterator[Callable[[str], list[dict[str, Any]]]]:
    """The rows of `fawkes.report.tables.board` by name: from the ledger, or from the controller for others.

    Raises as `ledger_of`, and as `fawkes.cli.asking.client.Client`.
    """
    if os.path.isdir(site.state_dir) and not os.access(site.state_dir, os.X_OK):
        client = Client(site)
        if line := trouble(client.alive()):
            ends_partly(line)
        yield lambda of: client.rows("board", of=of)
        return
    from fawkes.report.tables.board import board

    with ledger_of(site, now=True) as ledger:
        yield lambda of: board(ledger, of)


def known(name: str, names: Collection[str], what: str) -> str:
    """``name``, if it is one of ``names``; else a UserError that suggests one."""
    if name in names:
        return name
    raise not_known(name, names, what)


def not_known(name: str, names: Collection[str], what: str) -> UserError:
    """The error about a name that is none of ``names``, with the nearest one or all of them."""
    near = difflib.get_close_matches(name, sorted(names), n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(sorted(names)) or 'none'}"
    return UserError(f"there is no {what} {name!r}", hint=hint)
