"""The exact states that chapter 3 reports: shares, turns, the deadlock, and how each remedy cures it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fawkes.base.units import SECOND_US
from fawkes.offline.studies.interference.manager import run
from fawkes.offline.studies.interference.scenario import load_cloud
from fawkes.offline.studies.interference.values import Bundle, Offers, Remedy, dominant_share, most_used
from tests.offline.studies.interference.support import TASK_US, cpus, end_s, first_s, job, played, study

FINE_THEN_HADOOP = (job("spark-fine", 40, deadline_s=300), job("hadoop", 40, at_s=5, deadline_s=180))


def test_the_dominant_share_is_that_of_the_scarcest_resource() -> None:
    assert dominant_share(Bundle(2_000, 512), Bundle(10_000, 1_024)) == 0.5


@pytest.mark.parametrize(
    ("cloud", "framework", "least", "on_slave", "in_all"),
    [
        ("dev", "hadoop", (1000, 980), (2000, 2816), (12000, 16896)),
        ("dev", "spark-fine", (2000, 896), (2000, 896), (12000, 5376)),
        ("dev", "spark-coarse", (2000, 896), (2000, 896), (12000, 5376)),
        ("dev", "storm", (2000, 2000), (2000, 2000), (6000, 6000)),
        ("prod", "hadoop", (1000, 980), (4000, 5888), (24000, 35328)),
        ("prod", "spark-fine", (2000, 896), (4000, 896), (24000, 5376)),
        ("prod", "storm", (2000, 2000), (4000, 4000), (6000, 6000)),
    ],
)
def test_table_3_1_follows_from_the_demands_of_the_frameworks(
    cloud: str, framework: str, least: Bundle, on_slave: Bundle, in_all: Bundle
) -> None:
    made, frameworks = load_cloud(cloud)
    one = next(each for each in frameworks if each.name == framework)
    assert most_used(one, made, 3 if framework == "storm" else None) == (least, on_slave, in_all)


@pytest.mark.parametrize("cloud", ["dev", "prod"])
@pytest.mark.parametrize("pair", [("hadoop", "spark-coarse"), ("spark-coarse", "hadoop")])
def test_of_two_coarse_frameworks_the_second_starts_when_the_first_has_ended(cloud: str, pair: tuple[str, str]) -> None:
    first, second = (job(name, 120, at_s=place) for place, name in enumerate(pair))
    course = played(cloud, first, second)
    assert first_s(course, pair[1]) >= end_s(course, pair[0])
    alone = run(study(cloud, first))
    assert end_s(course, pair[0]) == end_s(alone, pair[0])


def test_fine_grained_spark_starves_on_the_development_cloud_until_hadoop_has_ended() -> None:
    course = played("dev", *FINE_THEN_HADOOP)
    assert cpus(course, 5) == {"spark-fine": (12, 6), "hadoop": (0, 0)}
    ((since_us, until_us),) = course.stuck_spans("spark-fine")
    assert cpus(course, since_us / SECOND_US) == {"spark-fine": (6, 0), "hadoop": (6, 6)}
    assert until_us == end_s(course, "hadoop") * SECOND_US
    done = {one.shares["spark-fine"].standing.done for one in course.moments if since_us <= one.at_us < until_us}
    assert done == {6}
    assert end_s(course, "spark-fine") > end_s(course, "hadoop")
    assert course.stuck_spans("hadoop") == []


def test_on_the_production_cloud_both_get_half_and_hadoop_ends_first() -> None:
    course = played("prod", job("spark-fine", 120), job("hadoop", 120, at_s=5))
    settled = cpus(course, first_s(course, "hadoop"))
    assert all(abs(held - 12) <= 4 for held, _ in settled.values())
    assert course.ended["spark-fine"].stuck_us == 0
    assert end_s(course, "hadoop") < end_s(course, "spark-fine")


def test_one_offer_of_all_that_is_free_starves_spark_on_the_production_cloud_too() -> None:
    made = study("prod", job("spark-fine", 120), job("hadoop", 120, at_s=5))
    course = run(replace(made, cloud=replace(made.cloud, offers=Offers.BATCH)))
    assert course.stuck_spans("spark-fine")


def test_with_full_release_both_progress_in_every_task_length() -> None:
    """M3; a task length is one task with the start of its executor."""
    course = played("dev", *FINE_THEN_HADOOP, remedy=Remedy.RELEASE)
    start_us = 2 * SECOND_US
    both_s = min(end_s(course, "hadoop"), end_s(course, "spark-fine"))
    for begin_us in range(24 * SECOND_US, int(both_s * SECOND_US) - TASK_US - start_us, TASK_US + start_us):
        until_us = begin_us + TASK_US + start_us
        for name in ("hadoop", "spark-fine"):
            before, after = (course.at(at).shares[name].standing.done or 0 for at in (begin_us, until_us))
            assert after > before
    assert sum(course.ended[name].stuck_us for name in course.ended) == 0
    assert len(course.ended["spark-fine"].starts) == 40


def test_revocation_restores_the_shares_within_one_task_length() -> None:
    course = played("dev", *FINE_THEN_HADOOP, remedy=Remedy.REVOKE)
    ((since_us, until_us),) = course.stuck_spans("spark-fine")
    assert until_us - since_us <= TASK_US
    assert cpus(course, until_us / SECOND_US) == {"spark-fine": (6, 3), "hadoop": (6, 9)}
    assert course.ended["hadoop"].lost_tasks == 3


def test_admission_lets_in_only_what_fits() -> None:
    """40 tasks of 20 s within 300 s need 3 at once; those within 180 s need 5."""
    course = played("dev", *FINE_THEN_HADOOP, remedy=Remedy.ADMIT)
    assert cpus(course, 10) == {"spark-fine": (6, 3), "hadoop": (3.5, 5)}
    assert end_s(course, "spark-fine") <= 300
    assert end_s(course, "hadoop") - 5 <= 180
    assert all(one.stuck_us == 0 for one in course.ended.values())


def test_a_job_that_no_grant_could_save_is_dropped_at_once() -> None:
    course = played("dev", job("spark-fine", 40, deadline_s=100), remedy=Remedy.ADMIT)
    assert course.ended["spark-fine"].dropped == ("spark-fine-0",)
    assert course.ended["spark-fine"].first_us is None


@pytest.mark.parametrize("batch", ["hadoop", "spark-coarse", "spark-fine"])
@pytest.mark.parametrize("cloud", ["dev", "prod"])
def test_storm_keeps_its_workers_whatever_batch_work_comes(cloud: str, batch: str) -> None:
    course = played(cloud, job("storm", 3, task_s=3600), job(batch, 120, at_s=5))
    assert {one.shares["storm"].standing.running for one in course.moments[:-1]} == {3}


@pytest.mark.parametrize("batch", ["hadoop", "spark-coarse"])
def test_storm_starts_when_coarse_batch_work_has_ended(batch: str) -> None:
    course = played("dev", job(batch, 120), job("storm", 3, at_s=5, task_s=3600))
    assert first_s(course, "storm") >= end_s(course, batch)


def test_storm_behind_fine_grained_spark_is_blocked_on_small_slaves_alone() -> None:
    starts = {}
    for cloud in ("dev", "prod"):
        course = played(cloud, job("spark-fine", 120), job("storm", 3, at_s=5, task_s=3600))
        starts[cloud] = first_s(course, "storm") < end_s(course, "spark-fine")
    assert starts == {"dev": False, "prod": True}


def test_start_up_takes_longer_on_each_further_slave_and_with_larger_inputs() -> None:
    means: dict[int, list[float]] = {}
    for tasks in (40, 120):
        made = study("dev", job("hadoop", tasks))
        slow = tuple(replace(one, start_step_us=SECOND_US, start_task_us=10_000) for one in made.frameworks)
        course = run(replace(made, frameworks=slow))
        means[tasks] = [delay_us for _, delay_us in sorted(course.ended["hadoop"].starts)]
    assert all(delays == sorted(delays) and len(delays) == 6 for delays in means.values())
    assert all(small < large for small, large in zip(means[40], means[120], strict=True))
