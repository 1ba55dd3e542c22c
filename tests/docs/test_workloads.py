"""docs/workloads.md stays true: its commands run one after another, its table is read, its formats are all of them."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from fawkes.cli.main import cli
from fawkes.workload.formats.formats import FORMATS, read_workload
from fawkes.workload.formats.table import COLUMNS

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "workload" / "data"
PAGE = (ROOT / "docs" / "workloads.md").read_text()


@pytest.mark.vectors
@pytest.mark.slow
def test_the_commands_run_one_after_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(DATA / "fb-2009-first20.tsv", "FB-2009.tsv")
    shutil.copy(DATA / "rumen-5jobs.json.gz", "rumen.json.gz")
    shutil.copytree(DATA / "history", "done")
    block = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)[0]
    for line in block.splitlines():
        words = shlex.split(line, comments=True)
        assert words[0] == "fawkes"
        ran = CliRunner().invoke(cli, words[1:])
        assert ran.exit_code == 0, f"{line}\n{ran.stderr}"
    assert {path.name for path in tmp_path.iterdir()} >= {"day.png", "day.pdf", "site.jobs.csv", "both.jobs.csv"}
    assert {job.cluster for job in read_workload(Path("both.jobs.csv")).jobs} == {"c-1", "c-2"}


def test_the_table_of_the_page_is_read(tmp_path: Path) -> None:
    text = re.findall(r"```\n(# fawkes.*?)```", PAGE, re.DOTALL)[0]
    path = tmp_path / "page.jobs.csv"
    path.write_text(text)
    trace = read_workload(path)
    assert [(job.id, job.after) for job in trace.jobs][2] == ("report", ("load", "count"))
    assert trace.jobs[2].submit_us == 60_250_000


def test_every_format_column_and_verb_is_there() -> None:
    for name in (*(form.name for form in FORMATS), *COLUMNS):
        assert f"`{name}`" in PAGE
    group = cli.get_command(None, "workload")  # type: ignore[arg-type]
    for verb in group.commands:  # type: ignore[union-attr]
        assert re.search(rf"^\| `{verb}", PAGE, re.MULTILINE), verb
