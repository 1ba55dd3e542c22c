"""Grants of CPUs: the properties that keep them, and the jobs for which nothing can."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.config.clusters.details import JobDetails
from fawkes.config.jobs.kept import MAPS, QUEUE, REDUCES, SLOW_START, granted_args, granted_properties, unkept_reason
from fawkes.workload.hibench import programs

KEPT = {MAPS: "3", REDUCES: "3", SLOW_START: "1.0"}
OLD_SLOW_START = "mapred.reduce.slowstart.completed.maps"


@pytest.mark.parametrize(
    ("own", "queue", "left"),
    [
        ({}, "", {}),
        ({"a.b": "1"}, "", {"a.b": "1"}),
        ({MAPS: "99", REDUCES: "99", SLOW_START: "0.05"}, "", {}),
        ({OLD_SLOW_START: "0.05"}, "", {}),
        ({QUEUE: "prod"}, "", {QUEUE: "prod"}),
        ({QUEUE: "prod"}, "root.granted.x", {QUEUE: "root.granted.x"}),
        ({"mapred.job.queue.name": "prod"}, "root.granted.x", {QUEUE: "root.granted.x"}),
    ],
)
def test_the_limits_of_a_grant_win_over_own_properties(own: dict[str, str], queue: str, left: dict[str, str]) -> None:
    assert granted_properties(own, 3, queue) == {**KEPT, **left}


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        (["in", "out"], ["in", "out"]),
        ([f"-D{MAPS}=99"], [f"-D{MAPS}=3"]),
        (["-D", f"{REDUCES}=99", "in"], ["-D", f"{REDUCES}=3", "in"]),
        ([f"-D {SLOW_START}=0"], [f"-D {SLOW_START}=1.0"]),
        ([f"-D{OLD_SLOW_START}=0"], [f"-D{OLD_SLOW_START}=1.0"]),
        ([f"-D{QUEUE}=prod"], [f"-D{QUEUE}=q"]),
        ([f"-D{MAPS}.x=99"], [f"-D{MAPS}.x=99"]),
        ([MAPS], [MAPS]),
    ],
)
def test_the_limits_of_a_grant_win_over_arguments(args: list[str], wanted: list[str]) -> None:
    assert granted_args(args, 3, "q") == wanted


def test_without_a_queue_an_argument_may_name_one() -> None:
    assert granted_args([f"-D{QUEUE}=prod"], 3) == [f"-D{QUEUE}=prod"]


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from([MAPS, REDUCES, SLOW_START, "x", "y"]), st.text()), st.integers(1, 10**6))
def test_whatever_a_user_sets_both_limits_are_the_grant(own: dict[str, str], granted: int) -> None:
    made = granted_properties(own, granted)
    assert (made[MAPS], made[REDUCES], made[SLOW_START]) == (str(granted), str(granted), "1.0")
    assert {key: made[key] for key in ("x", "y") if key in own} == {k: v for k, v in own.items() if k in "xy"}


@pytest.mark.parametrize(
    "details",
    [
        JobDetails(kind="jar", jar="/wc.jar", args=("in", "out")),
        JobDetails(kind="class", main_class="Main"),
        JobDetails(kind="streaming", mapper="cat", inputs=("/in",)),
    ],
)
def test_a_grant_of_a_program_can_be_kept(details: JobDetails) -> None:
    assert unkept_reason(details) == ""


def test_a_file_of_further_properties_would_win_over_the_grant() -> None:
    assert unkept_reason(JobDetails(kind="jar", args=("-conf", "x.xml"))) == (
        "the argument -conf reads properties that win over the grant's"
    )


def test_a_script_of_the_user_may_run_anything() -> None:
    assert unkept_reason(JobDetails(kind="script", command="spark-submit pi.py")) == (
        "a script may run programs that are not MapReduce, several at once"
    )


def hibench(command: str, *names: str) -> JobDetails:
    return JobDetails(
        kind="script", command=command, files=tuple(str((programs.folder() / name).resolve()) for name in names)
    )


def test_programs_of_hibench_run_one_job_after_another() -> None:
    command = "sh kmeans.sh /in /out 3 python3 data.py centres --count 9 --seed 1"
    files = ("kmeans.sh", "kmeans.py", "streaming.sh", "data.py")
    assert unkept_reason(hibench(command, *files)) == ""
    for other in (f"{command}; spark-submit x", f"{command} $(x)", "python3 data.py", "sh other.sh"):
        assert unkept_reason(hibench(other, *files)), other


def test_a_script_with_a_file_of_the_user_is_the_users(tmp_path: Path) -> None:
    own = JobDetails(kind="script", command="sh kmeans.sh", files=(str(tmp_path / "kmeans.sh"),))
    assert unkept_reason(own)


def pig(tmp_path: Path, text: str, *args: str, more: bytes = b"") -> JobDetails:
    program, along = tmp_path / "q.pig", tmp_path / "along"
    program.write_text(text)
    along.write_bytes(more)
    return JobDetails(kind="pig", pig=str(program), files=(str(along),), args=args)


def test_pig_is_kept_unless_its_program_sets_what_keeps_it(tmp_path: Path) -> None:
    assert unkept_reason(pig(tmp_path, "a = LOAD '/in';\nSTORE a INTO '/out';\n")) == ""
    assert unkept_reason(pig(tmp_path, f"-- SET {MAPS} 9;\n")) == ""
    assert unkept_reason(pig(tmp_path, f"a = LOAD '/in';\nSET {MAPS} 9;\n")) == (
        f"line 2 of {tmp_path}/q.pig sets what keeps it"
    )
    assert unkept_reason(pig(tmp_path, "", more=f"SET {QUEUE} prod;".encode())) == (
        f"line 1 of {tmp_path}/along sets what keeps it"
    )
    assert unkept_reason(pig(tmp_path, "", more=f"\0{QUEUE}".encode())) == ""


@pytest.mark.parametrize(("args", "kept"), [(("-x", "tez"), False), (("-x", "mapreduce"), True), (("-P", "p"), False)])
def test_pig_by_another_engine_is_not_kept(tmp_path: Path, args: tuple[str, ...], kept: bool) -> None:
    assert (unkept_reason(pig(tmp_path, "", *args)) == "") is kept


def test_a_program_that_cannot_be_read_is_a_reason(tmp_path: Path) -> None:
    reason = unkept_reason(JobDetails(kind="pig", pig=str(tmp_path / "lost.pig")))
    assert reason.startswith(f"{tmp_path}/lost.pig cannot be checked: ")
