"""The record of quotas: what was stored comes back, is decided again alike, and gets thinner with time."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from fawkes.base.errors import FawkesError, RefusedError
from fawkes.base.version import __version__
from fawkes.core.quota.loop import step
from fawkes.core.quota.sight import LoopState, PeriodLook
from fawkes.core.quota.values import QuotaRules
from fawkes.core.values.events import PolicyText
from fawkes.store.quotas import FILE, QuotaReader, QuotaRecord
from tests.core.quota.support import quota
from tests.core.quota.test_loop import NODES, US, App, goal, stage

POLICY = PolicyText("EDF_PURE", "edf_pure.py", "", "")
RULES = QuotaRules()


def record(
    folder: Path, periods: int, every_us: int = US // 2, *, restart_at: int = -1, job: str = "x", begun_us: int = 0
) -> list[tuple[int, str]]:
    """Two applications under way, so many periods long; when, and how each stood."""
    due_s = (begun_us + periods * every_us) / US
    apps = [App(goal(stage("0 a"), stage("1 b", "0 a"), job=name, due_s=due_s)) for name in (job, "y")]
    divide, room, writer, stood = quota("edf_pure"), LoopState(), QuotaRecord(folder, POLICY, RULES), []
    for count in range(periods):
        if count == restart_at:
            writer.close()
            writer, room = QuotaRecord(folder, POLICY, RULES), LoopState()
        look = PeriodLook(at_us=begun_us + count * every_us, seen=tuple(app.seen() for app in apps), nodes=NODES)
        period = step(room, look, divide, RULES)
        writer.append(room, look, period)
        for app in apps:
            app.done = min(399.0, app.done + 0.3)
        room = period.room
        stood += [(look.at_us, f"{course.job} {course.given:.3f}") for course in period.courses]
    writer.close()
    return stood


def test_courses_come_back_and_are_decided_again_also_over_a_restart(tmp_path: Path) -> None:
    stood = record(tmp_path, 300, restart_at=151)
    reader = QuotaReader(tmp_path)
    assert [(at_us, f"{c.job} {c.given:.3f}") for at_us, c in reader.courses()] == stood
    assert {course.job for _, course in reader.courses("x", after_us=100 * US)} == {"x"}
    assert min(at_us for at_us, _ in reader.courses("x", after_us=100 * US)) == 100 * US
    assert {at_us for at_us, _ in reader.courses("x", 20 * US, 21 * US)} == {20 * US, 41 * US // 2, 21 * US}
    assert list(reader.differences(lambda policy: quota("edf_pure"))) == []
    assert reader.count() == 300
    reader.ends(lambda: True)
    with pytest.raises(FawkesError):
        reader.courses()


def test_a_policy_that_divides_otherwise_is_noticed(tmp_path: Path) -> None:
    record(tmp_path, 30)
    db = sqlite3.connect(tmp_path / FILE)
    db.execute("UPDATE periods SET quotas = quotas + 1 WHERE seq = 7")
    db.commit()
    assert [each.seq for each in QuotaReader(tmp_path).differences(lambda policy: quota("edf_pure"))] == [7]


def test_old_periods_get_thin_and_the_rest_is_still_decided_again(tmp_path: Path) -> None:
    record(tmp_path, 3700, every_us=3 * US)
    reader = QuotaReader(tmp_path)
    times = sorted({at_us for at_us, _ in reader.courses()})
    assert len([at_us for at_us in times if at_us < 3600 * US]) == 1200 // 20
    assert times[-1] == 3699 * 3 * US
    assert list(reader.differences(lambda policy: quota("edf_pure"))) == []


def test_ten_applications_take_less_than_ten_megabytes_an_hour(tmp_path: Path) -> None:
    apps = [App(goal(stage("0 a"), stage("1 b", "0 a"), job=f"job-{n}", due_s=7200)) for n in range(10)]
    divide, room, writer = quota("edf_prop"), LoopState(), QuotaRecord(tmp_path, POLICY, RULES)
    for count in range(720):
        look = PeriodLook(at_us=count * US // 2, seen=tuple(app.seen() for app in apps), nodes=NODES)
        period = step(room, look, divide, RULES)
        writer.append(room, look, period)
        for place, app in enumerate(apps):
            app.done = min(399.0, app.done + 0.1 * place)
        room = period.room
    writer.close()
    assert (tmp_path / FILE).stat().st_size * 10 < 10_000_000


@pytest.mark.parametrize("made", [False, True])
def test_nothing_recorded_is_no_error(made: bool, tmp_path: Path) -> None:
    """Nor is a file without tables: a controller was killed between making it and its first period."""
    if made:
        (tmp_path / FILE).touch()
    assert QuotaReader(tmp_path).courses() == []
    assert QuotaReader(tmp_path).count() == 0
    assert list(QuotaReader(tmp_path).differences(lambda policy: quota("edf_pure"))) == []


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE periods SET courses = x'00ff00' WHERE seq = 3",
        "UPDATE periods SET courses = x'0300' WHERE seq = 3",
        "UPDATE periods SET seen = x'00ff00' WHERE seq = 3",
        "UPDATE rooms SET room = x'00ff00'",
        "UPDATE goals SET goal = '{'",
        "DELETE FROM goals",
        "DROP TABLE goals",
    ],
)
def test_a_damaged_record_is_no_damaged_ledger(harm: str, tmp_path: Path) -> None:
    record(tmp_path, 5)
    db = sqlite3.connect(tmp_path / FILE)
    db.execute(harm)
    db.commit()
    said = f"{tmp_path / FILE}: the record of quotas is damaged: .* Move it away: nothing but the courses"
    with pytest.raises(RefusedError, match=said):
        list(QuotaReader(tmp_path).differences(lambda policy: quota("edf_pure")))
    if "SET courses" in harm:
        with pytest.raises(RefusedError, match=said):
            QuotaReader(tmp_path).courses()


@pytest.mark.parametrize(
    ("version", "by"), [(__version__, "another build of Fawkes"), ("0.2.9", "Fawkes 0.2.9")], ids=["build", "version"]
)
@pytest.mark.parametrize(
    "change",
    [
        """UPDATE goals SET goal = replace(goal, '"job"', '"task"')""",
        """UPDATE rooms SET rules = '{"unheard_of":1}'""",
        "ALTER TABLE periods RENAME COLUMN courses TO stood",
    ],
)
def test_the_record_of_another_build_is_no_damage(change: str, version: str, by: str, tmp_path: Path) -> None:
    record(tmp_path, 5)
    db = sqlite3.connect(tmp_path / FILE)
    db.execute("UPDATE rooms SET version = ?", (version,))
    db.execute(change)
    db.commit()
    said = f"record of quotas was written by {by}, and this Fawkes {__version__} cannot read it: .* Use the version"
    with pytest.raises(RefusedError, match=said):
        list(QuotaReader(tmp_path).differences(lambda policy: quota("edf_pure")))


def test_a_full_disk_costs_the_record_and_then_it_goes_on(tmp_path: Path) -> None:
    app, writer, room = App(goal(stage("0 a"))), QuotaRecord(tmp_path, POLICY, RULES), LoopState()
    failed: list[FawkesError] = []
    for count in range(300):
        if count == 60:
            # Begun while there is no room.
            app = App(goal(stage("0 a"), job="later"))
        writer._open().execute(f"PRAGMA max_page_count = {1 if 50 < count < 250 else 100_000}")
        look = PeriodLook(at_us=count * US, seen=(replace(app, done=count).seen(),), nodes=NODES)
        period = step(room, look, quota("edf_pure"), RULES)
        try:
            writer.append(room, look, period)
        except FawkesError as error:
            failed.append(error)
        room = period.room
    assert {error.what for error in failed} == {"the disk is full"}
    reader = QuotaReader(tmp_path)
    assert reader.courses()[-1][0] == 299 * US
    assert len(reader.courses()) + len(failed) == 300
    assert list(reader.differences(lambda policy: quota("edf_pure"))) == []
