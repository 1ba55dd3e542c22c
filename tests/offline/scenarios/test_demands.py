"""Demands of tasks on the machine as a table, and what their starts add to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.errors import ConfigError
from fawkes.base.units import SECOND_US
from fawkes.core.values.model import ClusterId, JobId, JobSpec
from fawkes.offline.scenarios.demands import (
    COLUMNS,
    JobDemand,
    KnownDemands,
    read_demands,
    with_demands,
    write_demands,
)
from fawkes.sim.hadoop.profile import Profile, has_chance, profile_of
from tests.offline.support import jobs

COUNTS = st.integers(0, 10**15)
PROFILES = st.builds(Profile, maps=st.integers(1, 10**6), reduces=COUNTS, map_us=COUNTS, map_cpu_us=COUNTS,
                     output_bytes=COUNTS)  # fmt: skip
ASKED = st.builds(
    JobDemand,
    profile=PROFILES,
    known=st.sampled_from(KnownDemands),
    told_tasks=st.none() | st.integers(1, 10**6),
    told_bytes=st.none() | COUNTS,
    reference_us=st.none() | st.integers(1, 10**12),
)


@pytest.mark.slow
@given(st.dictionaries(st.from_regex(r"[a-z0-9]{1,9}", fullmatch=True), ASKED, max_size=4))
def test_a_table_is_read_back(tmp_path_factory: pytest.TempPathFactory, asked: dict[str, JobDemand]) -> None:
    path = tmp_path_factory.mktemp("demands") / "demands.csv"
    write_demands(path, asked)
    assert read_demands(path) == asked


HEAD = ",".join(COLUMNS)
ROW = "j-1,spec,4,,,4,0,12000000,0,0,0,0,0,0,0"


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("", "line 1", "expected columns"),
        (HEAD.replace("maps", "mops"), "line 1", "expected columns"),
        (f"{HEAD}\n{ROW},9", "line 2", "16 fields"),
        (f"{HEAD}\n{ROW}\n{ROW}", "line 3", "'j-1' appears twice"),
        (f"{HEAD}\n{ROW.replace('12000000', '-5')}", "line 2", "map_us is negative"),
        (f"{HEAD}\n{ROW.replace('12000000', 'long')}", "line 2", "'long' is no whole number"),
        (f"{HEAD}\n{ROW.replace(',4,0,', ',0,0,')}", "line 2", "no task"),
        (f"{HEAD}\n{ROW.replace('spec', 'hearsay')}", "line 2", "'hearsay'"),
    ],
)
def test_a_wrong_table_is_refused_with_its_line(tmp_path: Path, text: str, place: str, says: str) -> None:
    path = tmp_path / "demands.csv"
    path.write_text(text)
    with pytest.raises(ConfigError, match=says) as caught:
        read_demands(path)
    assert caught.value.key == place
    with pytest.raises(ConfigError, match="no such file"):
        read_demands(tmp_path / "other.csv")


def test_a_job_of_the_table_has_its_profile_and_is_told_what_was_told() -> None:
    come = jobs("a", 2)
    profile = Profile(maps=7, map_us=SECOND_US)
    asking = with_demands(
        come, {"a-0": JobDemand(profile=profile, known=KnownDemands.HISTORY, told_bytes=5, reference_us=9)}
    )
    first, second = asking[0].spec, asking[1].spec
    assert profile_of(first) == profile
    assert (first.tasks, first.tasks_estimated, first.input_bytes, first.reference_us) == (1, True, 5, 9)
    assert second == come[1].spec


@pytest.mark.parametrize(
    ("known", "profile", "differs"),
    [
        (KnownDemands.SPEC, Profile(maps=7, map_us=SECOND_US), False),
        (KnownDemands.SPEC, Profile(maps=7, map_us=SECOND_US, map_cpu_us=5), True),
        (KnownDemands.LEDGER, Profile(maps=7, map_us=SECOND_US), True),
    ],
)
def test_a_recorded_job_that_sleeps_takes_its_own_times(known: KnownDemands, profile: Profile, differs: bool) -> None:
    (job,) = with_demands(jobs("a", 1), {"a-0": JobDemand(profile=profile, known=known)})
    assert has_chance(job.spec, profile_of(job.spec)) is differs


def test_a_profile_of_stages_is_for_quotas_and_says_nothing_of_the_machine() -> None:
    plain = JobSpec(id=JobId("q"), cluster=ClusterId("c"), tasks=7, details={"kind": "spark"})
    stages = {"name": "q", "version": 1, "stages": [{"id": "0 map", "tasks": 3}]}
    assert profile_of(replace(plain, details={"kind": "spark", "profile": stages})) == profile_of(plain)
