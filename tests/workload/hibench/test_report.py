from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fawkes.base.errors import ConfigError
from fawkes.core.values.model import ClusterId, JobId, JobLife, JobSpec, JobState
from fawkes.workload.hibench.report import HEADER, TYPES, ProgramRun, ReportRow, append, line, of_job, old_line, read

#: ended on 2026-11-21 at 10:00:00.250 UTC
RUN = ProgramRun("sort", 1_795_255_187_500_000, 1_795_255_200_250_000, 3_200_000, 4)


def test_the_lines_are_those_of_hibench_to_the_letter() -> None:
    assert HEADER == (
        "Type         Date       Time     Input_data_size      Duration(s)          Throughput(bytes/s)  Throughput/node     \n"  # noqa: E501
    )
    assert line(RUN) == (
        "HadoopSort   2026-11-21 10:00:00 3200000              12.750               250980               62745               \n"  # noqa: E501
    )
    assert old_line(RUN) == "SORT 10:00:00 <1795255187500,1795255200250> 3200000 12.750 250980\n"


def test_a_name_that_is_too_long_pushes_the_columns_and_is_read_all_the_same(tmp_path: Path) -> None:
    file = tmp_path / "report" / "hibench.report"
    append(file, [replace(RUN, program=program) for program in TYPES])
    append(file, [RUN])

    assert file.read_text().count("Type ") == 1
    assert [row.type for row in read(file)] == [*TYPES.values(), "HadoopSort"]
    assert read(file)[-1] == ReportRow("HadoopSort", "2026-11-21 10:00:00", 3_200_000, 12.75, 250_980, 62_745)


@pytest.mark.parametrize(("run", "wanted"), [
    (replace(RUN, ended_us=RUN.began_us), ("0.000", "0", "0")),
    (replace(RUN, nodes=0), ("12.750", "250980", "250980")),
])  # fmt: skip
def test_a_run_without_time_or_nodes(run: ProgramRun, wanted: tuple[str, ...]) -> None:
    assert tuple(line(run).split()[4:]) == wanted


@pytest.mark.parametrize(
    ("name", "life", "wanted"),
    [
        ("sort", JobLife.SUCCEEDED, ProgramRun("sort", 5_000_000, 8_000_000, 600, 3)),
        ("sort-2", JobLife.SUCCEEDED, ProgramRun("sort", 5_000_000, 8_000_000, 600, 3)),
        ("sort", JobLife.FAILED, None),
        ("sort-prepare", JobLife.SUCCEEDED, None),
        ("mine", JobLife.SUCCEEDED, None),
    ],
)
def test_a_job_of_the_ledger_as_a_run(name: str, life: JobLife, wanted: ProgramRun | None) -> None:
    spec = JobSpec(id=JobId(name), cluster=ClusterId("c"), input_bytes=600)
    job = JobState(spec=spec, life=life, submitted_us=1, started_us=5_000_000, finished_us=8_000_000)

    assert of_job(job, 3) == wanted
    assert of_job(replace(job, finished_us=None), 3) is None


def test_the_old_form_has_no_header(tmp_path: Path) -> None:
    append(tmp_path / "hibench.report", [RUN, RUN], old=True)
    assert (tmp_path / "hibench.report").read_text() == old_line(RUN) * 2


def test_a_line_that_is_none_is_told_with_its_number(tmp_path: Path) -> None:
    file = tmp_path / "hibench.report"
    file.write_text(HEADER + line(RUN) + "HadoopSort 2026-11-21 10:00:00 x 1 2 3\n")

    with pytest.raises(ConfigError, match=r"hibench.report:3: .*not a line of a report"):
        read(file)
