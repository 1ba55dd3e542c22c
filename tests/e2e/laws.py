"""Laws of the ledger of a whole folder of tests, with all restarts, crashes and failures in it."""

from __future__ import annotations

from contextlib import closing

from fawkes.core.state.members import in_full
from fawkes.core.state.state import State, evolve
from fawkes.core.values.decision import PutNode
from fawkes.core.values.effects import Deploy, Goal, Membership
from fawkes.report import history
from fawkes.report.words.sentences import bare, sentence
from fawkes.store.sqlite import LedgerReader
from tests.support.site import RealSite


def assert_one_owner(site: RealSite) -> None:
    """No node ever had two owners, at any step: in the ledger, and in what the masters were told."""
    owners: dict[str, str | None] = {}
    state = State()
    for entry in site.ledger.entries:
        evolve(state, entry.event.at_us, entry.decision.changes)
        for change in entry.decision.changes:
            if isinstance(change, PutNode):
                name, owner = change.state.node.id, change.state.owner
                assert owners.get(name) in (None, owner) or owner is None, entry
                owners[name] = owner
        for effect in in_full(state, entry.decision.effects):
            if isinstance(effect, Deploy | Membership):
                serving = {n for n, m in effect.members.items() if m.goal is Goal.SERVING}
                assert serving, entry
                assert {owners[n] for n in serving} == {effect.cluster}, entry


def explained_moves(site: RealSite) -> set[tuple[str, str]]:
    """From where to where nodes moved; each move has a reason, and each reason of the ledger a sentence."""
    with closing(LedgerReader(site.site.state_dir)) as ledger:
        moves = history.moves(ledger)
    assert [move for move in moves if not move.reasons or not all(r.code for r in move.reasons)] == []
    said = [reason for entry in site.ledger.entries for reason in entry.decision.reasons]
    assert [reason for reason in said if sentence(reason) == bare(reason)] == []
    return {(move.source, move.target) for move in moves}


def assert_decided_again(site: RealSite) -> None:
    """Every decision is the same when it is taken again."""
    assert "every decision is the same as the stored one, byte for byte" in site.command("verify").stderr


def assert_whole(site: RealSite) -> None:
    """No step of the ledger is missing or damaged."""
    with closing(LedgerReader(site.site.state_dir)) as ledger:
        assert ledger.verify() >= len(site.ledger.entries)
