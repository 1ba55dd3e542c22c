"""Lines of the reading commands about a job of which nothing has moved for long."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fawkes.base.units import SECOND_US
from fawkes.cli.main import cli
from fawkes.core.values.model import JobId
from fawkes.core.values.sight import AppLife, AppSeen, Launcher, Work
from fawkes.core.values.tags import tag_of
from fawkes.offline.runs.folder import copied
from tests.support.desk import Desk
from tests.support.pools import settings

APP = "application_17_0001"
TOLD = "3 of its tasks run and report no progress"


def story(moves: bool) -> Desk:
    """MR-cluster a with a job that stands, or that moves once more at the end."""
    desk = Desk(4, how=settings(quiet_us=60 * SECOND_US, period_us=10**12))
    desk.up("a")
    desk.submit("a", 1)
    desk.attempt("a-1", launcher=Launcher.RUNNING, applications=(AppSeen(id=APP, life=AppLife.LIVE),))
    for done in (0, 0, 1) if moves else (0, 0):
        desk.now_s += 60
        work = Work(
            tag=tag_of(JobId("a-1"), 1), application=APP, master=True, running=3, waiting=0, done=done, progress=0.0
        )
        desk.sample(a={"work": (work,), "jobs_running": 1, "jobs_waiting": 0})
    return desk


@pytest.mark.parametrize("moves", [False, True])
def test_status_jobs_and_explain_say_what_a_job_waits_for_while_it_does(moves: bool, tmp_path: Path) -> None:
    copied(story(moves).store, tmp_path / "state")

    def run(*words: str) -> str:
        return CliRunner(env={"COLUMNS": "200"}).invoke(cli, ["--site", str(tmp_path), *words]).stdout

    (row,) = json.loads(run("jobs", "-o", "json"))["rows"]
    assert (TOLD in row["why"]) is (TOLD in run("status")) is not moves
    explained = " ".join(run("explain", "--job", "a-1").split())
    assert explained.count(TOLD) == (1 if moves else 2)
    assert ("Job a-1 goes on" in explained) is moves
