"""The ledger survives kills and full disks, and refuses what it cannot trust without touching it."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from fawkes.base.errors import BrokenError, ElsewhereError, ExitStatus, FawkesError, RefusedError, UserError
from fawkes.core.values.decision import Decision, PutPause
from fawkes.core.values.events import PauseAsked, Woke
from fawkes.engine.ports import Entry
from fawkes.store.base import NODE
from fawkes.store.health import boot
from fawkes.store.lock import holder
from fawkes.store.record import text_of
from fawkes.store.sqlite import LEDGER_FILE, Ledger, LedgerReader
from fawkes.store.steps import BLOCK, digest_of
from tests.store.examples import python, steps, written_until_killed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A state folder with a ledger of eight steps, closed."""
    made = tmp_path / "site" / "state"
    ledger = Ledger(made)
    for event, decision in steps():
        ledger.append(event, decision)
    ledger.close()
    return made


def test_a_copy_is_whole_while_the_writer_goes_on(folder: Path, tmp_path: Path) -> None:
    ledger = Ledger(folder)
    ledger.append(Woke(at_us=9_000_000), Decision())
    reader = LedgerReader(folder)
    (tmp_path / "copy").mkdir()
    reader.copy_to(tmp_path / "copy")
    ledger.append(Woke(at_us=10_000_000), Decision())
    copy = LedgerReader(tmp_path / "copy")
    assert copy.verify() == 9
    assert copy.identity() == reader.identity()
    assert list(copy.texts()) == list(reader.texts())[:9]
    copy.close()
    assert [path.name for path in (tmp_path / "copy").iterdir()] == [LEDGER_FILE]
    with pytest.raises(UserError):
        reader.copy_to(tmp_path / "nowhere")
    reader.close()
    ledger.close()


def test_it_is_filled_with_all_steps_or_with_none(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    entries = [Entry(seq, event, decision) for seq, (event, decision) in enumerate(steps(), start=1)]

    def ends_early() -> Iterator[Entry]:
        yield from entries
        raise BrokenError("the source ends early")

    with suppress(BrokenError):
        ledger.fill(ends_early())
    assert (ledger.verify(), ledger.latest(NODE), ledger.identity().last_epoch) == (0, [], 0)
    ledger.fill(entries)
    assert ledger.append(Woke(at_us=9_000_000), Decision()) == 9
    with pytest.raises(BrokenError, match="has 9 steps"):
        ledger.fill(entries)
    assert ledger.verify() == 9
    ledger.close()


@pytest.mark.parametrize("block", [1, 3, 256])
@pytest.mark.parametrize("times", [0, 1, 5])
def test_filled_it_has_what_it_has_when_each_step_is_appended(tmp_path: Path, block: int, times: int) -> None:
    given, tables = steps() * times, []
    for name in ("filled", "appended"):
        with closing(Ledger(tmp_path / name, block=block)) as ledger:
            if name == "filled":
                ledger.fill(Entry(0, event, decision) for event, decision in given)
            for event, decision in [*(given if name == "appended" else ()), (Woke(at_us=9_000_000), Decision())]:
                ledger.append(event, decision)
        with closing(sqlite3.connect(tmp_path / name / LEDGER_FILE)) as db:
            names = ("entries", "blocks", "kinds", "head", "latest", "mentions")
            tables.append({name: db.execute(f"SELECT * FROM {name}").fetchall() for name in names})
            tables[-1]["epoch"] = db.execute("SELECT value FROM meta WHERE key = 'last_epoch'").fetchall()
    assert tables[0] == tables[1]
    assert tables[0]["mentions"] or not times


def test_it_goes_on_where_it_ended(folder: Path) -> None:
    ledger = Ledger(folder)
    assert ledger.append(Woke(at_us=9_000_000), Decision()) == 9
    assert ledger.verify() == 9
    ledger.close()
    assert sorted(path.name for path in folder.iterdir()) == [LEDGER_FILE, "lock"]


def test_the_pool_keeps_its_id(folder: Path) -> None:
    before = LedgerReader(folder).identity()
    ledger = Ledger(folder)
    assert ledger.identity() == before
    assert len(before.pool_id) == 36
    ledger.close()


@pytest.mark.slow
def test_every_acknowledged_step_survives_a_kill(tmp_path: Path) -> None:
    for round_ in range(3):
        acknowledged = written_until_killed(tmp_path, 40 + 7 * round_, BLOCK)
        reader = LedgerReader(tmp_path)
        seen = reader.last_seq()
        assert reader.verify() == seen >= acknowledged
        reader.close()
        ledger = Ledger(tmp_path)
        assert ledger.last_seq() == seen
        ledger.close()


@pytest.mark.slow
def test_a_full_disk_stores_nothing_half(tmp_path: Path) -> None:
    # A limit on the size of files stands for the disk: SQLite gets an error in the middle of writing either way.
    script = """
        import resource, sys
        from pathlib import Path
        from fawkes.base.errors import FawkesError
        from fawkes.store.sqlite import Ledger
        from tests.store.examples import steps
        ledger = Ledger(Path(sys.argv[1]))
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
        event, decision = steps()[0]
        try:
            while True:
                last = ledger.append(event, decision)
        except FawkesError as error:
            print(last, type(error).__name__, error, sep="|")
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print(ledger.append(event, decision), ledger.verify(), sep="|")
        ledger.close()
    """
    writer = python(script, tmp_path)
    first, second = writer.communicate(timeout=60)[0].splitlines()
    last, kind, message = first.split("|")
    assert kind == "FullError"
    assert "The step was not stored and nothing of it was done" in message
    assert message.startswith(str(tmp_path / LEDGER_FILE))
    assert second == f"{int(last) + 1}|{int(last) + 1}"


def test_no_space_left_is_said_in_so_many_words(folder: Path) -> None:
    ledger = Ledger(folder)
    pages = ledger._db.execute("PRAGMA page_count").fetchone()[0]
    ledger._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(FawkesError, match="the disk is full") as caught:
        _append_for_ever(ledger)
    assert caught.value.exit_status == ExitStatus.FAILED
    ledger._db.execute("PRAGMA max_page_count = 100000")
    before = ledger.last_seq()
    assert ledger.append(*steps()[0]) == before + 1
    assert ledger.verify() == before + 1
    ledger.close()


def _append_for_ever(ledger: Ledger) -> None:
    while True:
        ledger.append(*steps()[0])


@pytest.mark.slow
def test_a_second_controller_is_refused(folder: Path) -> None:
    script = """
        import sys
        from pathlib import Path
        from fawkes.store.sqlite import Ledger
        ledger = Ledger(Path(sys.argv[1]))
        print("mine", flush=True)
        sys.stdin.read()
    """
    other = python(script, folder, stdin=subprocess.PIPE)
    assert other.stdout is not None
    assert other.stdout.readline() == "mine\n"
    held_by = holder(folder)
    assert held_by is not None
    assert held_by.pid == other.pid
    with pytest.raises(ElsewhereError, match=rf"another controller is in charge: process {other.pid} on ") as caught:
        Ledger(folder)
    assert caught.value.exit_status == ExitStatus.ANOTHER_CONTROLLER
    assert LedgerReader(folder).last_seq() == 8
    other.send_signal(signal.SIGKILL)
    other.communicate()
    assert holder(folder) is None
    Ledger(folder).close()


BACKUP = """
    import sqlite3, sys
    from contextlib import closing
    with closing(sqlite3.connect(sys.argv[1])) as shell:
        shell.execute("SELECT count(*) FROM entries").fetchone()
"""


def test_reading_in_the_controller_leaves_it_its_log_when_another_program_closes_the_file(folder: Path) -> None:
    """A controller that lost its lock on the file would go on to write into a log that is deleted."""
    ledger = Ledger(folder)
    LedgerReader(folder).close()
    ledger.append(Woke(at_us=9_000_000), Decision())
    assert python(BACKUP, folder / LEDGER_FILE).wait() == 0
    ledger.append(Woke(at_us=10_000_000), Decision())
    read = (
        "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('SELECT max(seq) FROM entries').fetchone()[0])"
    )
    assert python(read, f"{folder / LEDGER_FILE}").communicate()[0].strip() == "10"
    ledger.close()


def test_an_open_shell_is_named_as_the_reason(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fawkes.store.opening._BUSY_S", 0.05)
    ledger = Ledger(folder)
    shell = sqlite3.connect(folder / LEDGER_FILE, isolation_level=None)
    shell.execute("BEGIN IMMEDIATE")
    with pytest.raises(FawkesError, match="another program has locked the ledger"):
        ledger.append(*steps()[0])
    shell.close()
    assert ledger.append(*steps()[0]) == 9
    ledger.close()


def test_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no ledger") as caught:
        LedgerReader(tmp_path)
    assert "fawkes run" in caught.value.hint


def test_a_creation_that_was_killed_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / f"{LEDGER_FILE}.new").write_bytes(b"half of it")
    ledger = Ledger(tmp_path)
    assert ledger.last_seq() == 0
    ledger.close()


def _sql(*statements: str) -> Callable[[Path], None]:
    def run(path: Path) -> None:
        with sqlite3.connect(path) as db:
            for statement in statements:
                db.execute(statement)
        db.close()

    return run


def _bytes(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def run(path: Path) -> None:
        path.write_bytes(change(path.read_bytes()))

    return run


def _patched(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


def _foreign(path: Path) -> None:
    path.unlink()
    _sql("CREATE TABLE bookmarks (url TEXT)", "PRAGMA application_id = 7")(path)


def _digits_of_an_event(data: bytes) -> bytes:
    assert data.count(b'"by":"ann"') == 1
    return data.replace(b'"by":"ann"', b'"by":"bob"')


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "empty": (_bytes(lambda data: b""), "the ledger is damaged: it has 0 bytes"),
    "cut in the header": (_bytes(lambda data: data[:50]), "the ledger is damaged: it has 50 bytes"),
    "cut in the middle": (_bytes(lambda data: data[: len(data) // 2]), "the ledger is damaged"),
    "cut within a page": (_bytes(lambda data: data[:-1000]), "the ledger is damaged"),
    "no database": (_bytes(lambda data: b"Dear diary, " * 100), "this is not an SQLite file"),
    "garbage in the middle": (
        _bytes(lambda data: _patched(data, len(data) // 2, b"\xa5" * 4096)),
        "the ledger is damaged",
    ),
    "garbage everywhere behind the header": (
        _bytes(lambda data: _patched(data, 100, b"\xa5" * (len(data) - 100))),
        "the ledger is damaged",
    ),
    "one word changed": (_bytes(_digits_of_an_event), "the ledger is damaged: step 2 has changed since it was stored"),
    "newer": (
        _bytes(lambda data: _patched(data, 60, (99).to_bytes(4, "big"))),
        "the ledger has format 99, this Fawkes knows formats up to 2",
    ),
    "another program's": (_foreign, "this SQLite file belongs to another program"),
    "a step lost": (_sql("DELETE FROM entries WHERE seq = 4"), "the ledger is damaged: step 4 is missing"),
    "the first steps lost": (_sql("DELETE FROM entries WHERE seq < 3"), "the ledger is damaged: step 2 is missing"),
    "the last steps lost": (
        _sql("DELETE FROM entries WHERE seq > 6"),
        "the ledger is damaged: its last step is 6, but it once had 8",
    ),
    "all steps lost": (_sql("DELETE FROM entries"), "the ledger is damaged: its last step is 0, but it once had 8"),
    "a decision edited": (
        _sql("UPDATE entries SET decision = '{}' WHERE seq = 5"),
        "the ledger is damaged: step 5 has changed since it was stored",
    ),
    "a time edited": (
        _sql("UPDATE entries SET at_us = 1 WHERE seq = 8"),
        "the ledger is damaged: step 8 has changed since it was stored",
    ),
    "bytes instead of text": (
        _sql("UPDATE entries SET event = x'ff00' WHERE seq = 8"),
        "the ledger is damaged: step 8 has changed since it was stored",
    ),
    "no text at all": (
        _sql("UPDATE entries SET event = CAST(x'ff22' AS TEXT) WHERE seq = 8"),
        "the ledger is damaged: Could not decode to UTF-8",
    ),
    "a table lost": (_sql("DROP TABLE head"), "the ledger is damaged: no such table: head"),
    "the head lost": (_sql("DELETE FROM head"), "the ledger is damaged: its last step is not recorded"),
}


def _read_all(folder: Path) -> None:
    reader = LedgerReader(folder)
    try:
        reader.verify()
    finally:
        reader.close()


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("use", [Ledger, _read_all], ids=["run", "verify"])
def test_a_ledger_that_cannot_be_trusted_is_refused_untouched(
    folder: Path, damage: str, use: Callable[[Path], object]
) -> None:
    spoil, message = DAMAGES[damage]
    path = folder / LEDGER_FILE
    spoil(path)
    before = path.read_bytes()
    with pytest.raises(RefusedError) as caught:
        use(folder)
    assert caught.value.what.startswith(message)
    assert caught.value.where == str(path)
    assert "was not changed. " in caught.value.hint
    assert caught.value.exit_status == ExitStatus.REFUSED
    assert path.read_bytes() == before
    assert holder(folder) is None


@pytest.mark.parametrize("damage", ["the last steps lost", "all steps lost", "the head lost"])
def test_a_reader_is_refused_a_ledger_without_its_end(folder: Path, damage: str) -> None:
    """`fawkes verify` once decided 100 steps again and said 185, `fawkes explain` that there was no tick yet."""
    spoil, message = DAMAGES[damage]
    spoil(folder / LEDGER_FILE)
    with pytest.raises(RefusedError) as caught:
        LedgerReader(folder)
    assert caught.value.what.startswith(message)


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_reading_never_gives_a_step_that_was_not_stored(folder: Path, damage: str) -> None:
    DAMAGES[damage][0](folder / LEDGER_FILE)
    texts: list[str] = []
    with suppress(RefusedError):
        texts.extend(text_of(entry.event) for entry in LedgerReader(folder).entries())
    assert texts == [text_of(event) for event, _ in steps()][: len(texts)]


def test_damage_before_the_snapshot_does_not_stop_a_controller(folder: Path) -> None:
    ledger = Ledger(folder)
    ledger.snapshot(6, {"state": "of 6"})
    ledger.close()
    _sql("UPDATE entries SET decision = '{}' WHERE seq = 5")(folder / LEDGER_FILE)
    ledger = Ledger(folder)
    assert ledger.latest_snapshot() == (6, {"state": "of 6"})
    assert [entry.seq for entry in ledger.entries(6)] == [7, 8]
    with pytest.raises(RefusedError, match="step 5 has changed since it was stored"):
        ledger.verify()
    ledger.close()


@pytest.mark.slow
def test_a_kill_is_no_power_cut(folder: Path) -> None:
    script = """
        import os, sys
        from pathlib import Path
        from fawkes.store.sqlite import Ledger
        ledger = Ledger(Path(sys.argv[1]))
        os._exit(0)
    """
    assert python(script, folder).wait() == 0
    with closing(sqlite3.connect(folder / LEDGER_FILE)) as db:
        assert db.execute("SELECT value FROM meta WHERE key = 'opened'").fetchone() == (boot(),)
    Ledger(folder).close()
    with closing(sqlite3.connect(folder / LEDGER_FILE)) as db:
        assert db.execute("SELECT value FROM meta WHERE key = 'opened'").fetchone() is None


def _garbage_in_an_index(path: Path) -> None:
    """In a page that no start reads."""
    with sqlite3.connect(path) as db:
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'entries_at'").fetchone()
    db.close()
    _bytes(lambda data: _patched(data, 4096 * (page - 1), b"\xa5" * 4096))(path)


def test_all_pages_of_a_large_ledger_are_checked_after_a_power_cut_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / LEDGER_FILE
    _garbage_in_an_index(path)
    with pytest.raises(RefusedError, match="the ledger is damaged"):
        Ledger(folder)
    monkeypatch.setattr("fawkes.store.health._SMALL", 0)
    damaged = path.read_bytes()
    Ledger(folder).close()
    with pytest.raises(RefusedError, match="the ledger is damaged"):
        _read_all(folder)
    path.write_bytes(damaged)
    _sql(f"INSERT INTO meta VALUES ('opened', '{boot()}')")(path)
    Ledger(folder).close()
    path.write_bytes(damaged)
    _sql("INSERT INTO meta VALUES ('opened', 'an earlier start of the machine')")(path)
    with pytest.raises(RefusedError, match="the ledger is damaged"):
        Ledger(folder)


def test_an_edited_snapshot_is_not_used(folder: Path) -> None:
    ledger = Ledger(folder)
    ledger.snapshot(6, {"state": "of 6"})
    ledger._db.execute("UPDATE snapshots SET state = '{}'")
    with pytest.raises(RefusedError, match="the snapshot after step 6 has changed since it was stored"):
        ledger.latest_snapshot()
    ledger.close()


def test_what_reading_commands_see_is_verified_too(folder: Path) -> None:
    _sql("UPDATE latest SET change = replace(change, 'joining', 'serving') WHERE subject = 'node02'")(
        folder / LEDGER_FILE
    )
    with pytest.raises(RefusedError, match="its entry of node node02 does not follow from its steps"):
        _read_all(folder)


@pytest.mark.slow
@pytest.mark.parametrize("change", ["x'00'", "'{'", "5"])
def test_news_that_cannot_be_read_are_damage(folder: Path, change: str) -> None:
    _sql(f"UPDATE latest SET change = {change} WHERE subject = 'node02'")(folder / LEDGER_FILE)
    reader = LedgerReader(folder)
    with pytest.raises(RefusedError):
        reader.latest("node")
    reader.close()


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE meta SET value = '7' WHERE key = 'last_epoch'", "its last epoch is not 2, that of its steps"),
        ("DELETE FROM meta WHERE key = 'pool_id'", "its identity is missing"),
    ],
)
def test_an_identity_that_cannot_be_trusted(folder: Path, statement: str, message: str) -> None:
    _sql(statement)(folder / LEDGER_FILE)
    with pytest.raises(RefusedError, match=message):
        _read_all(folder)


def test_long_texts_are_stored_compressed(folder: Path) -> None:
    before = (folder / LEDGER_FILE).stat().st_size
    ledger = Ledger(folder)
    text = "a long error, " * 100_000
    ledger.append(PauseAsked(at_us=9_000_000, reason=text), Decision((PutPause(text),)))
    ledger.snapshot(9, {"paused": text})
    ledger.close()
    assert (folder / LEDGER_FILE).stat().st_size - before < 50_000
    reader = LedgerReader(folder)
    entry = reader.entry(9)
    assert entry is not None
    assert isinstance(entry.event, PauseAsked)
    assert entry.event.reason == text
    assert reader.latest("PutPause")[0].change == PutPause(text)
    assert reader.latest_snapshot() == (9, {"paused": text})
    assert reader.verify() == 9
    reader.close()


def test_a_folder_in_the_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / LEDGER_FILE).mkdir()
    for use in (Ledger, LedgerReader):
        with pytest.raises(UserError, match="the ledger cannot be read: it is not a file"):
            use(tmp_path)


def test_a_step_that_this_version_does_not_know(folder: Path) -> None:
    with sqlite3.connect(folder / LEDGER_FILE) as db:
        before = db.execute("SELECT digest FROM head").fetchone()[0]
        said = (9, 9_000_000, "Exploded", '{"kind":"Exploded"}', "{}")
        digest = digest_of(before, *said)
        db.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", (*said, digest))
        db.execute("UPDATE head SET seq = 9, digest = ?", (digest,))
    db.close()
    reader = LedgerReader(folder)
    with pytest.raises(RefusedError, match=r"step 9 cannot be read by Fawkes .*unknown kind 'Exploded'"):
        list(reader.entries())
    reader.close()


def test_a_closed_ledger_is_a_defect_not_damage(folder: Path) -> None:
    reader = LedgerReader(folder)
    reader.close()
    with pytest.raises(BrokenError, match="used incorrectly"):
        reader.last_seq()


@pytest.fixture
def somebody_else() -> Iterator[Callable[[], None]]:
    """Become a user who may read but not write; the test's own user again afterwards."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    yield lambda: os.seteuid(65534)
    os.seteuid(0)


def let_others_read(folder: Path) -> None:
    """Lets others read the files, as somebody may do with a copy of a ledger; Fawkes itself makes it private."""
    for file in folder.iterdir():
        file.chmod(0o644)


def test_a_user_who_may_only_read(somebody_else: Callable[[], None]) -> None:
    with TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        ledger = Ledger(folder)
        ledger.append(*steps()[0])
        ledger.close()
        let_others_read(folder)
        somebody_else()
        assert LedgerReader(folder).verify() == 1
        with pytest.raises(UserError, match="cannot be written to: Permission denied"):
            Ledger(folder)
        os.seteuid(0)
        assert sorted(path.name for path in folder.iterdir()) == [LEDGER_FILE, "lock"]


def test_a_user_who_may_only_read_while_the_controller_runs(somebody_else: Callable[[], None]) -> None:
    with TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        ledger = Ledger(folder)
        ledger.append(*steps()[0])
        let_others_read(folder)
        somebody_else()
        reader = LedgerReader(folder)
        assert reader.last_seq() == 1
        ledger.append(*steps()[1])
        assert reader.last_seq() == reader.verify() == 2
        os.seteuid(0)
        ledger.close()


def test_a_state_folder_without_locks_belongs_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", flock)
    with pytest.raises(
        UserError, match=r"No locks available\. Its file system has no locks: put the state folder on a"
    ):
        Ledger(tmp_path / "state")


def test_a_state_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "site").write_text("a file")
    with pytest.raises(UserError, match="cannot be written to: Not a directory"):
        Ledger(tmp_path / "site" / "state")
