"""The file of fitted constants: read back as it was, and true to what it was fitted on."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from fawkes.base.errors import ConfigError, RefusedError
from fawkes.config.workloads.model import read_model
from fawkes.offline.calibrate.fit import fits_of
from fawkes.offline.calibrate.model_file import model_of, refuse_fitted, use_of, uses_in, write_model
from fawkes.offline.record.folder import Record
from fawkes.offline.record.span import Span

VALUES = {
    "join": [13e6, 13.5e6, 12e6],
    "disk": [1_750_000.0, 1_800_000.0, 2_000_000.0],
    "spread": [0.1, 0.2, 0.3],
    "drain": [3e5, 9e5, 8e5],
    "clean": [1e6],
}


def record(first: int, last: int, ledger: str = "L") -> Record:
    return Record(
        folder=Path("r"), ledger_id=ledger, pool="p", span=Span(0, 1, first, last), policy="TD", known={}, missing={},
        left_out={}, notes=(),
    )  # fmt: skip


def test_scenarios_read_what_was_fitted(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    fits = fits_of(VALUES)
    write_model(path, fits, [record(1, 9)])
    model = read_model(path)
    assert model == model_of(fits)
    assert (model.join_us, model.disk_bytes_s, model.spread, model.drain_us) == (13_000_000, 1_800_000, 0.2, 300_000)
    assert model.clean_us is None
    # No end of a job was seen: what it would have had in it is the model's own.
    assert (model.disk_seek, model.serial, model.task_end_us) == (0.0, None, None)
    assert model_of(fits_of({"job_end": [2e6, 2e6, 3e6]})).task_end_us == 0
    said = tomllib.loads(path.read_text())
    assert said["fitted"]["join"] == {"method": "median", "n": 3, "value": 13e6, "low": 12e6, "high": 13.5e6}
    assert uses_in(path) == [use_of(record(1, 9))]
    text = path.read_text()
    assert 'join = "13s"  # median of 3; 5% to 95% of it by bootstrap: 12s to 13.5s' in text
    assert "# clean: not fitted, 1 observations are fewer than 3; the default stays" in text
    write_model(path, fits, [record(1, 9)])
    assert path.read_text() == text
    assert [file.name for file in tmp_path.iterdir()] == ["model.toml"]


@pytest.mark.parametrize(
    ("first", "last", "ledger", "refused"),
    [(1, 9, "L", True), (9, 20, "L", True), (10, 20, "L", False), (1, 9, "M", False), (3, 4, "L", True)],
)
def test_steps_that_were_fitted_on_are_not_judged(first: int, last: int, ledger: str, refused: bool) -> None:
    mine = replace(record(first, last), ledger_id=ledger)
    used = [use_of(record(1, 9))]
    if not refused:
        refuse_fitted([mine], used, ["other"])
        return
    with pytest.raises(RefusedError, match="with other, which was used to fit"):
        refuse_fitted([mine], used, ["other"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[model]\n", "does not say what it was fitted on"),
        ("[model]\n[fitted]\nrecords = [{}]", "does not say"),
        ("[model]\n[fitted]\nrecords = 3", "does not say"),
        ("x = ", "not valid TOML"),
    ],
)
def test_a_file_of_unknown_origin_judges_nothing(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "model.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=says):
        uses_in(path)
