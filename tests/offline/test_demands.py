"""What tasks ask of the machine as a table, and what their starts add to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.core.model import ClusterId
from fawkes.errors import ConfigError
from fawkes.offline.demands import (
    COLUMNS,
    Asked,
    Known,
    TaskStart,
    read_demands,
    start_us,
    started,
    with_demands,
    with_start,
    write_demands,
)
from fawkes.sim.constants import DAS4, PLAIN
from fawkes.sim.profile import Profile, profile_of
from fawkes.units import SECOND_US
from tests.offline.support import demand, jobs

LAB = replace(DAS4, map_slots=0, slots=5, shared_cores=True, cores=2.0)
COUNTS = st.integers(0, 10**15)
PROFILES = st.builds(Profile, maps=st.integers(1, 10**6), reduces=COUNTS, map_us=COUNTS, map_cpu_us=COUNTS,
                     output_bytes=COUNTS)  # fmt: skip
ASKED = st.builds(
    Asked,
    profile=PROFILES,
    known=st.sampled_from(Known),
    told_tasks=st.none() | st.integers(1, 10**6),
    told_bytes=st.none() | COUNTS,
    reference_us=st.none() | st.integers(1, 10**12),
)


@given(st.dictionaries(st.from_regex(r"[a-z0-9]{1,9}", fullmatch=True), ASKED, max_size=4))
def test_a_table_is_read_back(tmp_path_factory: pytest.TempPathFactory, asked: dict[str, Asked]) -> None:
    path = tmp_path_factory.mktemp("demands") / "demands.csv"
    write_demands(path, asked)
    assert read_demands(path) == asked


HEAD = ",".join(COLUMNS)
ROW = "j-1,spec,4,,,4,0,12000000,0,0,0,0,0,0,0"


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("", "line 1", "other columns"),
        (HEAD.replace("maps", "mops"), "line 1", "other columns"),
        (f"{HEAD}\n{ROW},9", "line 2", "16 fields"),
        (f"{HEAD}\n{ROW}\n{ROW}", "line 3", "'j-1' is there twice"),
        (f"{HEAD}\n{ROW.replace('12000000', '-5')}", "line 2", "map_us is negative"),
        (f"{HEAD}\n{ROW.replace('12000000', 'long')}", "line 2", "invalid literal"),
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
    found = with_demands(come, {"a-0": Asked(profile=profile, known=Known.HISTORY, told_bytes=5, reference_us=9)})
    first, second = found[0].spec, found[1].spec
    assert profile_of(first) == profile
    assert (first.tasks, first.tasks_estimated, first.input_bytes, first.reference_us) == (1, True, 5, 9)
    assert second == come[1].spec


@pytest.mark.parametrize(
    ("tasks", "nodes", "constants", "expected_s"),
    [
        (1, 2, LAB, 1.5),  # alone: as long as it takes alone
        (2, 2, LAB, 2.0),  # a core for each
        (8, 2, LAB, 8.0),  # two cores for eight
        (100, 2, LAB, 10.0),  # no more than the slots of the nodes begin at once
        (14, 2, LAB, 7.0),  # a wave of ten, and one of four
        (24, 2, LAB, 8.0),  # two waves of ten, and one of four
        (100, 4, replace(LAB, shared_cores=False), 5.0),  # five on each node with its own two cores
        (100, 4, PLAIN, 1.5),  # cores without end
    ],
)
def test_a_start_takes_longer_in_a_crowd(tasks: int, nodes: int, constants: object, expected_s: float) -> None:
    start = TaskStart(wall_us=round(1.5 * SECOND_US), cpu_us=2 * SECOND_US)
    slots = constants.slots  # type: ignore[attr-defined]
    assert start_us(start, tasks, nodes, slots, constants) == expected_s * SECOND_US  # type: ignore[arg-type]


def test_sleeping_tasks_wait_for_their_start_and_computing_ones_share_it() -> None:
    start = TaskStart(wall_us=SECOND_US, cpu_us=2 * SECOND_US)
    sleeping = with_start(Profile(maps=4, map_us=8 * SECOND_US, reduces=1, reduce_us=SECOND_US), start, 2, LAB)
    assert (sleeping.map_us, sleeping.map_cpu_us) == (12 * SECOND_US, 2 * SECOND_US)
    assert (sleeping.reduce_us, sleeping.reduce_cpu_us) == (2 * SECOND_US, 2 * SECOND_US)
    computing = with_start(Profile(maps=4, map_cpu_us=8 * SECOND_US), start, 2, LAB)
    assert (computing.map_us, computing.map_cpu_us) == (SECOND_US, 10 * SECOND_US)
    assert (computing.reduce_us, computing.reduce_cpu_us) == (0, 0)


def test_without_a_start_nothing_changes() -> None:
    demands = (demand("a", come=jobs("a", 2)),)
    assert started(demands, TaskStart(), LAB) == demands
    changed = started(demands, TaskStart(cpu_us=5), LAB)[0]
    assert changed.spec.id == ClusterId("a")
    assert [profile_of(one.spec).map_cpu_us - profile_of(was.spec).map_cpu_us
            for one, was in zip(changed.all_jobs, demands[0].all_jobs, strict=True)] == [5, 5]  # fmt: skip
