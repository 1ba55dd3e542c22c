"""One contract for every store: what went in comes out, in order, and the same questions get the same answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fawkes.base.errors import BrokenError
from fawkes.core.values.decision import Decision, DropPending, PutJob, PutPending
from fawkes.core.values.events import Woke
from fawkes.core.values.model import ClusterId, JobLife, NodeLife
from fawkes.engine.ports import Entry, Store
from fawkes.store.base import Reader, Writer
from fawkes.store.memory import MemoryStore
from fawkes.store.record import text_of
from fawkes.store.sqlite import Ledger, LedgerReader
from tests.store.examples import SECOND, steps


@pytest.fixture(params=["memory", "ledger"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Writer]:
    made: Writer = MemoryStore() if request.param == "memory" else Ledger(tmp_path)
    yield made
    made.close()


@pytest.fixture(params=["memory", "ledger", "ledger in blocks", "ledger while it is written"])
def filled(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reader]:
    block = 2 if "blocks" in request.param else 100
    writer: Writer = MemoryStore() if request.param == "memory" else Ledger(tmp_path, block=block)
    for event, decision in steps():
        writer.append(event, decision)
    reader: Reader = LedgerReader(tmp_path) if "while" in request.param else writer
    yield reader
    for each in {reader, writer}:
        each.close()  # type: ignore[attr-defined]


def _text(entry: Entry) -> tuple[int, str, str]:
    return entry.seq, text_of(entry.event), text_of(entry.decision)


EXPECTED = [_text(Entry(seq, event, decision)) for seq, (event, decision) in enumerate(steps(), 1)]


def test_an_empty_store(store: Writer) -> None:
    assert list(store.entries()) == []
    assert (store.last_seq(), store.seq_at(10**18), store.entry(1)) == (0, 0, None)
    assert store.latest("node") == []
    assert store.mentions("node") == store.mentions("node", "node01") == []
    assert store.identity().last_epoch == 0
    assert store.latest_snapshot() is None


def test_steps_are_numbered_from_one(store: Writer) -> None:
    assert [store.append(event, decision) for event, decision in steps()] == list(range(1, 9))


def test_it_is_a_store_for_the_engine(store: Writer) -> None:
    port: Store = store
    assert port.append(*steps()[0]) == 1
    assert [entry.seq for entry in port.entries()] == [1]


def test_what_went_in_comes_out(filled: Reader) -> None:
    assert [_text(entry) for entry in filled.entries()] == EXPECTED
    assert filled.last_seq() == len(EXPECTED)


@pytest.mark.slow
@pytest.mark.parametrize("after", [0, 1, 7, 8, 9])
def test_the_rest_of_the_steps(filled: Reader, after: int) -> None:
    assert [_text(entry) for entry in filled.entries(after)] == EXPECTED[after:]


def test_steps_by_the_kind_of_their_event(filled: Reader) -> None:
    assert [entry.seq for entry in filled.entries(kinds=["Started"])] == [1, 7]
    assert [entry.seq for entry in filled.entries(1, kinds=["Started", "Woke"])] == [3, 7, 8]
    assert list(filled.entries(kinds=["Failed"])) == []


@pytest.mark.slow
def test_one_step(filled: Reader) -> None:
    found = filled.entry(5)
    assert found is not None
    assert _text(found) == EXPECTED[4]
    assert [filled.entry(seq) for seq in (-1, 0, 9)] == [None, None, None]


@pytest.mark.slow
def test_the_last_step_before_a_time(filled: Reader) -> None:
    assert [filled.seq_at(at_us) for at_us in (0, SECOND, SECOND + 1, 5 * SECOND, 10**18)] == [0, 0, 1, 4, 8]


def test_the_latest_of_each_subject(filled: Reader) -> None:
    nodes = filled.latest("node")
    assert [(found.subject, found.seq) for found in nodes] == [("node01", 2), ("node02", 5), ("node03", 1)]
    lives = [found.change.state.life for found in nodes if hasattr(found.change, "state")]
    assert lives == [NodeLife.JOINING, NodeLife.JOINING, NodeLife.FREE]
    assert [(found.subject, found.seq) for found in filled.latest("cluster")] == [("alpha", 3)]
    assert [(found.subject, found.seq) for found in filled.latest("tick")] == [("", 8)]
    assert [(found.subject, found.seq) for found in filled.latest("PutPause")] == [("", 6)]


@pytest.mark.slow
def test_an_ended_job_is_still_known(filled: Reader) -> None:
    (found,) = filled.latest("job")
    assert isinstance(found.change, PutJob)
    assert (found.seq, found.change.state.life, found.change.state.wait_us) == (8, JobLife.SUCCEEDED, 0)


@pytest.mark.slow
def test_what_was_dropped_is_not_known(filled: Reader) -> None:
    (found,) = filled.latest("pending")
    assert isinstance(found.change, PutPending)
    assert (found.subject, found.change.version) == ("tick", 2)


def test_of_two_changes_within_a_step_the_second_counts(filled: Reader) -> None:
    (found,) = filled.latest("sample")
    assert getattr(found.change, "waiting_in_yarn", None) == 0


def test_dropping_what_was_put_in_the_same_step(store: Writer) -> None:
    store.append(Woke(at_us=1), Decision((PutPending("a", 1, 2), DropPending("a"), DropPending("never"))))
    assert store.latest("pending") == []


@pytest.mark.slow
def test_steps_that_mention_a_subject(filled: Reader) -> None:
    assert filled.mentions("node", "node01") == [1, 2]
    assert filled.mentions("node", "node02") == [1, 5]
    assert filled.mentions("node", "node03") == [1, 2]  # the second only by the list of a reason
    assert filled.mentions("cluster", "alpha") == [2, 3, 5]
    assert filled.mentions("job", "alpha-1") == [4, 8]
    assert filled.mentions("tick", "2") == [8]
    assert filled.mentions("tick") == [5, 8]
    assert filled.mentions("node", "nobody") == []


@pytest.mark.slow
def test_identity(filled: Reader) -> None:
    first = filled.identity()
    assert first.last_epoch == 2
    assert first.pool_id
    assert filled.identity() == first


def test_an_older_epoch_does_not_lower_the_last_one(store: Writer) -> None:
    for event, decision in reversed(steps()):
        store.append(event, decision)
    assert store.identity().last_epoch == 2


def test_snapshots(store: Writer) -> None:
    for event, decision in steps():
        store.append(event, decision)
    for seq, state in ((3, {"a": [1]}), (5, {"b": 1.5}), (5, {"c": None})):
        store.snapshot(seq, state)
        assert store.latest_snapshot() == (seq, state)


def test_a_snapshot_of_a_step_that_is_not_there(store: Writer) -> None:
    store.append(*steps()[0])
    for seq in (0, 2):
        with pytest.raises(BrokenError, match=f"a snapshot after step {seq}, but the last step is 1"):
            store.snapshot(seq, {})


def test_reading_goes_on_while_steps_are_added(store: Writer) -> None:
    store.append(Woke(at_us=1), Decision())
    seen = []
    for entry in store.entries():
        seen.append(entry.seq)
        if entry.seq < 3:
            store.append(Woke(at_us=entry.seq), Decision())
    assert seen[0] == 1
    assert [entry.seq for entry in store.entries(len(seen))] == list(range(len(seen) + 1, store.last_seq() + 1))


@pytest.mark.slow
def test_text_of_any_kind(store: Writer) -> None:
    odd = ClusterId("ü'\"; DROP TABLE entries; \x00 \u2028 \U0001f98a")
    store.append(Woke(at_us=1), Decision((PutPending(odd, 1, 2),)))
    assert [found.subject for found in store.latest("pending")] == [odd]
