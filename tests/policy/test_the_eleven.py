"""The eleven policies of the paper and CD: y on small windows (facts, section 4), also for missing readings."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import pytest

from fawkes.base.errors import ConfigError
from fawkes.core.fairness.weights import MINIMUM, Minimum
from fawkes.core.values.model import ClusterId, Sample
from fawkes.core.values.window import Window
from fawkes.policy import _MODULES, compile_policy, probe
from tests.support.pools import POLICIES, policy, settings

#: that of deadlines, which the paper does not have
OURS = {"CD", "NP"}
PAPER = {"JD", "DD", "TD", "PU", "DU", "RU", "JS", "JT", "TT", "None", "EQ"}
NAMES = sorted(path.stem for path in POLICIES.glob("*.py"))


def measured(name: str, *samples: Sample, **parameters: float) -> float | Minimum | None:
    measure = compile_policy(policy(name), settings(policy_parameters=parameters))
    return measure(Window(ClusterId("a"), samples), None)[0]


def sample(at_us: int = 0, **readings: Any) -> Sample:
    return Sample(at_us=at_us, **readings)


def test_there_is_one_file_for_each_policy_of_the_paper() -> None:
    names = set()
    for name in NAMES:
        tree = ast.parse((POLICIES / f"{name}.py").read_text())
        assert ast.get_docstring(tree), name
        (named,) = (n.value for n in tree.body if isinstance(n, ast.Assign))
        assert isinstance(named, ast.Constant)
        names.add(named.value)
        assert str(named.value).lower() == name
    assert names == PAPER | OURS


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_imports_nothing_but_what_it_may(name: str) -> None:
    for node in ast.walk(ast.parse((POLICIES / f"{name}.py").read_text())):
        imported = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        imported += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert set(imported) <= set(_MODULES)


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_stands_its_probe(name: str) -> None:
    probe(compile_policy(policy(name), settings()), name)


@pytest.mark.parametrize(
    ("name", "reading", "values", "expected"),
    [
        ("jd", "jobs_waiting", (3, 5), 4.0),
        ("dd", "bytes_waiting", (10**9, 3 * 10**9), 2e9),
        ("td", "tasks_waiting", (100, 0, 50), 50.0),
        ("js", "job_slowdown", (1.5, 2.5), 2.0),
        ("jd", "jobs_waiting", (None, 5), 5.0),
        ("jd", "jobs_waiting", (None, None), None),
        ("td", "tasks_waiting", (0, 0), 0.0),
        ("dd", "bytes_waiting", (None,), None),
        ("js", "job_slowdown", (None,), None),
        ("cd", "cpus_wanted", (30, None, 50), 40.0),
        ("cd", "cpus_wanted", (0, 0), 0.0),
        ("cd", "cpus_wanted", (None,), None),
    ],
)
def test_demand_and_slowdown_are_means(
    name: str, reading: str, values: tuple[float | None, ...], expected: float | None
) -> None:
    assert measured(name, *(sample(i, **{reading: v}) for i, v in enumerate(values))) == expected


PU = {"slots_used": 4, "slots_total": 8}
DU = {"output_bytes": 25, "storage_bytes": 100}


@pytest.mark.parametrize(
    ("name", "readings", "parameters", "expected"),
    [
        ("pu", PU, {}, 0.5),
        ("pu", {"slots_used": 0, "slots_total": 8}, {}, 0.0),
        ("pu", {"slots_used": 0, "slots_total": 0}, {}, None),
        ("du", DU, {}, 0.25),
        ("du", {"output_bytes": 300, "storage_bytes": 100}, {}, 1.0),
        ("du", {"output_bytes": 300}, {}, None),
        ("ru", PU | DU, {}, 0.375),  # eq. 5 with psi = 0.5
        ("ru", PU | DU, {"psi": 0.9}, 0.475),
        ("ru", PU, {}, None),
        ("ru", DU, {}, None),
    ],
)
def test_usage_is_a_fraction_of_its_own_capacity(
    name: str, readings: dict[str, int], parameters: dict[str, float], expected: float | None
) -> None:
    assert measured(name, sample(**readings), **parameters) == (
        expected if expected is None else pytest.approx(expected)
    )


@pytest.mark.parametrize("name", ["jt", "tt"])
@pytest.mark.parametrize(
    ("done", "waiting", "running", "expected"),
    [
        (2, 4, 1, 2**-0.5),  # q = 1/2
        (8, 4, 1, 0.5),  # q is at most 1
        (3, 0, 1, 0.5),  # nothing waits, some completed: q = 1
        (0, 4, 0, 1.0),  # nothing completed, something waits: q = 0
        (0, 0, 2, 1.0),  # or runs
        (0, 0, 0, 0.0),  # nothing to do at all: y = 0
        (None, 4, 1, None),
        (2, None, 1, None),
        (0, 0, None, None),  # whether anything runs is not known, and would decide
        (2, 4, None, 2**-0.5),
    ],
)
def test_throughput(
    name: str, done: int | None, waiting: int | None, running: int | None, expected: float | None
) -> None:
    kind = "jobs" if name == "jt" else "tasks"
    before = sample(
        0, **{f"{kind}_done": None if done is None else 10, f"{kind}_waiting": waiting, f"{kind}_running": running}
    )
    after = replace(before, at_us=1, **{f"{kind}_done": None if done is None else 10 + done})  # type: ignore[arg-type]
    assert measured(name, before, after) == (None if expected is None else pytest.approx(expected))


def test_throughput_has_the_base_of_equation_6_as_a_parameter() -> None:
    before = sample(0, jobs_done=0, jobs_waiting=4, jobs_running=0)
    assert measured("jt", before, replace(before, at_us=1, jobs_done=4), a=10) == pytest.approx(0.1)


def test_the_baselines_do_not_look() -> None:
    assert measured("none", sample()) is MINIMUM
    assert measured("eq", sample()) == 1.0


def test_a_parameter_that_a_policy_does_not_have_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"policy_parameters\.phi: policy RU has no parameter 'phi'\. It has: psi"):
        measured("ru", sample(), phi=0.5)
