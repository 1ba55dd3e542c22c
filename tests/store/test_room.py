"""Disks that get full and have room again, and writers that are killed: a sound ledger is taken for what it is."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from fawkes.base.errors import FullError, RefusedError, UserError
from fawkes.core.values.decision import Decision
from fawkes.core.values.events import Woke
from fawkes.store.sqlite import LEDGER_FILE, Ledger, LedgerReader
from tests.store.examples import python

PRIVATE = ("unshare", "--mount", "--propagation", "private")


def can_mount() -> bool:
    """True if a small disk can be made here that nobody else sees."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return False
    tried = [*PRIVATE, "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0


def _copied(folder: Path, to: Path) -> Path:
    """The files of a state folder as a kill at this moment would leave them, without what only lived in memory."""
    to.mkdir(parents=True)
    for file in folder.glob(f"{LEDGER_FILE}*"):
        if not file.name.endswith("-shm"):
            shutil.copy(file, to / file.name)
    return to


def _filled(folder: Path, count: int) -> Ledger:
    ledger = Ledger(folder)
    # Nothing goes from the log to the file by itself, so that each test says what is where.
    ledger._db.execute("PRAGMA wal_autocheckpoint = 0")
    for at_us in range(1, count + 1):
        ledger.append(Woke(at_us=at_us), Decision())
    return ledger


def _sound(folder: Path, count: int) -> None:
    """Reading and writing both take it as it is, and no step is lost."""
    with closing(LedgerReader(folder)) as reader:
        assert reader.verify() == count
    with closing(Ledger(folder)) as ledger:
        assert ledger.append(Woke(at_us=10**15), Decision()) == count + 1
    with closing(LedgerReader(folder)) as reader:
        assert reader.verify() == count + 1


def _pages(data: bytes) -> list[bytes]:
    return [data[at : at + 4096] for at in range(0, len(data), 4096)]


def _main_after_a_checkpoint(folder: Path, scratch: Path) -> bytes:
    """The file as it would be when all of the log had been taken over."""
    whole = _copied(folder, scratch)
    with closing(sqlite3.connect(whole / LEDGER_FILE)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return (whole / LEDGER_FILE).read_bytes()


def _half_taken_over(before: bytes, after: bytes) -> dict[str, bytes]:
    """States of a file that a full disk or a kill leaves while the pages of its log are written into it, in order."""
    old, new = _pages(before), _pages(after)
    grown = len(new) - len(old)
    assert grown > 3
    assert old[0] != new[0]
    return {
        "nothing": before,
        "first page only": b"".join([new[0], *old[1:]]),
        "all that needs no room": b"".join(new[: len(old)]),
        "some more": b"".join(new[: len(old) + grown // 2]),
        "half of a page more": b"".join(new[: len(old) + 1]) + new[len(old) + 1][:1000],
        "half of the first page": b"".join([new[0][:2048] + old[0][2048:], *old[1:]]),
        "everything": after,
    }


CUTS = [
    "nothing", "first page only", "all that needs no room", "some more", "half of a page more",
    "half of the first page", "everything",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("cut", CUTS)
def test_a_log_that_was_taken_over_in_part_is_sound(tmp_path: Path, cut: str) -> None:
    live = tmp_path / "live"
    ledger = _filled(live, 0)
    before = (live / LEDGER_FILE).read_bytes()
    for at_us in range(1, 301):
        ledger.append(Woke(at_us=at_us), Decision())
    files = _half_taken_over(before, _main_after_a_checkpoint(live, tmp_path / "scratch"))
    assert list(files) == CUTS
    killed = _copied(live, tmp_path / "killed")
    ledger.close()
    (killed / LEDGER_FILE).write_bytes(files[cut])
    _sound(killed, 300)


@pytest.mark.parametrize("size", [2, 50, 99])
def test_a_header_that_only_the_log_has(tmp_path: Path, size: int) -> None:
    live = tmp_path / "live"
    ledger = _filled(live, 30)
    # Every page goes through the log once more.
    ledger._db.execute("PRAGMA secure_delete = ON")
    ledger._db.execute("VACUUM")
    killed = _copied(live, tmp_path / "killed")
    ledger.close()
    file = killed / LEDGER_FILE
    file.write_bytes(file.read_bytes()[:size])
    _sound(killed, 30)


@pytest.mark.parametrize("size", [0, 1])
def test_an_empty_file_beside_its_log_is_not_touched(tmp_path: Path, size: int) -> None:
    """SQLite itself takes it for a new file and deletes the log: with it all that could be put right again."""
    live = tmp_path / "live"
    ledger = _filled(live, 30)
    killed = _copied(live, tmp_path / "killed")
    ledger.close()
    (killed / LEDGER_FILE).write_bytes(b"S" * size)
    log = (killed / f"{LEDGER_FILE}-wal").read_bytes()
    for use in (LedgerReader, Ledger):
        with pytest.raises(RefusedError, match=r"it has [01] bytes, but the log beside it has \d+"):
            use(killed)
    assert (killed / f"{LEDGER_FILE}-wal").read_bytes() == log


@pytest.mark.parametrize("ending", ["-wal", "-journal"])
def test_no_ledger_is_made_beside_the_log_of_another(tmp_path: Path, ending: str) -> None:
    """SQLite would write what is in it over the new one."""
    log = tmp_path / f"{LEDGER_FILE}{ending}"
    log.write_bytes(b"what is left")
    with pytest.raises(RefusedError, match="the ledger is missing, but this file belongs to it") as caught:
        Ledger(tmp_path)
    assert caught.value.where == str(log)
    assert sorted(file.name for file in tmp_path.iterdir()) == [log.name, "lock"]
    assert log.read_bytes() == b"what is left"


def test_nothing_appears_beside_the_file_of_another_program(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other")) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE bookmarks (url TEXT)")
        db.commit()
        for name in ("other", "other-wal"):
            shutil.copy(tmp_path / name, tmp_path / name.replace("other", LEDGER_FILE))
    file, log = tmp_path / LEDGER_FILE, tmp_path / f"{LEDGER_FILE}-wal"
    for content in (file.read_bytes(), file.read_bytes()[:1024]):
        file.write_bytes(content)
        before = {path.name: path.read_bytes() for path in (file, log)}
        for use in (LedgerReader, Ledger):
            with pytest.raises(RefusedError, match="belongs to another program"):
                use(tmp_path)
        assert {path.name: path.read_bytes() for path in tmp_path.glob(f"{LEDGER_FILE}*")} == before


def test_a_newer_format_in_the_log_is_refused_untouched(tmp_path: Path) -> None:
    live = tmp_path / "live"
    ledger = _filled(live, 3)
    ledger._db.execute("PRAGMA user_version = 99")
    killed = _copied(live, tmp_path / "killed")
    ledger.close()
    before = {path.name: path.read_bytes() for path in killed.iterdir()}
    for use in (LedgerReader, Ledger):
        with pytest.raises(RefusedError, match="the ledger has format 99, this Fawkes knows formats up to"):
            use(killed)
    assert {name: (killed / name).read_bytes() for name in before} == before


KILLED_WITH_A_JOURNAL = """
    import os, signal, sys
    from pathlib import Path
    from fawkes.core.values.decision import Decision
    from fawkes.core.values.events import Woke
    from fawkes.store.sqlite import Ledger
    ledger = Ledger(Path(sys.argv[1]))
    ledger._db.execute("PRAGMA journal_mode = DELETE")
    for at_us in range(1, 101):
        ledger.append(Woke(at_us=at_us), Decision())
    # A cache of two pages: what does not fit goes into the file before the step is whole.
    ledger._db.execute("PRAGMA cache_size = 2")
    ledger._db.execute("BEGIN IMMEDIATE")
    ledger._db.execute("UPDATE entries SET event = event || 'x'")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_the_half_step_in_an_ordinary_journal_is_taken_back(tmp_path: Path) -> None:
    """A network disk has no log."""
    assert python(KILLED_WITH_A_JOURNAL, tmp_path).wait() == -signal.SIGKILL
    before = (tmp_path / LEDGER_FILE).read_bytes()
    assert (tmp_path / f"{LEDGER_FILE}-journal").stat().st_size > 0
    with pytest.raises(UserError, match="the controller was killed while it wrote"):
        LedgerReader(tmp_path)
    assert (tmp_path / LEDGER_FILE).read_bytes() == before
    with closing(Ledger(tmp_path)) as ledger:
        assert ledger.last_seq() == 100
    _sound(tmp_path, 100)


FULL = """
    import os, signal, subprocess, sys
    from contextlib import closing
    from pathlib import Path
    from fawkes.core.values.decision import Decision, PutPause
    from fawkes.core.values.events import PauseAsked, Woke
    from fawkes.base.errors import FullError
    from fawkes.store.sqlite import Ledger, LedgerReader

    mount, end = Path(sys.argv[1]), sys.argv[2]
    state, filler = mount / "state", mount / "filler"
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "none", mount], check=True)

    def fill():
        file, size = os.open(filler, os.O_WRONLY | os.O_CREAT), 1 << 16
        while size >= 512:
            try:
                os.write(file, os.urandom(size))
            except OSError:
                size //= 2
        os.close(file)

    def write():
        # Steps that make the file grow while it is taken over from the log: that is where a full disk stops it.
        ledger = Ledger(state)
        for at_us in range(1, 300):
            event = PauseAsked(at_us=at_us, reason=os.urandom(3000).hex())
            ledger.append(event, Decision((PutPause(event.reason),)))
            if at_us == 150:
                fill()
                break
        ledger._db.execute("PRAGMA wal_autocheckpoint = 10")
        refused = 0
        while refused < 3:
            try:
                ledger.append(event, Decision((PutPause(event.reason),)))
            except FullError:
                refused += 1
        last = ledger.last_seq()
        with closing(LedgerReader(state)) as reader:
            assert reader.verify() == last
        if end == "goes on":
            filler.unlink()
            last += 1
            assert ledger.append(event, Decision((PutPause(event.reason),))) == last
        if end == "closed":
            ledger.close()
        print(last, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        write()
    os.waitpid(child, 0)
    if end == "killed, no shared memory":
        (state / "ledger.sqlite-shm").unlink()
    if filler.exists():
        try:
            LedgerReader(state).close()
        except FullError:
            pass
        filler.unlink()
    with closing(LedgerReader(state)) as reader:
        print(reader.verify())
    with closing(Ledger(state)) as again:
        print(again.append(Woke(at_us=2000), Decision()), again.verify())
"""


@pytest.mark.slow
@pytest.mark.skipif(not can_mount(), reason="needs root and a mount namespace of its own")
@pytest.mark.parametrize("end", ["goes on", "closed", "killed", "killed, no shared memory"])
def test_a_full_disk_that_has_room_again(tmp_path: Path, end: str) -> None:
    ran = python(FULL, tmp_path, end, before=PRIVATE)
    last, verified, *more = map(int, ran.communicate(timeout=60)[0].split())
    assert last > 100
    assert verified == last
    assert more == [last + 1, last + 1]


SETTLED = """
    import os, subprocess, sys
    from pathlib import Path
    from fawkes.base.errors import FullError
    from fawkes.store.sqlite import Ledger
    from tests.support.desk import Desk

    mount = Path(sys.argv[1])
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1500k", "none", mount], check=True)
    (entry,) = Desk(400).store.entries()
    for spare in range(20, 400, 8):
        for file in mount.iterdir():
            file.unlink()
        ledger, disk = Ledger(mount), os.statvfs(mount)
        with open(mount / "filler", "wb") as filler:
            filler.write(bytes(max(0, disk.f_bavail * disk.f_frsize - spare * 1024)))
        try:
            ledger.append(entry.event, entry.decision)
        except FullError:
            ledger.close()
            continue
        try:
            ledger.settle()
            print("whole", end=" ")
        except FullError:
            print("full", end=" ")
        ledger.close()
        print(",".join(sorted(f.name for f in mount.iterdir() if f.name.endswith(("-wal", "-journal")))) or "-")
"""


@pytest.mark.slow
@pytest.mark.skipif(not can_mount(), reason="needs root and a mount namespace of its own")
def test_a_ledger_is_one_file_or_its_writer_hears_that_the_disk_is_full(tmp_path: Path) -> None:
    """A step may find room in the log that its pages do not find in the file: closing alone would say nothing."""
    out = python(SETTLED, tmp_path, before=PRIVATE).communicate(timeout=120)[0]
    ends = [line.split() for line in out.splitlines()]
    assert {left for how, left in ends if how == "whole"} == {"-"}
    assert {how for how, _ in ends} == {"whole", "full"}


@pytest.mark.parametrize("kib", [1, 8, 20])
def test_a_new_ledger_that_finds_no_room_says_so(tmp_path: Path, kib: int) -> None:
    """A limit on the size of files, as of ``ulimit -f``, instead of a full disk."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (kib << 10, old[1]))
    try:
        with pytest.raises(FullError, match="no more data"):
            Ledger(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
