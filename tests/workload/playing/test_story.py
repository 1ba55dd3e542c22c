"""The story of WKLD-A, told by the real core in the simulated world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.events import Event
from fawkes.core.values.model import Role
from fawkes.engine.ports import Entry
from fawkes.sim.events.steps import Delays
from fawkes.workload.playing.story import LETTERS, Point, points
from tests.support.pools import policy, request, run, settings, started, submit

LOADS_SLOWLY = Delays(deploy_us=12 * SECOND_US, load_us=20 * SECOND_US)


@dataclass
class Plan:
    """When MR-clusters arrive, and the jobs and tasks that each of them gets."""

    arrivals: Mapping[str, float] = field(default_factory=lambda: {"c-1": 0, "c-2": 12, "c-3": 42})
    jobs: Mapping[str, int] = field(default_factory=lambda: {"c-1": 6, "c-2": 6, "c-3": 24})
    task_s: float = 20.0
    how: Mapping[str, object] = field(default_factory=dict)
    policy: str = "jd"

    def events(self) -> list[Event]:
        how = settings(growth=Role.TRANSIENT, idle_us=20 * SECOND_US, **self.how)
        events: list[Event] = [started(10, how=how, policy=policy(self.policy))]
        for name, at_s in self.arrivals.items():
            events.append(request(name, at_s, max_running_jobs=2))
            events += [submit(name, n, at_s, tasks=8, task_s=self.task_s) for n in range(self.jobs.get(name, 0))]
        return sorted(events, key=lambda event: event.at_us)


def told(plan: Plan, until_s: float = 900, **world: Any) -> tuple[list[Entry], dict[str, Point]]:
    engine = run(plan.events(), until_s, **{"delays": LOADS_SLOWLY} | world)
    entries = list(engine.store.entries())
    return entries, {point.letter: point for point in points(entries)}


@pytest.fixture(scope="module")
def whole() -> dict[str, Point]:
    return told(Plan())[1]


def test_all_points_happen_in_their_order(whole: dict[str, Point]) -> None:
    assert "".join(whole) == LETTERS
    times = [point.at_us for point in whole.values()]
    assert None not in times
    assert times == sorted(time for time in times if time is not None)


def test_each_point_comes_with_its_evidence(whole: dict[str, Point]) -> None:
    assert whole["A"].how == "c-1 is loading; c-2 gets node03 and node04 of 8 idle nodes"
    assert whole["A"].at_us == 12 * SECOND_US
    assert whole["B"].how == "tick 2: c-1 grows from 2 to 8 nodes, the last idle ones; c-2 is loading"
    assert whole["C"].how == "node05 and node06 leave c-1; c-3 gets node05 and node06"
    assert whole["D"].how.startswith("tick 3: ")
    assert "leave c-1, and c-2 grows to" in whole["D"].how
    assert whole["E"].how == "all 10 nodes serve c-3"


def test_the_titles_name_the_mr_clusters_of_the_run(whole: dict[str, Point]) -> None:
    assert whole["D"].title == "c-2 runs jobs by now: c-1 shrinks again to give c-2 its share"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plan", "missing", "how"),
    [
        (Plan(arrivals={"c-1": 0, "c-2": 50, "c-3": 80}), "A", "c-1 was running when c-2 was requested"),
        (Plan(policy="none"), "B", "c-1 got 0 nodes while c-2 came up, and others stayed idle"),
        (Plan(policy="none"), "C", "c-3 got node05 and node06 without any shrinking of c-1"),
        (Plan(policy="none"), "D", "c-1 did not shrink for c-2"),
        (Plan(jobs={"c-1": 8, "c-2": 0, "c-3": 8}), "D", "c-1 did not shrink for c-2"),
        (Plan(jobs={"c-1": 8, "c-2": 8, "c-3": 1}), "E", "c-3 did not outlive c-1 and c-2"),
        (Plan(policy="none"), "E", "c-3 had at most 2 nodes once c-1 and c-2 were gone"),
    ],
)
def test_a_point_that_did_not_happen_says_what_was_missing(plan: Plan, missing: str, how: str) -> None:
    point = told(plan)[1][missing]
    assert not point.happened
    assert point.how == how


@pytest.mark.slow
def test_a_pool_too_small_for_the_second_is_another_story() -> None:
    plan = Plan()
    events = plan.events()
    events[0] = started(3, how=settings(idle_us=20 * SECOND_US), policy=policy("jd"))
    story = {point.letter: point for point in points(run(events, 900, delays=LOADS_SLOWLY).store.entries())}
    assert not story["A"].happened


def test_a_run_that_was_cut_short_lacks_its_end() -> None:
    entries, _ = told(Plan())
    before_e = next(n for n, entry in enumerate(entries) if entry.event.at_us > 100 * SECOND_US)
    story = points(entries[:before_e])
    assert [point.letter for point in story if not point.happened] == ["E"]


@pytest.mark.parametrize("arrivals", [{"c-1": 0.0}, {"c-1": 0.0, "c-2": 5.0}, dict.fromkeys("abcd", 1.0)])
def test_with_other_than_three_mr_clusters_there_is_no_such_story(arrivals: dict[str, float]) -> None:
    assert points(run(replace(Plan(), arrivals=arrivals).events(), 60).store.entries()) == ()
