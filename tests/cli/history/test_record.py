"""`fawkes record` and `fawkes whatif`: a ledger becomes a folder, and the folder answers for other policies."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.errors import FawkesError
from fawkes.core.values.model import JobState
from fawkes.live.controller.control import ControlServer
from fawkes.report import history
from fawkes.store.base import Writer
from tests.cli.conftest import INVENTORY
from tests.cli.offline.test_simulate import fawkes
from tests.offline.record.support import history_of, run, site_of, two


@pytest.fixture(scope="module")
def store() -> Writer:
    return run()


@pytest.fixture
def site(store: Writer, tmp_path: Path) -> Path:
    return site_of(store, tmp_path / "site")


@pytest.fixture(scope="module")
def record(store: Writer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("live")
    made = folder / "record"
    assert fawkes("--site", site_of(store, folder / "site"), "record", "--out", made).exit_code == 4
    return made


@pytest.fixture
def controller(site: Path, store: Writer) -> Iterator[list[dict[str, str]]]:
    """A controller that knows the history of a's jobs; what it was asked."""
    questions: list[dict[str, str]] = []
    jobs: dict[str, JobState] = {job.id: job for job in history.jobs(store)}

    def answer(wanted: Any) -> Any:
        questions.append(dict(wanted))
        if wanted["cluster"] != "a":
            raise FawkesError("b is not running")
        return iter([history_of(jobs[wanted["job"]], maps=4)])

    server = ControlServer(site / "state", lambda event: None, {"history": answer}, lambda: 7, stop=lambda by: None)
    yield questions
    server.close()


def test_histories_come_through_the_controller(site: Path, controller: list[dict[str, str]], tmp_path: Path) -> None:
    out = tmp_path / "record"
    said = fawkes("--site", site, "record", "--out", out, "-o", "json")
    assert said.exit_code == 4, said.stderr
    assert {key: controller[0][key] for key in ("cluster", "job", "attempt")} == {
        "cluster": "a",
        "job": "a-0",
        "attempt": "1",
    }
    assert len(controller) == 9
    assert sorted(path.name for path in (out / "history").iterdir()) == ["a-0.1.json", "a-1.1.json", "a-2.1.json"]
    rows = json.loads(said.stdout)["rows"]
    assert rows == [{"problem": "no history", "count": 6, "first": "b-0", "why": "b is not running"}]
    assert "9 jobs of the pool live" in said.stderr


def test_without_a_controller_there_is_a_record_all_the_same(site: Path, tmp_path: Path) -> None:
    out = tmp_path / "record"
    (site / "inventory.toml").write_text(INVENTORY)
    said = fawkes("--site", site, "record", "--out", out)
    assert said.exit_code == 4
    assert "no controller is running for the site" in said.stdout
    again = fawkes("--site", site, "record", "--out", out)
    assert again.exit_code == 6
    assert "exists already, a record of the pool 'live'" in again.stderr


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--since", "2030-01-01"], 2, "no step in that span"),
        (["--until", "1970-01-01T00:00:00.5"], 2, "no job was submitted"),
        (["--since", "yesterday"], 2, "neither how long ago"),
        (["--model", "nowhere.toml"], 2, "nowhere.toml"),
    ],
)
def test_wrong_spans_and_models_leave_nothing(
    site: Path, words: list[str], code: int, says: str, tmp_path: Path
) -> None:
    said = fawkes("--site", site, "record", "--out", tmp_path / "new" / "record", *words)
    assert (said.exit_code, says in said.stderr) == (code, True), said.stderr
    assert not (tmp_path / "new").exists()


def test_a_site_without_a_ledger_is_refused(tmp_path: Path) -> None:
    said = fawkes("--site", tmp_path, "record", "--out", tmp_path / "record")
    assert (said.exit_code, "there is no ledger" in said.stderr) == (2, True)


def test_what_is_there_is_not_written_to_and_nobody_is_asked(site: Path, controller: list[Any], tmp_path: Path) -> None:
    for out in (tmp_path, ""):
        said = fawkes("--site", site, "record", "--out", out)
        assert (said.exit_code, "exists already" in said.stderr, controller) == (6, True, [])


def test_a_simulated_run_has_no_histories_to_ask_for(tmp_path: Path) -> None:
    site = site_of(run(two()[:1], controller=history.SIMULATED), tmp_path / "run")
    said = fawkes("--site", site, "record", "--out", tmp_path / "record")
    assert (said.exit_code, said.stdout) == (0, ""), said.stderr
    assert "3 jobs of the pool" in said.stderr


@pytest.mark.slow
def test_policies_of_the_site_are_found_behind_those_of_the_record(record: Path, tmp_path: Path) -> None:
    mine = tmp_path / "policies" / "mine.py"
    mine.parent.mkdir()
    mine.write_text('"""Mine."""\nNAME = "MINE"\n\n\ndef measure(window):\n    return 1.0\n')
    words = ("whatif", record, "--policies", "mine,TD", "--replays", "1", "--jobs", "1", "-o", "json")
    said = fawkes("--site", tmp_path, *words)
    assert {row["policy"] for row in json.loads(said.stdout)["rows"]} == {"MINE", "TD"}, said.stderr


@pytest.mark.slow
def test_the_first_line_tells_how_well_it_is_reproduced_then_policies_are_ranked(record: Path) -> None:
    said = fawkes("whatif", record, "--policies", "TD,None", "--replays", "2", "--jobs", "1")
    assert said.exit_code == 0, said.stderr
    first, _, rest = said.stdout.partition("\n")
    assert first.startswith("Reproduced within 25% for job times and 25% for the makespan. TD as recorded: 9 jobs, ")
    assert "100% of the decisions in the same order" in first
    assert rest.index("TD") < rest.index("None")
    assert "mean slowdown against TD as recorded" in rest


@pytest.mark.slow
def test_json_and_csv_have_the_same_ranking(record: Path) -> None:
    words = ("whatif", record, "--policies", "TD,None", "--set", "tau=1,1e9", "--replays", "1", "--jobs", "1", "-o")
    printed = json.loads(fawkes(*words, "json").stdout)
    assert printed["recorded"]["reproduced"] is True
    assert printed["recorded"]["beside"]["likeness"] == 1.0
    order = [(row["rank"], row["policy"], row["settings"]) for row in printed["rows"]]
    assert [rank for rank, *_ in order] == [1, 2, 3, 4]
    means = [row["slowdown_mean"] for row in printed["rows"]]
    assert means == sorted(means)
    assert order[0][1:] == ("TD", "tau=1")
    rows = list(csv.DictReader(StringIO(fawkes(*words, "csv").stdout)))
    named = [(rank, policy.replace("None", "None (policy)"), settings) for rank, policy, settings in order]
    assert [(int(row["rank"]), row["policy"], row["settings"]) for row in rows] == named


@pytest.mark.slow
def test_a_run_that_is_not_reproduced_is_ranked_but_ends_4(record: Path) -> None:
    words = ("whatif", record, "--policies", "TD,None", "--replays", "6", "--jobs", "1")
    file = record / "scenario.toml"
    text = file.read_text()
    file.write_text(text.replace("[model]", '[model]\njob_end = "60s"'))
    try:
        said = fawkes(*words)
        wide = fawkes(*words, "--job-bound", "9", "--makespan-bound", "9")
    finally:
        file.write_text(text)
    assert said.exit_code == 4
    assert said.stdout.startswith("NOT reproduced")
    assert " 1  TD" in said.stdout
    assert "every verdict is `cannot tell`, because nothing shows that the model reproduces the record" in said.stdout
    assert wide.exit_code == 0
    # The same rows: of a model that may be believed they say something.
    none, trusted = (next(line for line in text.stdout.splitlines() if " None " in line) for text in (said, wide))
    assert "cannot tell" in none
    assert "worse" in trusted


@pytest.mark.slow
def test_few_replays_cannot_tell_and_the_scenario_can_be_changed(record: Path) -> None:
    words = ("whatif", record, "--policies", "TD,None", "--replays", "2", "--jobs", "1", "-o", "json")
    rows = json.loads(fawkes(*words, "--set", "model.job_begin=90s,5s").stdout)["rows"]
    by_key = {(row["policy"], row["settings"]): row for row in rows}
    assert {row["verdict"] for row in rows} == {"cannot tell", None}
    assert by_key["TD", "model.job_begin=90s"]["makespan_s"] > by_key["TD", "model.job_begin=5s"]["makespan_s"]
    wrong = fawkes(*words, "--set", "cluster.zz.min_nodes=3")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert "--set: cluster.zz.min_nodes: there is no MR-cluster 'zz'" in wrong.stderr


@pytest.mark.slow
def test_a_record_can_be_seen_under_admission_policies(record: Path) -> None:
    words = ("whatif", record, "--policies", "TD", "--admission", "fifo,baseline", "--replays", "1", "--jobs", "1")
    rows = json.loads(fawkes(*words, "-o", "json").stdout)["rows"]
    assert {row["settings"] for row in rows} == {"admission=fifo", "admission=baseline"}
    wrong = fawkes(*words[:5], "basline")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert "Did you mean 'baseline'" in wrong.stderr


@pytest.mark.slow
def test_rows_can_be_kept_and_gone_on_with(record: Path, tmp_path: Path) -> None:
    words = ("whatif", record, "--policies", "TD", "--jobs", "1", "--out", tmp_path / "rows", "-o", "json")
    first = json.loads(fawkes(*words, "--replays", "1").stdout)
    assert len(list((tmp_path / "rows" / "rows").iterdir())) == 1
    more = fawkes(*words, "--replays", "2")
    assert "replay 2" in more.stderr
    assert "replay 1" not in more.stderr
    assert json.loads(more.stdout)["rows"][0]["replays"] == 2
    assert first["rows"][0]["replays"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--policies", "XX"], 2, "no policy 'XX'"),
        (["--set", "taw=3"], 2, "taw"),
        (["--set", "tau"], 2, "is not a setting"),
        (["--replays", "0"], 2, "0 is not in the range"),
    ],
)
def test_wrong_questions_are_refused(record: Path, words: list[str], code: int, says: str) -> None:
    said = fawkes("whatif", record, *words)
    assert (said.exit_code, says in said.stderr) == (code, True), said.stderr
    assert said.stdout == ""


def test_what_is_no_record_is_refused(tmp_path: Path) -> None:
    said = fawkes("whatif", tmp_path)
    assert (said.exit_code, "is not a record" in said.stderr) == (2, True)
