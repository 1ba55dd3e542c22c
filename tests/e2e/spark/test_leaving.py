"""Nodes leave an MR-cluster while a Spark application has executors on them: what that costs.

``FAWKES_SHOW_S`` is about how many seconds the longest application takes: 240 by default, for the moves take two
minutes, and 600 for the long show.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from fawkes.core.values.model import ClusterId, ClusterLife, JobId, JobLife, Role
from fawkes.core.values.tags import tag_of
from fawkes.live.lab.spec import CONTROLLER_ADDRESS
from fawkes.playbook.dist import pieces
from tests.e2e.spark.support import WORDS, counted, expected, spark_job, stages, tasks_run
from tests.support.site import RealSite, real_site

pytestmark = [pytest.mark.hadoop, pytest.mark.drill]

SHOW_S = float(os.environ.get("FAWKES_SHOW_S", "240"))
SETTINGS = 'preset = "demo"\nperiod = "10s"\nsample_every = "2s"\nidle_time = "never"\ntransient_leave = "{leave}"\n'
CLUSTER = f"""
min_nodes = 2
replication = 1
software = ["spark"]
clients = ["{CONTROLLER_ADDRESS}"]
outputs = [{{ path = "/out", save_to = "../saved/s" }}]
scratch = ["/scratch"]
"""
LEAVES = ("never", "1h", "instant")
ROUNDS, TASKS, SECONDS = 4, 24, 3
#: what a round takes while nodes come and go
ROUND_S = 14.0


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealSite]:
    pieces.provide(pieces.of_name("spark"))
    with real_site(tmp_path_factory.mktemp("leaving") / "lab", 5, SETTINGS.format(leave="1h"), memory_mb=2000) as site:
        site.write("clusters/s.toml", CLUSTER)
        site.write("jobs/words.py", WORDS.read_text())
        site.run()
        site.request("s")
        site.fawkes("hold", "s", "--reason", "the tests move its nodes")
        yield site


def begin(site: RealSite, name: str, rounds: int, *kept: str) -> None:
    """Submit an application, and wait until its first round has begun."""
    words = (str(rounds), str(TASKS), str(SECONDS), f"/out/{name}", *kept)
    site.fawkes("submit", "s", spark_job(site, name, *words, keys='python = "words.py"\nretries = 0\n'))
    until_done(site, name, TASKS // 4)


def until_done(site: RealSite, name: str, tasks: int) -> None:
    """Wait until an application has that many tasks behind it."""

    def done() -> bool:
        job, seen = site.ledger.jobs.get(name), site.state.latest(ClusterId("s"))
        assert job is None or job.life is not JobLife.FAILED, site.story()
        return any(
            row.tag == tag_of(JobId(name), 1) and (row.done or 0) >= tasks for row in (seen.work if seen else ())
        )

    site.until(f"{tasks} tasks of {name}", done, limit_s=SHOW_S + 300)


def move(site: RealSite, verb: str, count: int, serving: int) -> None:
    """Grow or shrink by hand, and wait until that many transient nodes are left and all others are free."""
    began = time.monotonic()
    site.fawkes(verb, "s", str(count))
    site.until("nodes", lambda: len(site.serving("s", Role.TRANSIENT)) == len(site.nodes_of("s")) - 2 == serving)
    print(f"{verb} {count}: {time.monotonic() - began:.0f} s")


def ended(site: RealSite, name: str) -> None:
    """Wait until an application has ended: the first attempt of its job, and the only one."""
    (job,) = site.until_ended(name, limit_s=SHOW_S + 300)
    assert (job.life, job.attempt, job.why) == (JobLife.SUCCEEDED, 1, ""), site.story()
    (application,) = site.applications("s", name)
    assert application["finalStatus"] == "SUCCEEDED"
    rows = stages(site, "s", name)
    has, ran = tasks_run(rows)
    again = sum(row["attemptId"] > 0 for row in rows)
    print(f"{name}: {application['elapsedTime'] / 1000:.0f} s, {has} tasks, {ran - has} again, {again} stages again")


@pytest.mark.parametrize("leave", LEAVES)
def test_a_node_that_leaves_costs_no_more_than_what_it_had(site: RealSite, leave: str) -> None:
    site.write("fawkes.toml", SETTINGS.format(leave=leave.replace("never", "1h")))
    site.fawkes("reload")
    if serving := len(site.serving("s", Role.TRANSIENT)) - 2:
        move(site, "grow" if serving < 0 else "shrink", abs(serving), 2)
    begin(site, leave, ROUNDS)
    if leave != "never":
        until_done(site, leave, 2 * TASKS)
        move(site, "shrink", 1, 1)
    ended(site, leave)


def test_one_application_lives_through_two_grows_three_shrinks_and_a_killed_controller(site: RealSite) -> None:
    # A node that leaves an application for the second time has executors until its time is up: Spark asks it once.
    site.write("fawkes.toml", SETTINGS.format(leave="30s"))
    site.fawkes("reload")
    if serving := len(site.serving("s", Role.TRANSIENT)):
        move(site, "shrink", serving, 0)
    rounds = max(4, round(SHOW_S / ROUND_S))
    begin(site, "show", rounds, "/scratch/show")
    steps = [("grow", 2, 2), ("shrink", 1, 1), ("grow", 2, 3), ("kill", 0, 3), ("shrink", 1, 2), ("shrink", 1, 1)]
    for number, (verb, count, serving) in enumerate(steps):
        until_done(site, "show", number * rounds * TASKS // 8)
        if verb == "kill":
            site.kill()
            site.run()
        else:
            move(site, verb, count, serving)
    assert site.ledger.jobs["show"].life is JobLife.RUNNING
    ended(site, "show")
    site.fawkes("release", "s", "--yes")
    site.until_life(ClusterLife.GONE, "s")
    for name in ("show", *(leave for leave in LEAVES if leave in site.ledger.jobs)):
        assert counted(site.root / "saved/s" / name) == expected(rounds if name == "show" else ROUNDS, TASKS)
