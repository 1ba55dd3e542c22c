"""`fawkes verify`: decide a ledger again and compare."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from fawkes.base.errors import ExitStatus
from fawkes.base.units import counted, show_time
from fawkes.base.version import __version__
from fawkes.cli.asking.ledger import ledger_of
from fawkes.cli.show.show import Step, note, output_option, progress, show
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site
from fawkes.core.values.events import Started

if TYPE_CHECKING:
    from fawkes.core.values.decision import Decision
    from fawkes.engine.ports import Entry
    from fawkes.store.sqlite import LedgerReader

_CHUNK = 1000


@click.command()
@output_option
@click.pass_obj
def verify(site: Site, output: str) -> ExitStatus | None:
    """Decide every step of the ledger again and show where the decision differs from the stored one. So are the
    periods of CPU quotas that are stored whole: those of the last hour, and up to ten minutes more.

    Exits with 0 if every decision is the same byte for byte, 3 if steps of another version of Fawkes differ,
    and 1 if steps of this version differ, which is a defect.
    """
    with ledger_of(site) as ledger:
        count = ledger.last_seq()
        with progress("verify", count // _CHUNK + 1) as step:
            rows = list(_differences(ledger, step))
    periods, quotas = _quotas(site)
    rows += quotas
    show(rows, TABLES["verify"], output)
    again = counted(count, "step") + (f" and {counted(periods, 'period')} of quotas" if periods else "")
    if not rows:
        note(f"{again} decided again: every decision is the same as the stored one, byte for byte")
        return None
    ours = [row for row in rows if row["decided_by"] == __version__]
    differ = "1 differs" if len(rows) == 1 else f"{len(rows)} differ"
    note(f"{again} decided again: {differ}, {len(ours)} of them decided by this version")
    return ExitStatus.FAILED if ours else ExitStatus.CHANGES


def _differences(ledger: LedgerReader, step: Step) -> Iterator[dict[str, Any]]:
    """A row for each decision that does not come again; a decision is its text in the ledger."""
    from fawkes.engine import replay
    from fawkes.policy.worker.policies import load_admission, load_preemption, load_weighting
    from fawkes.store.record import text_of, to_plain

    version = ""

    def entries() -> Iterator[Entry]:
        nonlocal version
        for entry in ledger.entries():
            if isinstance(entry.event, Started):
                version = entry.event.version
            if entry.seq % _CHUNK == 0:
                step(f"step {entry.seq}")
            yield entry

    def differ(now: Decision, stored: Decision) -> bool:
        return text_of(now) != text_of(stored)

    for difference in replay(entries(), load_weighting, load_admission, load_preemption, differ):
        stored, now = to_plain(difference.stored), to_plain(difference.now)
        yield {
            "step": difference.seq,
            "time": show_time(difference.event.at_us),
            "kind": type(difference.event).__name__,
            "decided_by": version,
            "differs": _parts(stored, now),
            "stored_decision": stored,
            "new_decision": now,
        }


def _quotas(site: Site) -> tuple[int, list[dict[str, Any]]]:
    """The number of periods of quotas that were decided again, and a row for each that differs."""
    from fawkes.policy.worker.policies import load_quota
    from fawkes.store.quotas import QuotaReader

    with closing(QuotaReader(site.state_dir)) as reader:
        rows: list[dict[str, Any]] = [
            {
                "step": each.seq,
                "time": show_time(each.at_us),
                "kind": "Quotas",
                "decided_by": each.version,
                "differs": ["quotas"],
                "stored_decision": None,
                "new_decision": None,
            }
            for each in reader.differences(load_quota)
        ]
        return reader.count(), rows


def _parts(stored: Any, now: Any) -> list[str]:
    """The parts in which two decisions differ."""
    from fawkes.store.record import dumps

    return [part for part in ("changes", "effects", "reasons") if dumps(stored.get(part)) != dumps(now.get(part))]
