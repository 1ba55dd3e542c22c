from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.base.errors import ConfigError
from fawkes.config.clusters.details import JobDetails
from fawkes.config.jobs.jobs import load_jobs

PIG = 'id = "q"\nkind = "pig"\npig = "q.pig"\n'


def test_a_job_of_pig_latin_takes_its_script_and_files_along(tmp_path: Path) -> None:
    for name in ("q.pig", "m.macro"):
        (tmp_path / name).touch()
    (tmp_path / "q.toml").write_text(PIG + 'args = ["-param", "out=/out/{id}"]\nfiles = ["m.macro"]\ninput = "/in"\n')

    (spec,) = load_jobs(tmp_path / "q.toml", "c")

    assert JobDetails.of(spec.details) == JobDetails(
        kind="pig",
        pig=str(tmp_path / "q.pig"),
        args=("-param", "out=/out/q"),
        files=(str(tmp_path / "m.macro"),),
        inputs=("/in",),
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (PIG, "pig: there is no file"),
        ('id = "q"\nkind = "pig"\n', "pig: is missing"),
        (PIG + 'command = "true"\n', "command: means nothing for a job of kind 'pig'"),
        ('id = "q"\nkind = "script"\ncommand = "x"\npig = "q.pig"\n', "pig: means nothing for a job of kind 'script'"),
    ],
)
def test_what_is_wrong_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "q.toml").write_text(text)

    with pytest.raises(ConfigError) as caught:
        load_jobs(tmp_path / "q.toml", "c")

    assert says in str(caught.value)
