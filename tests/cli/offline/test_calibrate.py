"""`fawkes calibrate`: constants in a file, and errors of another record by them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fawkes.base.units import SECOND_US
from fawkes.config.workloads.model import read_model
from fawkes.sim.events.steps import Delays
from tests.cli.offline.test_simulate import fawkes
from tests.offline.record.support import demand, recorded, run, sleep_job

DELAYS = Delays(job_start_us=5 * SECOND_US)


@pytest.fixture(scope="module")
def fit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(run(delays=DELAYS), tmp_path_factory.mktemp("fit")).folder


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    jobs = [sleep_job(f"o-{n}", "o", maps=6, map_s=20) for n in range(3)]
    return recorded(run((demand("o", jobs, every_s=60),), delays=DELAYS), tmp_path_factory.mktemp("other")).folder


@pytest.mark.slow
def test_constants_are_fitted_and_written(fit: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.toml"
    said = fawkes("calibrate", fit, "--out", out, "-o", "json")
    assert said.exit_code == 0, said.stderr
    rows = {row["constant"]: row for row in json.loads(said.stdout)["rows"]}
    assert (rows["job_start"]["value"], rows["job_start"]["n"]) == (5e6, 9)
    assert rows["job_begin"]["value"] is None
    assert read_model(out).job_start_us == 5 * SECOND_US
    again = fawkes("calibrate", fit, "--out", out)
    assert (again.exit_code, "exists already" in again.stderr) == (6, True)
    assert fawkes("calibrate", fit, "--out", out, "--force").exit_code == 0


@pytest.mark.slow
def test_another_record_is_predicted(fit: Path, other: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.toml"
    said = fawkes("calibrate", fit, "--out", out, "--validate", other)
    assert said.exit_code == 0, said.stderr
    assert "o-2" in said.stdout
    assert "makespan of record" in said.stdout
    assert "nine jobs of ten within 15 %): reached" in said.stderr
    judged = fawkes("calibrate", "--model", out, "--validate", other, "-o", "json")
    validation = json.loads(judged.stdout)["validation"]
    assert [row["job"] for row in validation["jobs"]] == ["o-0", "o-1", "o-2"]
    assert validation["goal"]["reached"]
    refused = fawkes("calibrate", "--model", out, "--validate", fit)
    assert (refused.exit_code, "which was used to fit" in refused.stderr) == (6, True)


def test_what_was_fitted_on_is_not_judged_and_nothing_is_written(fit: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.toml"
    said = fawkes("calibrate", fit, "--out", out, "--validate", fit)
    assert (said.exit_code, "which was used to fit" in said.stderr) == (6, True)
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "give either records to fit or --model"),
        (["--model", "x.toml"], "nothing to validate"),
        (["nowhere"], "is not a record"),
    ],
)
def test_wrong_questions_are_refused(words: list[str], says: str, tmp_path: Path) -> None:
    said = fawkes("calibrate", *words, "--out", tmp_path / "model.toml")
    assert (said.exit_code, says in said.stderr) == (2, True), said.stderr
    assert list(tmp_path.iterdir()) == []
