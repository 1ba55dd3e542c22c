"""Preemption policies as files: found by name, checked, the same answers in a worker, and named when they are wrong."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from fawkes.base.catalog import Catalog, Kind
from fawkes.base.errors import ConfigError
from fawkes.core.fairness.weights import in_words
from fawkes.core.preemption.preempt import decide
from fawkes.core.preemption.values import Action, Cause, Need, Task
from fawkes.policy import policy_text
from fawkes.policy.worker.asking import RaisedError
from fawkes.policy.worker.policies import load_preemption
from tests.core.preemption.support import FOLDER, NAMES, device, task

PAGE = (Path(__file__).parents[2] / "docs" / "preemption.md").read_text("utf-8")
(EXAMPLE,) = (text for text in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "def preempt" in text)
MINE = 'from fawkes.policy import Choice\nNAME = "MINE"\n'
ARRIVES = Need(cause=Cause.PRIORITY, priority=1)
TASKS = [task("a", 500, 900.0), task("b", 1000, 5.0), task("c", None, None), task("d", 100, 3.0, imaged=True)]


def test_all_are_found_by_name_and_short() -> None:
    found = Catalog().all(Kind.PREEMPTION)
    assert tuple(policy.name for policy in found) == NAMES
    assert [policy.title for policy in found] == [name.upper() for name in NAMES]
    assert all(len(policy.text().splitlines()) <= 15 for policy in found)


@pytest.mark.slow
def test_a_worker_gives_the_answers_of_the_same_process() -> None:
    for name in ("adaptive", "kill"):
        text = (FOLDER / f"{name}.py").read_text("utf-8")
        here = load_preemption(policy_text("HERE", "here.py", text))
        there = load_preemption(policy_text("THERE", "there.py", text + "# not byte for byte ours\n"))
        assert answers(there) == answers(here)


def answers(choose: object, tasks: list[Task] = TASKS) -> object:
    return decide(tasks, {"n": device()}, ARRIVES, choose)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("", "this file is not a policy"),
        ("def preempt(victims): return 7", "answered 7 for 0 victims"),
        ("def preempt(victims): return [Choice('stop') for v in victims]", "'stop', not wait, kill or save"),
        ("def preempt(victims): return [Choice('save', v.dump_s / 2) for v in victims]", "TypeError.*line 3"),
        ("def preempt(victims):\n  while True: pass", "steps for one answer"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_wrong(body: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        load_preemption(policy_text("MINE", "mine.py", f"{MINE}{body}\n"))
    assert "mine.py" in str(caught.value)


@pytest.mark.slow
def test_the_documented_policy_saves_only_long_tasks() -> None:
    choose = load_preemption(policy_text("LONG", "docs/preemption.md", EXAMPLE))
    given = decide(TASKS, {"n": device()}, ARRIVES, choose)
    assert [given[name].action for name in "ab"] == [Action.FULL, Action.KILL]


@pytest.mark.slow
def test_what_a_worker_raises_goes_from_process_to_process() -> None:
    fails = f"{MINE}def preempt(victims): return [1 / (len(victims) < 3) and Choice('kill') for each in victims]\n"
    choose = load_preemption(policy_text("MINE", "mine.py", fails))
    with pytest.raises(RaisedError) as caught:
        answers(choose)
    assert in_words(pickle.loads(pickle.dumps(caught.value))) == "ZeroDivisionError: division by zero, line 3"
