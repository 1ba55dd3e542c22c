"""Older steps are packed into blocks: whoever reads notices nothing of it, and damage in them is refused."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.base.errors import RefusedError
from fawkes.core.values.decision import Decision, PutPause
from fawkes.core.values.events import Event, PauseAsked, ResumeAsked, Woke
from fawkes.store.memory import MemoryStore
from fawkes.store.record import text_of
from fawkes.store.sqlite import LEDGER_FILE, Ledger, LedgerReader
from tests.store.examples import Step, steps, written_until_killed

KINDS = ("PauseAsked", "ResumeAsked", "Woke", "Started")
TEXTS = st.text(max_size=20) | st.sampled_from(("x\n1 2 Woke 3 4\n", "ü\U0001f98a" * 400, "\x00", "a long one " * 300))


def _step(at_us: int, which: int, text: str) -> Step:
    events: tuple[Event, ...] = (
        PauseAsked(at_us=at_us, reason=text), ResumeAsked(at_us=at_us, by=text), Woke(at_us=at_us),
    )  # fmt: skip
    return events[which], Decision((PutPause(text),) if which == 0 else ())


@st.composite
def _many(draw: st.DrawFn) -> list[Step]:
    steps = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), TEXTS), min_size=1, max_size=60))
    at_us, made = 0, []
    for later, which, text in steps:
        at_us += later
        made.append(_step(at_us, which, text))
    return made


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(_many(), st.integers(1, 8), st.lists(st.sampled_from(KINDS), max_size=2, unique=True), st.integers(0, 60))
def test_blocks_change_no_answer(given_steps: list[Step], block: int, kinds: list[str], number: int) -> None:
    memory = MemoryStore()
    with TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder), durable=False, block=block)
        for event, decision in given_steps:
            assert ledger.append(event, decision) == memory.append(event, decision)
        with closing(ledger), closing(LedgerReader(Path(folder))) as reader:
            for store in (ledger, reader):
                assert list(store.entries()) == list(memory.entries())
                assert list(store.entries(number, kinds=kinds)) == list(memory.entries(number, kinds=kinds))
                assert store.entry(number) == memory.entry(number)
                assert store.seq_at(number) == memory.seq_at(number)
                assert store.verify() == len(given_steps)
        assert _in_rows(Path(folder)) < max(2 * block, 2)
        # A program that reads more of it now: the older steps are packed otherwise, and are the same.
        with closing(Ledger(Path(folder), durable=False, block=3)) as again:
            again.append(Woke(at_us=10**6), Decision())
            assert list(again.entries())[:-1] == list(memory.entries())


def _in_rows(folder: Path) -> int:
    with closing(sqlite3.connect(folder / LEDGER_FILE)) as db:
        return int(db.execute("SELECT count(*) FROM entries").fetchone()[0])


@pytest.mark.parametrize(("size", "steps"), [(0, 20), (900, 8)])
def test_a_block_has_as_many_steps_as_it_may_and_fewer_large_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, steps: int
) -> None:
    monkeypatch.setattr("fawkes.store.steps._BLOCK_BYTES", 10_000)
    with closing(Ledger(tmp_path, durable=False, block=20)) as ledger:
        for at_us in range(45):
            ledger.append(*_step(at_us, 0, "x" * size))
    with closing(sqlite3.connect(tmp_path / LEDGER_FILE)) as db:
        assert db.execute("SELECT first, last FROM blocks").fetchall() == [(1, steps)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A closed ledger of 24 steps, of which 20 are in blocks of four."""
    with closing(Ledger(tmp_path, block=4)) as ledger:
        for event, decision in steps() * 3:
            ledger.append(event, decision)
    with closing(sqlite3.connect(tmp_path / LEDGER_FILE)) as db:
        blocks = db.execute("SELECT first, last FROM blocks").fetchall()
    assert blocks == [(1, 4), (5, 8), (9, 12), (13, 16), (17, 20)]
    return tmp_path


def _sql(statement: str) -> Callable[[sqlite3.Connection], None]:
    def run(db: sqlite3.Connection) -> None:
        db.execute(statement)

    return run


def _last_byte(db: sqlite3.Connection) -> None:
    (data,) = db.execute("SELECT steps FROM blocks WHERE first = 5").fetchone()
    db.execute("UPDATE blocks SET steps = ? WHERE first = 5", (data[:-30] + bytes([data[-30] ^ 1]) + data[-29:],))


_CHANGED = "have changed since they were stored"

DAMAGES: dict[str, tuple[Callable[[sqlite3.Connection], None], str]] = {
    "a bit": (_last_byte, f"steps 5 to 8 {_CHANGED}"),
    "cut": (
        _sql("UPDATE blocks SET steps = substr(steps, 1, 300) WHERE first = 5"), f"steps 5 to 8 {_CHANGED}",
    ),
    "no block": (_sql("UPDATE blocks SET steps = 'text' WHERE first = 5"), f"steps 5 to 8 {_CHANGED}"),
    "empty": (_sql("UPDATE blocks SET steps = x'' WHERE first = 5"), f"steps 5 to 8 {_CHANGED}"),
    "another block": (
        _sql("UPDATE blocks SET steps = (SELECT steps FROM blocks WHERE first = 9) WHERE first = 5"),
        f"steps 5 to 8 {_CHANGED}",
    ),
    "too short": (_sql("UPDATE blocks SET last = 7 WHERE first = 5"), f"steps 5 to 7 {_CHANGED}"),
    "too long": (_sql("UPDATE blocks SET last = 10 WHERE first = 5"), f"steps 5 to 10 {_CHANGED}"),
    "its checksum": (_sql("UPDATE blocks SET digest = x'00' WHERE first = 5"), f"steps 5 to 8 {_CHANGED}"),
    "lost": (_sql("DELETE FROM blocks WHERE first = 5"), "step 8 is missing"),
    "the first lost": (_sql("DELETE FROM blocks WHERE first = 1"), "step 4 is missing"),
    "the last lost": (_sql("DELETE FROM blocks WHERE first = 17"), "step 20 is missing"),
    "a kind forgotten": (
        _sql("DELETE FROM kinds WHERE kind = 'Started' AND first = 5"),
        "its index of Started after step 4 does not follow from its steps",
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_block_is_refused(folder: Path, damage: str) -> None:
    spoil, message = DAMAGES[damage]
    with closing(sqlite3.connect(folder / LEDGER_FILE)) as db:
        spoil(db)
        db.commit()
    before = (folder / LEDGER_FILE).read_bytes()
    with closing(LedgerReader(folder)) as reader:
        texts: list[str] = []
        with suppress(RefusedError):
            texts.extend(text_of(entry.event) for entry in reader.entries())
        with pytest.raises(RefusedError, match="the ledger is damaged") as caught:
            reader.verify()
        assert message in caught.value.what
    assert texts == [text_of(event) for event, _ in steps() * 3][: len(texts)]
    assert (folder / LEDGER_FILE).read_bytes() == before


def test_a_damaged_step_is_not_hidden_in_a_block(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with closing(Ledger(folder, block=4)) as ledger:
        ledger.snapshot(23, {"after": 23})
    with closing(sqlite3.connect(folder / LEDGER_FILE)) as db:
        db.execute("UPDATE entries SET decision = '{}' WHERE seq = 22")
        db.commit()
    with closing(Ledger(folder, block=4)) as ledger:
        for event, decision in steps() * 2:
            ledger.append(event, decision)
    assert caplog.text.count("older steps are not packed") == 1
    assert _in_rows(folder) == 20
    with (
        closing(LedgerReader(folder)) as reader,
        pytest.raises(RefusedError, match="step 22 has changed since it was stored"),
    ):
        reader.verify()


def test_reading_goes_on_while_steps_are_packed(folder: Path) -> None:
    with closing(Ledger(folder, block=4)) as ledger, closing(LedgerReader(folder)) as reader:
        seen = []
        for entry in reader.entries():
            seen.append(entry.seq)
            if len(seen) <= 60:
                ledger.append(Woke(at_us=10**6), Decision())
        assert seen == list(range(1, 85))


@pytest.mark.slow
def test_steps_that_are_alike_take_little_room(tmp_path: Path) -> None:
    event, decision = steps()[4]
    with closing(Ledger(tmp_path, durable=False)) as ledger:
        for _ in range(3000):
            ledger.append(event, decision)
        ledger._db.execute("DROP TABLE mentions")
        ledger._db.execute("VACUUM")
    assert (tmp_path / LEDGER_FILE).stat().st_size < 3000 * 200


@pytest.mark.slow
def test_a_kill_while_steps_are_packed_loses_none(tmp_path: Path) -> None:
    for round_ in range(5):
        last = written_until_killed(tmp_path, 60 + 7 * round_, block=2)
        with closing(LedgerReader(tmp_path)) as reader:
            assert reader.verify() >= last
