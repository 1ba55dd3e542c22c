"""`simulate()`: jobs succeed, decisions come again, the same bytes each time, and what never ends is told."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest

from fawkes.base.errors import ConfigError, DeadlineError, FawkesError, UserError
from fawkes.base.units import SECOND_US
from fawkes.engine import replay
from fawkes.offline.scenarios.scenario import pool_of, simulate
from fawkes.policy import compile_policy, policy_text
from fawkes.report import history
from fawkes.sim.events.steps import Loss
from fawkes.sim.hadoop.constants import DAS4
from fawkes.store.base import Reader
from fawkes.store.record import text_of
from tests.offline.support import ROOT, demand, jobs, limited, plan, ready, two
from tests.offline.support import job as wordcount

POLICIES = ("TD", "JD", "EQ", "None", "JS", "RU")


def steps_of(store: Reader) -> str:
    lines = [text_of(entry.event) + text_of(entry.decision) for entry in store.entries()]
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer", ["window.men('tasks_waiting')", "float('nan')", "1 / 0", "sum(0 for _ in range(10 ** 6))"]
)
def test_a_policy_without_a_usable_answer_ends_the_run(answer: str) -> None:
    written = policy_text("mine", "mine.py", f"NAME = 'mine'\ndef measure(window):\n    return {answer}\n")
    with pytest.raises(ConfigError, match=r"policy mine gave no usable answer at tick 1, .* after the start") as error:
        simulate(replace(ready(two()), policy=written))
    assert error.value.where.startswith("mine.py")


@pytest.mark.parametrize("policy", POLICIES)
def test_all_jobs_succeed_and_every_decision_comes_again(policy: str) -> None:
    store = simulate(ready(two(), policy))
    assert Counter(job.life.value for job in history.jobs(store)) == {"succeeded": 16}
    assert all(job.slowdown is not None and job.slowdown > 0.99 for job in history.jobs(store))
    assert list(replay(store.entries(), compile_policy)) == []


@pytest.mark.slow
def test_the_same_scenario_gives_the_same_bytes_with_any_hash_seed() -> None:
    code = (
        "import hashlib;from tests.offline.support import *;from tests.offline.scenarios.test_scenario import steps_of;"
        "from fawkes.offline.scenarios.scenario import simulate;"
        "print(hashlib.sha256(steps_of(simulate(ready(two()))).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(digests) == 1
    assert steps_of(simulate(ready(two()))) == steps_of(simulate(ready(two())))


def test_a_job_comes_its_think_time_after_the_one_before() -> None:
    first, then = wordcount("a-1"), wordcount("a-2", after=("a-1",), think_s=30)
    from fawkes.offline.scenarios.load import coming

    store = simulate(ready(plan(demand("a", come=coming([first, then], "a")))))
    ended, next_one = history.jobs(store)
    assert ended.finished_us is not None
    assert next_one.submitted_us == ended.finished_us + 30 * SECOND_US


def test_a_mr_cluster_is_kept_until_its_last_job_has_come() -> None:
    """Without that, one of the period's idle time goes between two of its jobs, and the next one is refused."""
    store = simulate(ready(plan(demand("a", come=jobs("a", 3, every_s=200)))))
    assert Counter(job.life.value for job in history.jobs(store)) == {"succeeded": 3}


@pytest.mark.parametrize(
    ("demands", "error", "says"),
    [
        # 6 + 6 core nodes never fit into 8, and an MR-cluster that is kept for ever does not make room.
        (
            (demand("a", 6, come=jobs("a", 1)), demand("b", 6, come=jobs("b", 1))),
            DeadlineError,
            ["b-0 is queued in b, which is waiting for 6 core nodes", "6 of 8 nodes"],
        ),
        ((demand("a", 9, come=jobs("a", 1)),), UserError, ["MR-cluster 'a' was refused"]),
        (
            (demand("a", 2, once_running=(), come=jobs("zzz", 1)),),
            UserError,
            ["job 'zzz-0' was refused", "zzz"],
        ),
    ],
    ids=["waits-for-nodes", "more-than-the-pool", "no-such-cluster"],
)
def test_what_can_never_finish_names_the_job(demands: tuple, error: type[FawkesError], says: list[str]) -> None:  # type: ignore[type-arg]
    scenario = ready(plan(*demands, settings={"preset": "paper", "period": "20s", "idle_time": "never"}))
    with pytest.raises(error) as caught:
        simulate(scenario)
    for text in says:
        assert text in str(caught.value)


def test_what_is_only_slow_is_told_at_the_limit() -> None:
    with pytest.raises(DeadlineError, match=r"after 40s of simulated time .* b-0 is running in b, which is running"):
        simulate(limited(ready(plan(demand("b", come=jobs("b", 1)))), 40))


def test_a_lost_node_takes_its_tasks_to_others() -> None:
    losing = plan(demand("a", 4, come=jobs("a", 6)), losses=(Loss(pool_of(8)[7].id, 60 * SECOND_US),))
    store = simulate(ready(losing))
    assert Counter(job.life.value for job in history.jobs(store)) == {"succeeded": 6}
    assert "lost" in {change.new.life.value for change in history.node_changes(store, "node08")}


def test_a_lost_node_comes_back_when_it_has_power_again() -> None:
    lives = {}
    for back_us in (None, 70 * SECOND_US):
        losing = plan(demand("a", 4, come=jobs("a", 9)), losses=(Loss(pool_of(8)[7].id, 60 * SECOND_US, back_us),))
        changes = list(history.node_changes(simulate(ready(losing)), "node08"))
        lives[back_us] = changes[-1].new.life.value
    assert lives == {None: "lost", 70 * SECOND_US: "free"}


def test_the_link_between_the_sites_of_a_pool_is_felt() -> None:
    def took_us(sites: tuple[str, ...]) -> int:
        scenario = ready(plan(demand("a", 8, come=jobs("a", 1)), constants=replace(DAS4, site_bytes_s=1e6)))
        store = simulate(replace(scenario, nodes=pool_of(8, sites)))
        return next(iter(history.jobs(store))).run_us or 0

    assert took_us(("x", "y")) > 2 * took_us(("x",))


def test_nodes_are_spread_evenly_over_sites() -> None:
    sites = [node.site for node in pool_of(7, ("x", "y"))]
    assert Counter(sites) == {"x": 4, "y": 3}
    assert sites == sorted(sites)
