"""Grants of CPUs in the model of Hadoop: no more tasks at once, and no job that stands still for its own reduces."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import CountWork, StartJob
from fawkes.core.values.events import Done, Failed, Progress
from fawkes.core.values.model import ClusterId, JobId, JobSpec, NodeId, Role
from fawkes.sim.engines import model_of
from fawkes.sim.events.answers import work_counted
from fawkes.sim.hadoop.constants import PLAIN, Constants
from fawkes.sim.hadoop.model import Cluster, JobEnded, Model
from fawkes.sim.hadoop.tasks import JobAttempt

C = ClusterId("c")
TWO_KINDS = replace(PLAIN, map_slots=2, reduce_slots=2)


def of_four(constants: Constants = PLAIN) -> tuple[Model, Cluster]:
    """Four nodes of two slots, or of two and two."""
    model = model_of("readable", constants, keep_events=True, check=True)
    cluster = model.cluster(C)
    for number in range(4):
        cluster.join(NodeId(f"n{number}"), Role.CORE)
    return model, cluster


def submit(cluster: Cluster, name: str, granted: int, **profile: int) -> JobAttempt:
    spec = JobSpec(id=JobId(name), cluster=C, details={"profile": profile})
    cluster.submit(StartJob(spec.id, C, 1, spec, granted))
    return spec.id, 1


def ends(model: Model) -> dict[str, float]:
    ends_s: dict[str, float] = {}
    while (over := model.advance(10**12)) is not None:
        assert isinstance(over, JobEnded)
        ends_s[over.attempt[0]] = model.now_us / SECOND_US
    return ends_s


def most_at_once(model: Model) -> dict[str, int]:
    busy: Counter[str] = Counter()
    most: dict[str, int] = {}
    for event in model.task_events():
        busy[event.job] += 1 if event.what == "start" else -1
        most[event.job] = max(most.get(event.job, 0), busy[event.job])
    return most


def test_a_job_runs_in_as_many_waves_as_its_grant_needs_and_leaves_the_rest() -> None:
    model, cluster = of_four()
    submit(cluster, "bounded", 3, maps=9, map_us=10 * SECOND_US)
    submit(cluster, "free", 0, maps=10, map_us=10 * SECOND_US)
    assert ends(model) == {"free": 20, "bounded": 30}
    assert most_at_once(model)["bounded"] == 3


@pytest.mark.parametrize("constants", [PLAIN, TWO_KINDS], ids=["containers", "two-kinds-of-slots"])
def test_reduces_of_a_bounded_job_begin_when_all_its_maps_have_ended(constants: Constants) -> None:
    model, cluster = of_four(constants)
    submit(cluster, "j", 2, maps=4, reduces=3, map_us=10 * SECOND_US, reduce_us=5 * SECOND_US)
    assert ends(model) == {"j": 30}
    first = min(event.at_us for event in model.task_events() if event.kind == "reduce")
    assert first == max(event.at_us for event in model.task_events() if event.kind == "map")


@pytest.mark.parametrize("constants", [PLAIN, TWO_KINDS], ids=["containers", "two-kinds-of-slots"])
def test_maps_whose_output_was_lost_get_the_part_of_reduces_that_wait_for_them(constants: Constants) -> None:
    model, cluster = of_four(replace(constants, task_start_us=5 * SECOND_US))
    submit(cluster, "j", 2, maps=4, reduces=2, map_us=10 * SECOND_US, reduce_us=10 * SECOND_US)
    while not any(event.kind == "reduce" for event in model.task_events()):
        model.advance(model.now_us + SECOND_US)
        model.now_us += SECOND_US
    with_maps = {event.node for event in model.task_events() if event.kind == "map"}
    cluster.leave(min(with_maps))
    assert list(ends(model)) == ["j"]
    assert most_at_once(model) == {"j": 2}
    assert "killed" in {event.what for event in model.task_events() if event.kind == "reduce"}


def test_tasks_that_lack_a_grant_lack_more_than_room() -> None:
    _, cluster = of_four()
    submit(cluster, "j", 3, maps=9, map_us=10 * SECOND_US)
    reading = cluster.read()
    assert (reading.tasks_running, reading.tasks_waiting, reading.tasks_ready) == (3, 6, 0)


def test_a_gang_runs_all_its_tasks_at_once_whatever_it_was_granted() -> None:
    model, cluster = of_four()
    submit(cluster, "g", 2, maps=5, map_us=10 * SECOND_US, gang=1)
    assert ends(model) == {"g": 10}


@pytest.mark.slow
def test_masters_are_counted_where_they_take_slots() -> None:
    for engine in ("readable", "compiled"):
        for share, wanted in ((0.0, 0), (0.5, 1)):
            model = model_of(engine, replace(PLAIN, master_share=share))
            assert model.cluster(C).read().master_slots == wanted


def count(job: JobAttempt) -> CountWork:
    return CountWork(job[0], C, job[1], "", {})


def test_the_work_of_a_job_is_the_time_of_the_tasks_that_ended() -> None:
    model, cluster = of_four()
    job = submit(cluster, "j", 0, maps=8, map_us=10 * SECOND_US)
    model.advance(4 * SECOND_US)
    model.now_us = 4 * SECOND_US
    cluster.leave(NodeId("n3"))
    assert ends(model) == {"j": 20}
    answer = work_counted(count(job), cluster, model.now_us)
    assert answer == Done(at_us=20 * SECOND_US, effect="work:j", version=1, facts={"work_us": 80 * SECOND_US})


def test_nobody_can_count_the_work_of_a_job_that_has_not_succeeded() -> None:
    model, cluster = of_four()
    job = submit(cluster, "j", 0, maps=8, map_us=10 * SECOND_US)
    assert cluster.cancel(job).progress is Progress.CANCELLED
    for where in (cluster, None):
        answer = work_counted(count(job), where, model.now_us)
        assert isinstance(answer, Failed)
        assert answer.final
