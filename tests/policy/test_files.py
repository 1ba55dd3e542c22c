"""Policy files of users: what is refused, what fails softly, memories, and the ones in docs/policies.md."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from fawkes import engine
from fawkes.base.errors import ConfigError
from fawkes.core.fairness.weights import Measure
from fawkes.core.values.events import Event, PolicyText
from fawkes.core.values.model import ClusterId, Sample
from fawkes.core.values.window import Window
from fawkes.policy import MOST_STEPS, compile_policy, policy_text, probe
from tests.support.desk import Desk
from tests.support.pools import request, run, settings, sizes, started, submit

PAGE = (Path(__file__).parents[2] / "docs/policies.md").read_text()
#: the first example is a step of a list, and so indented
DOCUMENTED = [
    textwrap.dedent(example)
    for example in re.findall(r"```python\n(.*?) *```", PAGE, re.DOTALL)
    if "def measure" in example
]
WINDOW = Window(ClusterId("a"), (Sample(at_us=0, tasks_waiting=3),))


def text(body: str, name: str = "MINE") -> PolicyText:
    return policy_text(name, "mine.py", body)


def compiled(body: str, **parameters: float) -> Measure:
    return compile_policy(text(body), settings(policy_parameters=parameters))


def written(measure: str) -> str:
    return f'NAME = "MINE"\n\ndef measure(window):\n    {measure}\n'


@pytest.mark.parametrize(
    ("body", "line", "what"),
    [
        ("import os\n", 1, "imports 'os'"),
        ("import math\nimport random\n", 2, "imports 'random'"),
        ("import math, time\n", 1, "imports 'time'"),
        ("from datetime import datetime\n", 1, "imports 'datetime.datetime'"),
        ("from fawkes.core import model\n", 1, "imports 'fawkes.core.model'"),
        ("from fawkes.policy import sys\n", 1, "imports 'fawkes.policy.sys'"),
        ("from statistics import random\n", 1, "imports 'statistics.random'"),
        ("import fawkes.policy\n", 1, "imports 'fawkes.policy'"),
        ("from . import other\n", 1, r"imports '\..other'"),
        (written("return open('/etc/passwd')"), 4, "uses 'open'"),
        (written("return eval('1')"), 4, "uses 'eval'"),
        (written("return hash('a')"), 4, "uses 'hash'"),
        (written("print(window)"), 4, "uses 'print'"),
        (written("return getattr(window, 'x')"), 4, "uses 'getattr'"),
        (written("return window.__class__"), 4, "uses '__class__'"),
        (written("return __builtins__"), 4, "uses '__builtins__'"),
        (written("window.seen = 1"), 4, "changes 'seen' of something"),
        (written("try: return 1\n    except: pass"), 5, "catches everything"),
        (written("try: return 1\n    except BaseException: pass"), 5, "uses 'BaseException'"),
        (written("try: return 1\n    finally: pass"), 4, "has a `finally`"),
        ("NAME = 'MINE'\ndef measure(window)\n    return 1\n", 2, "expected ':'"),
        ("NAME = 'MINE'\n\n  def measure(window): pass\n", 3, "unexpected indent"),
    ],
)
def test_what_is_refused_is_named_with_its_line(body: str, line: int, what: str) -> None:
    with pytest.raises(ConfigError, match=rf"^mine\.py: line {line}: {what}"):
        compiled(body)


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("NAME = 'MINE'\n", "this file is not a policy"),
        ("def measure(window):\n    return 1\n", "this file is not a policy"),
        ("NAME = 'MINE'\nmeasure = 3\n", "this file is not a policy"),
        ("NAME = 1 / 0\n", "cannot be loaded: ZeroDivisionError"),
        ("while True: pass\n", "cannot be loaded: TimeoutError"),
        ("import statistics\nNAME = statistics.sys.version\n", "cannot be loaded: AttributeError"),
    ],
)
def test_a_file_that_is_no_policy(body: str, what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        compiled(body)


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        ("return float('nan')", "nan is not a demand"),
        ("return -1", "-1 is not a demand"),
        ("return float('inf')", "inf is not a demand"),
        ("return 'seven'", "'seven' is not a number"),
        ("return True", "True is not a number"),
        ("return 10 ** 400", "OverflowError: int too large"),
        ("return 1 / window.mean('tasks_waiting')", "ZeroDivisionError: .*, line "),
        ("return window.mean('tasks_wating')", "AttributeError: .*, line "),
        ("return window.before.jobs_done - 1 if window.before else 0", "-1 is not a demand"),
        ("while True: pass", f"more than {MOST_STEPS} steps"),
    ],
)
def test_the_probe_finds_bad_answers_before_anything_runs(answer: str, what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        probe(compiled(written(answer)), "mine.py")


@pytest.mark.parametrize(
    "loop",
    [
        "while True: pass",
        "[0 for _ in range(10**9)]",
        "while True:\n        try: raise ValueError\n        except Exception: pass",
        "return sum(1 for _ in range(10**9))",
    ],
)
def test_an_endless_loop_is_stopped_and_its_line_is_named(loop: str) -> None:
    text = written(loop)
    ask = compiled(text)
    first = 1 + text[: text.index(loop.partition("\n")[0])].count("\n")
    for _ in range(2):
        with pytest.raises(TimeoutError, match="steps for one answer") as stopped:
            ask(WINDOW, None)
        [note] = stopped.value.__notes__
        assert note in [f"line {first + more}" for more in range(1 + loop.count("\n"))]


def test_a_loop_in_another_function_of_the_file_is_named_by_its_own_line() -> None:
    text = 'NAME = "MINE"\n\n\ndef deep():\n    while True:\n        pass\n\n\ndef measure(w):\n    return deep()\n'
    with pytest.raises(TimeoutError) as stopped:
        compiled(text)(WINDOW, None)
    assert stopped.value.__notes__ == ["line 5"] or stopped.value.__notes__ == ["line 6"]


def test_a_file_that_loops_while_it_is_loaded_is_refused_with_its_line() -> None:
    with pytest.raises(ConfigError) as refused:
        compiled('NAME = "MINE"\n\nwhile True: pass\n')
    assert refused.value.key == "line 3"


def test_globals_do_not_survive_an_answer() -> None:
    ask = compiled('NAME = "MINE"\nSEEN = []\n\ndef measure(window):\n    SEEN.append(1)\n    return len(SEEN)\n')
    assert [ask(WINDOW, None)[0] for _ in range(3)] == [1, 1, 1]


@pytest.mark.parametrize("given", ["memory", "window, keep=0.5, memory=None"])
def test_a_memory_that_is_not_the_second_parameter_is_refused(given: str) -> None:
    """The second one would get it: here a number that the site sets."""
    with pytest.raises(ConfigError, match=r"^mine\.py: measure: `memory` is not the second parameter\. Write it"):
        compiled(f'NAME = "MINE"\n\ndef measure({given}):\n    return 1, None\n')


def test_a_site_cannot_set_the_memory() -> None:
    with pytest.raises(ConfigError, match=r"has no parameter 'memory'\. It has: keep"):
        compiled('NAME = "MINE"\n\ndef measure(window, memory=None, keep=0.5):\n    return 1, None\n', memory=5)


def test_parameters_are_given_by_name() -> None:
    body = 'NAME = "MINE"\n\ndef measure(window, factor=2.0, plus=0.0):\n    return factor * 3 + plus\n'
    assert compiled(body)(WINDOW, None)[0] == 6
    assert compiled(body, factor=5, plus=1)(WINDOW, None)[0] == 16
    with pytest.raises(ConfigError, match=r"has no parameter 'fcator'. It has: factor, plus"):
        compiled(body, fcator=5)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("return float('nan')", "nan is not a demand"),
        ("return -window.mean('tasks_waiting')", "is not a demand"),
        ("raise ValueError('no idea')", "ValueError: no idea, line "),
        ("return [1]", "is not a number"),
        ("while True: pass", "TimeoutError: more than 200000 steps"),
    ],
)
def test_a_policy_that_fails_leaves_the_shares_as_they_are(answer: str, why: str) -> None:
    desk = Desk(10, policy=text(written(answer)))
    desk.up("a")
    desk.up("b")
    facts = desk.tick(a=500, b=1)
    assert facts["verdict"] == "policy-failed"
    assert why in str(facts["failed"])
    assert desk.sizes() == {"a": 2, "b": 2}
    assert desk.codes().count("grow") == 0
    assert list(engine.replay(desk.store.entries(), compile_policy)) == []


def test_a_policy_that_fails_once_keeps_its_memory() -> None:
    body = """
        NAME = "MINE"

        def measure(window, memory):
            count = (memory or 0) + 1
            if window.last("tasks_waiting") == 13:
                raise ValueError("unlucky")
            return count, count
        """
    desk = Desk(10, policy=text(re.sub(r"^ {8}", "", body, flags=re.M)))
    desk.up("a")
    for tasks, memory in ((1, 1), (2, 2), (13, 2), (3, 3)):
        desk.tick(a=tasks)
        assert desk.state.last_tick.memory == {"a": memory}


def test_a_memory_outlives_a_period_in_which_nothing_was_read() -> None:
    desk = Desk(10, policy=text(DOCUMENTED[1], "STEADY"))
    desk.up("a")
    desk.up("b")
    desk.tick(a=100, b=10)
    desk.tick(a=100)
    assert desk.state.last_tick.memory == {"a": 100.0, "b": 10.0}
    desk.tick(a=100, b=20)
    assert desk.state.last_tick.memory == {"a": 100.0, "b": 15.0}


def test_two_mr_clusters_do_not_share_a_memory() -> None:
    desk = Desk(10, policy=text(DOCUMENTED[1], "STEADY"))
    desk.up("a")
    desk.up("b")
    desk.tick(a=100, b=10)
    desk.tick(a=0, b=10)
    assert desk.state.last_tick.memory == {"a": 50.0, "b": 10.0}


def test_a_policy_of_fifteen_lines_drives_a_run() -> None:
    (example, _) = DOCUMENTED
    assert len(example.splitlines()) <= 15
    mine = text(example, "BACKLOG")
    probe(compile_policy(mine, settings()), "mine.py")
    events: list[Event] = [
        started(10, policy=mine, how=settings(policy="BACKLOG", policy_parameters={"task_seconds": 25.0}))
    ]
    events += [request("c-1", 1), request("c-2", 2), submit("c-1", 1, 10, tasks=400), submit("c-2", 1, 10, tasks=40)]
    played = run(events, 60)
    assert sizes(played.view)["c-1"] > sizes(played.view)["c-2"] >= 2
    assert sum(sizes(played.view).values()) == 10
    assert played.last_tick()["policy"] == "BACKLOG"
    assert list(engine.replay(played.store.entries(), compile_policy)) == []


def test_documented_policies_stand_their_probe() -> None:
    assert len(DOCUMENTED) == 2
    for example in DOCUMENTED:
        probe(compiled(example), "docs/policies.md")
