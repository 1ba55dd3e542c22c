"""Profiles: they come back as they were written, and what is wrong with one is named with file and key."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fawkes.base.errors import ConfigError
from fawkes.core.quota.profile import ApplicationProfile, ProfiledStage, nominal_rate, profile_of, records_of

MAP: dict[str, Any] = {"id": "map", "duration_s": 10.0, "tasks": 40, "records_read": 1e6, "records_written": 5e5,
                       "rate": 2000.0, "parents": [], "idle_s": 1.5}  # fmt: skip
REDUCE: dict[str, Any] = {**MAP, "id": "reduce", "records_read": 5e5, "rate": None, "parents": ["map"]}
PLAIN: dict[str, Any] = {"name": "group-by", "version": 3, "end_s": 2.5, "stages": [MAP, REDUCE]}


def test_a_profile_comes_back_as_it_was_written() -> None:
    profile = profile_of(PLAIN, "p.json")
    assert profile_of(json.loads(json.dumps(profile.plain())), "p.json") == profile
    assert profile.plain() == PLAIN


def test_a_profile_of_an_earlier_version_of_fawkes_does_not_know_the_time_without_stages() -> None:
    old = {key: value for key, value in PLAIN.items() if key != "end_s"}
    old["stages"] = [{key: value for key, value in stage.items() if key != "idle_s"} for stage in (MAP, REDUCE)]
    profile = profile_of(old, "p.json")
    assert (profile.end_s, [stage.idle_s for stage in profile.stages]) == (None, [None, None])


@pytest.mark.parametrize(
    ("stages", "better"),
    [
        ([MAP, REDUCE], False),
        ([{**MAP, "duration_s": 9.0, "rate": 1900.0}, REDUCE], False),
        ([{**MAP, "rate": None}, REDUCE], False),
        ([MAP, {**REDUCE, "rate": 700.0}], True),
        ([MAP], True),
        ([MAP, {**REDUCE, "parents": []}], True),
        ([MAP, REDUCE, {**REDUCE, "id": "sort"}], True),
    ],
)
def test_a_profile_fits_better_with_other_stages_or_a_rate_that_was_missing(stages: list[Any], better: bool) -> None:
    made = profile_of({**PLAIN, "stages": stages}, "q.json")
    assert made.fits_better(profile_of(PLAIN, "p.json")) is better


@pytest.mark.parametrize(
    ("change", "key", "words"),
    [
        ({"name": ""}, "name", "name of an application"),
        ({"version": "3"}, "version", "whole number of at least 1"),
        ({"end_s": -0.5}, "end_s", "at least 0"),
        ({"end_s": float("nan")}, "end_s", "finite number"),
        ({"end_s": "soon"}, "end_s", "finite number"),
        ({"stages": [{**MAP, "idle_s": -1}]}, "stages.0.idle_s", "at least 0"),
        ({"stages": [{**MAP, "idle_s": True}]}, "stages.0.idle_s", "finite number"),
        ({"stages": []}, "stages", "has no stages"),
        ({"stages": "map"}, "stages", "has no stages"),
        ({"stages": [7]}, "stages.0", "is not a table"),
        ({"stages": [{**MAP, "id": None}]}, "stages.0.id", "is None"),
        ({"stages": [{**MAP, "rate": 0}]}, "stages.0.rate", "greater than 0"),
        ({"stages": [{**MAP, "rate": float("nan")}]}, "stages.0.rate", "finite number"),
        ({"stages": [{**MAP, "rate": 10**400}]}, "stages.0.rate", "finite number"),
        ({"stages": [{**MAP, "rate": True}]}, "stages.0.rate", "finite number"),
        ({"stages": [{**MAP, "duration_s": 0.0}]}, "stages.0.duration_s", "greater than 0"),
        ({"stages": [{**MAP, "records_read": -1}]}, "stages.0.records_read", "at least 0"),
        ({"stages": [MAP, {**REDUCE, "tasks": 2.5}]}, "stages.1.tasks", "whole number"),
        ({"stages": [MAP, {**REDUCE, "parents": "map"}]}, "stages.1.parents", "list of stages"),
        ({"stages": [MAP, MAP]}, "stages.1", "two stages are 'map'"),
        ({"stages": [REDUCE, MAP]}, "stages.0", "'map' is not before it"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_key(change: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        profile_of({**PLAIN, **change}, "p.json")
    assert (caught.value.file, caught.value.key) == ("p.json", key)


@pytest.mark.parametrize(
    ("records", "run_s", "rate"),
    [
        ((1000, 7, 7, 7), 10, 100),
        ((0, 500, 7, 7), 10, 50),
        ((0, 40, 0, 200), 10, 20),
        ((0, 40, 0, 0), 10, None),
        ((1000,), 0, None),
    ],
)
def test_the_nominal_rate_is_of_the_first_candidate_that_counts_records(
    records: tuple[float, ...], run_s: float, rate: float | None
) -> None:
    assert nominal_rate(40, run_s, records) == rate


@pytest.mark.parametrize(
    ("read", "written", "counted"),
    [(100.0, 32.0, 100.0), (0.0, 32.0, 32.0), (4.0, 32.0, 32.0), (0.0, 0.0, 0.0), (4.0, 0.0, 0.0), (0.0, 4.0, 0.0)],
)
def test_the_records_of_a_first_stage_are_those_that_its_rate_counts(
    read: float, written: float, counted: float
) -> None:
    """A program that makes its data reads nothing: with the records that it reads its plan would need no core."""
    stage = ProfiledStage(id="a", duration_s=1, tasks=4, records_read=read, records_written=written)
    assert records_of(ApplicationProfile("p", 1, (stage,)), stage, {}) == counted
    rate = nominal_rate(stage.tasks, 1.0, (read, written))
    assert rate is None or rate == counted
