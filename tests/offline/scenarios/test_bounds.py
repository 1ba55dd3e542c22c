"""A policy answers in a process of its own: the same answers, and an end to a call that takes too much."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.base.catalog import CatalogFile, Kind
from fawkes.base.errors import ConfigError
from fawkes.core.fairness.weights import Measure, in_words
from fawkes.core.values.events import PolicyText
from fawkes.core.values.model import ClusterId, Sample
from fawkes.core.values.settings import Settings
from fawkes.core.values.window import Window
from fawkes.offline.scenarios.scenario import simulate
from fawkes.policy import compile_policy, policy_text
from fawkes.policy.worker.asking import RaisedError, WorkerLimits
from fawkes.policy.worker.policies import loader
from tests.offline.support import CATALOG, ready, two

SHORT = WorkerLimits(time_s=0.5, memory_bytes=10**8)
WINDOW = Window(ClusterId("c-1"), tuple(Sample(at_us=at * 10**6, tasks_waiting=at) for at in (20, 40, 60)))


def policy(line: str, before: str = "") -> PolicyText:
    text = f'"""X."""\nNAME = "X"\n{before}\ndef measure(window):\n    {line}\n'
    return policy_text("X", "policies/x.py", text)


def notes(error: BaseException) -> list[str]:
    return list(getattr(error, "__notes__", []))


def told(measure: Measure, window: Window) -> object:
    """The answer of a policy, or the error that it raises."""
    try:
        return measure(window, None)
    except Exception as error:
        return type(error).__name__, str(error)


counts = st.one_of(st.none(), st.integers(0, 10**6))
samples = st.lists(
    st.builds(
        Sample,
        at_us=st.integers(0, 10**9),
        jobs_waiting=counts,
        tasks_waiting=counts,
        tasks_running=counts,
        slots_used=counts,
        slots_total=counts,
        output_bytes=counts,
        job_slowdown=st.one_of(st.none(), st.floats(0, 100)),
    ),
    min_size=1,
    max_size=5,
)


@pytest.mark.slow
@pytest.mark.parametrize("found", CATALOG.all(Kind.POLICY), ids=lambda found: found.title)
@settings(max_examples=20, deadline=None)
@given(samples=samples, before=st.booleans())
def test_the_answer_is_that_of_the_same_process(found: CatalogFile, samples: list[Sample], before: bool) -> None:
    text = policy_text(found.title, str(found.path), found.text())
    ours, theirs = compile_policy(text, Settings()), loader(WorkerLimits())(text, Settings())
    first, *rest = samples
    window = Window(ClusterId("c"), tuple(rest or [first]), first if before else None)
    assert told(theirs, window) == told(ours, window)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "kind", "says"),
    [
        ("return sum(range(10**12))", "TimeoutError", "took more than 0.5 s on a processor"),
        ("return 10 ** 10 ** 8", "TimeoutError", "took more than 0.5 s"),
        ("return float(len([0] * 10**10))", "MemoryError", "needs more than 100.0 MB"),
        ("return float(len(list(range(10**8))))", "MemoryError", "needs more than 100.0 MB"),
    ],
)
def test_a_single_call_that_takes_too_much_ends_with_its_line_and_its_window(line: str, kind: str, says: str) -> None:
    measure = loader(SHORT)(policy(line), Settings())
    with pytest.raises(Exception, match=says) as raised:
        measure(WINDOW, None)
    assert in_words(raised.value).startswith(f"{kind}: ")
    assert "for the window of 3 samples of c-1 from +00:00:20.000 to +00:01:00.000" in str(raised.value)
    assert notes(raised.value) == ["line 5"]
    # The next policy gets an answer.
    assert loader(SHORT)(policy("return 2.0"), Settings())(WINDOW, None) == (2.0, None)


def test_what_a_policy_raises_has_its_name_and_line() -> None:
    measure = loader(SHORT)(policy("return window.meen('tasks_waiting')"), Settings())
    with pytest.raises(Exception, match="has no attribute 'meen'") as raised:
        measure(WINDOW, None)
    assert isinstance(raised.value, RaisedError)
    assert (raised.value.raised, notes(raised.value)) == ("AttributeError", ["line 5"])


@pytest.mark.slow
def test_a_file_that_never_loads_is_refused_with_its_line() -> None:
    with pytest.raises(ConfigError, match=r"policies/x.py: line 3: the policy X took more than 0.5 s .* loaded"):
        loader(SHORT)(policy("return 1.0", "Y = sum(range(10**12))"), Settings())


def test_a_file_that_is_no_policy_is_refused_as_everywhere() -> None:
    with pytest.raises(ConfigError, match=r"policies/x.py: line 3: imports 'os'. A policy may import"):
        loader(SHORT)(policy("return 1.0", "import os"), Settings())


@pytest.mark.slow
def test_what_a_policy_remembers_has_a_bound() -> None:
    text = '"""X."""\nNAME = "X"\n\n\ndef measure(window, memory):\n    return 1.0, "x" * 20_000_000\n'
    measure = loader(SHORT)(policy_text("X", "x.py", text), Settings())
    with pytest.raises(Exception, match=r"remembers 20.0 MB; the most is 16.8 MB"):
        measure(WINDOW, None)


def test_a_policy_that_needs_too_much_memory_is_told_of_that_bound() -> None:
    with pytest.raises(ConfigError) as raised:
        simulate(replace(ready(two()), policy=policy('return float(len("x" * (3 * 10**9)))')))
    assert raised.value.hint.endswith("--set bounds.policy_memory=4GB")


@pytest.mark.slow
def test_a_run_ends_with_file_line_tick_and_window() -> None:
    scenario = ready(two())
    with pytest.raises(ConfigError) as raised:
        simulate(replace(scenario, policy=policy("return sum(range(10**12))"), bounds=SHORT))
    said = str(raised.value)
    assert said.startswith("policies/x.py: line 5: the policy X gave no usable answer at tick 1, 20s after the start")
    assert "for the window of" in said
    assert "--set bounds.policy_time=60s" in said


def test_a_run_with_an_endless_policy_ends_with_file_line_tick_and_window() -> None:
    with pytest.raises(ConfigError) as raised:
        simulate(replace(ready(two()), policy=policy("while True: pass")))
    said = str(raised.value)
    assert said.startswith("policies/x.py: line 5: the policy X gave no usable answer at tick 1, 20s after the start")
    assert "for the window that begins at 0s (a: TimeoutError: more than 200000 steps" in said
    assert "policy_time" not in said


def test_files_of_the_working_folder_do_not_stand_for_those_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("statistics.py", "pickle.py", "fawkes.py"):
        (tmp_path / name).write_text("raise SystemExit(9)\n")
    monkeypatch.chdir(tmp_path)
    # Other bounds than before, so that another process is started.
    measure = loader(WorkerLimits(time_s=0.75, memory_bytes=10**8))(policy("return 3.0"), Settings())
    assert measure(WINDOW, None) == (3.0, None)
