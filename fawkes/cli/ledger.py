"""How reading commands come to the ledger: also when no controller runs, and then they say so."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fawkes.cli.show import note
from fawkes.errors import UserError

if TYPE_CHECKING:
    from fawkes.config.site import Site
    from fawkes.store.sqlite import LedgerReader


@contextmanager
def ledger_of(site: Site) -> Iterator[LedgerReader]:
    """The ledger of a site, for reading. A note on stderr when no controller writes to it; UserError without one."""
    from fawkes.report.history import last_us, simulated
    from fawkes.store.lock import holder
    from fawkes.store.sqlite import LedgerReader
    from fawkes.units import show_duration, show_time

    reader = LedgerReader(site.state_dir)
    try:
        if holder(site.state_dir) is None:
            end_us = last_us(reader)
            if simulated(reader):
                note(f"this is a simulated run of {show_duration(end_us)}; times count from its start")
                yield reader
                return
            since = f"the last one stopped after {show_time(end_us)}" if end_us else "none has run yet"
            note(f"no controller is running for this site: {since}")
        yield reader
    finally:
        reader.close()


@contextmanager
def boards_of(site: Site) -> Iterator[Callable[[str], list[dict[str, Any]]]]:
    """The rows of `fawkes.report.board` by name: from the ledger, or from the controller for users who may not read it.

    Raises as `ledger_of`, and as `fawkes.cli.client.Client`.
    """
    if os.path.isdir(site.state_dir) and not os.access(site.state_dir, os.X_OK):
        from fawkes.cli.client import Client

        client = Client(site)
        yield lambda of: client.rows("board", of=of)
        return
    from fawkes.report.board import board

    with ledger_of(site) as ledger:
        yield lambda of: board(ledger, of)


def known(name: str, names: Collection[str], what: str) -> str:
    """``name``, if it is one of ``names``; else a UserError that suggests one."""
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(sorted(names)) or 'none'}"
    raise UserError(f"there is no {what} {name!r}", hint=hint)
