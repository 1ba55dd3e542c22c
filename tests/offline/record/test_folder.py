"""A record: whole or not at all, the same run again, and refused when it cannot be trusted."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from fawkes.base.catalog import Catalog
from fawkes.base.errors import ConfigError, FawkesError, RefusedError, UserError
from fawkes.base.units import SECOND_US
from fawkes.config.clusters.clusters import NEVER_US
from fawkes.config.site.site import Site
from fawkes.config.workloads.model import ModelTable
from fawkes.core.values.model import JobState, Promise
from fawkes.offline.calibrate.validate import validated
from fawkes.offline.record.folder import Record, open_record
from fawkes.offline.record.gather import gathered
from fawkes.offline.record.measured import MeasuredTimes
from fawkes.offline.record.scenario import INCLUDED, Platform, scenario_text
from fawkes.offline.record.span import recorded_span, span_of
from fawkes.offline.record.verdict import ModelBounds
from fawkes.offline.record.whatif import question_of, verdict_of
from fawkes.offline.scenarios.demands import KnownDemands, read_demands
from fawkes.offline.scenarios.plan import with_demands
from fawkes.offline.scenarios.read import read_plan
from fawkes.offline.scenarios.scenario import simulate
from fawkes.report import history
from fawkes.report.history import SIMULATED
from fawkes.sim.hadoop.profile import profile_of
from fawkes.store.base import Writer
from fawkes.workload.formats import table
from tests.offline.record.support import CONSTANTS, SETTINGS, demand, history_of, recorded, run, sleep_job
from tests.offline.support import ready, two


@pytest.fixture(scope="module")
def happened() -> Writer:
    return run()


@pytest.fixture(scope="module")
def made(happened: Writer, tmp_path_factory: pytest.TempPathFactory) -> Record:
    return recorded(happened, tmp_path_factory.mktemp("made"))


@pytest.fixture
def copy(made: Record, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made.folder, tmp_path / "copy"))


def test_a_simulated_run_is_reproduced(made: Record, happened: Writer) -> None:
    """But for the drains: an ApplicationMaster holds some of them up, and the shortest one stands for all."""
    verdict = verdict_of(question_of(made, Catalog(site=made.folder)), ModelBounds())
    assert verdict.both.likeness == 1.0
    assert {row.job for row in verdict.both.jobs} == {job.id for job in history.jobs(happened)}
    errors = [row.error for row in verdict.both.jobs]
    assert errors == pytest.approx([0] * 9, abs=0.03)
    assert sum(abs(error) < 1e-6 for error in errors) >= 7
    assert verdict.makespan_error == pytest.approx(0, abs=0.03)
    assert verdict.reproduced


def test_what_was_not_seen_is_left_to_the_model_and_unknown_in_the_table(tmp_path: Path) -> None:
    """A simulated site of Hadoop 1: no containers, no load and no history were seen."""
    made = recorded(simulate(ready(two())), tmp_path)
    said = tomllib.loads(made.scenario.read_text())["model"]
    assert set(said) == {"deploy", "join", "clean"}
    verdict = verdict_of(question_of(made, Catalog(site=made.folder)), ModelBounds())
    assert [row.error for row in verdict.both.jobs] == pytest.approx([0] * 16, abs=0.01)
    jobs = table.read(made.folder / "jobs.jobs.csv").jobs
    assert {(job.map_us, job.reduce_us, job.input_bytes) for job in jobs} == {(None, None, 10**9)}


def test_what_yarn_was_seen_to_do_has_the_end_of_tasks_in_it(happened: Writer) -> None:
    """This is so of a real site; the seeks of disks are in it only where a load was timed."""
    span = recorded_span(happened, span_of(happened))
    for controller, loads, names in ((SIMULATED, (), ()), ("vm", (), ("task_end", "serial")), ("vm", (9,), INCLUDED)):
        real = replace(span, rules=replace(span.rules, controller=controller))
        seen = MeasuredTimes(load_bytes_s=loads)
        text = scenario_text(real, seen, Platform(), title="", policy_file="td.py", calibrated=None)
        assert set(tomllib.loads(text)["model"]) & set(INCLUDED) == set(names)


def test_the_scenario_has_pool_settings_and_policy_of_the_ledger(made: Record, happened: Writer) -> None:
    plan = read_plan(Site(made.folder), Catalog(site=made.folder), str(made.scenario))
    rules = history.started_before(happened, happened.last_seq())
    assert rules is not None
    assert plan.nodes == rules.nodes
    scenario = plan.scenario(Catalog(site=made.folder))
    assert scenario.in_force == rules.settings
    assert scenario.policy.sha256 == rules.policy.sha256
    assert (plan.constants.slots, plan.constants.map_slots) == (CONSTANTS.slots, 0)
    specs = {wanted_job.spec.id: wanted_job.spec for demand in plan.demands for wanted_job in demand.all_jobs}
    for job in history.jobs(happened):
        assert profile_of(specs[job.id]) == profile_of(job.spec)
        assert (specs[job.id].tasks, specs[job.id].input_bytes) == (job.spec.tasks, job.spec.input_bytes)


def test_the_jobs_are_a_workload_table(made: Record, happened: Writer) -> None:
    jobs = table.read(made.folder / "jobs.jobs.csv").jobs
    begin_us = history.first_us(happened)
    assert [(job.id, job.cluster, job.submit_us) for job in jobs] == [
        (job.id, job.cluster, job.submitted_us - begin_us) for job in history.jobs(happened)
    ]
    assert {(job.maps, job.reduces) for job in jobs} == {(4, 0), (12, 1)}


def test_deadlines_come_back(tmp_path: Path) -> None:
    """Also those of jobs that were late: their times were measured, and the run can be simulated again."""
    jobs = [replace(sleep_job(f"a-{n}", "a", map_s=12), deadline_us=(5 + n) * SECOND_US) for n in range(3)]
    store = run([demand("a", jobs)])
    made = recorded(store, tmp_path)
    plan = read_plan(Site(made.folder), Catalog(site=made.folder), str(made.scenario))
    again = {each_job.spec.id: each_job.spec.deadline_us for each in plan.demands for each_job in each.all_jobs}
    assert again == {job.id: job.deadline_us for job in jobs}


def test_the_promise_about_masters_comes_back(made: Record, tmp_path: Path) -> None:
    wanted = demand("a", [sleep_job("a-1", "a")])
    store = run([replace(wanted, spec=replace(wanted.spec, min_nodes=3, masters=Promise.STANDBY))])
    again = recorded(store, tmp_path)
    plan = read_plan(Site(again.folder), Catalog(site=again.folder), str(again.scenario))
    assert [each.spec.masters for each in plan.demands] == [Promise.STANDBY]
    assert "\nmasters =" not in made.scenario.read_text()


def test_an_admission_policy_comes_back_with_its_parameters_and_the_jobs_it_ended(tmp_path: Path) -> None:
    """The last job could never have been in time, and goes into the record all the same."""
    admission = {"admission": "justice", "learn_from_pool": True, "admission_parameters": {"correction": "none"}}
    jobs = [replace(sleep_job(f"a-{n}", "a", map_s=12), deadline_us=200 * SECOND_US) for n in range(4)]
    jobs.append(replace(sleep_job("a-9", "a", maps=400, map_s=12), deadline_us=15 * SECOND_US))
    store = run([demand("a", jobs, every_s=60)], {**SETTINGS, **admission})
    lives = {job.id: job.life.value for job in history.jobs(store)}
    assert set(lives.values()) == {"succeeded", "killed"}
    made = recorded(store, tmp_path)
    rules = history.started_before(store, store.last_seq())
    catalog = Catalog(site=made.folder)
    plan = read_plan(Site(made.folder), catalog, str(made.scenario))
    scenario = plan.scenario(catalog)
    assert rules is not None
    assert scenario.in_force == rules.settings
    assert scenario.admission is not None
    assert rules.admission is not None
    assert scenario.admission.sha256 == rules.admission.sha256
    again = simulate(with_demands(scenario, plan.demands))
    assert {job.id: job.life.value for job in history.jobs(again)} == lives


def test_jobs_that_die_in_the_model_are_not_reproduced(tmp_path: Path) -> None:
    jobs = [replace(sleep_job(f"a-{n}", "a", maps=4 + 996 * (n % 2)), deadline_us=90 * SECOND_US) for n in range(4)]
    store = run([demand("a", jobs, every_s=120)], {**SETTINGS, "admission": "reactive"})
    lives = {str(job.id): job.life.value for job in history.jobs(store)}
    assert lives == {"a-0": "succeeded", "a-1": "killed", "a-2": "succeeded", "a-3": "killed"}
    made = recorded(store, tmp_path)
    text, slow = made.scenario.read_text(), ModelTable.model_validate({"job_begin": "500s"})
    for model, dead in ((ModelTable(), []), (slow, ["a-0", "a-2"])):
        made.scenario.write_text(text.replace("[model]", "[model]\njob_begin = '500s'" if dead else "[model]"))
        verdict = verdict_of(question_of(made, Catalog(site=made.folder)), ModelBounds())
        assert (verdict.otherwise, verdict.reproduced) == (dead, not dead)
        assert validated([made], model, lambda name: None, runs_of_each=1).otherwise == len(dead)


def test_a_record_without_deadlines_has_no_word_of_them(made: Record) -> None:
    assert "deadline" not in (made.folder / "jobs.jobs.csv").read_text()
    assert "admission" not in made.scenario.read_text()


def test_what_is_opened_is_what_was_written(made: Record) -> None:
    assert open_record(made.folder) == made
    assert set(made.known.values()) == {KnownDemands.SPEC}
    with made.ledger() as ledger:
        assert ledger.last_seq() == made.span.last_seq
    assert sorted(path.name for path in made.folder.iterdir()) == [
        "demands.csv", "history", "jobs.jobs.csv", "ledger.sqlite", "policies", "record.json", "scenario.toml",
    ]  # fmt: skip


def test_a_platform_goes_into_the_model(happened: Writer, tmp_path: Path) -> None:
    platform = Platform(cores=2, shared_cores=True, network_bytes_s=5_000_000)
    record = recorded(happened, tmp_path, platform=platform)
    plan = read_plan(Site(tmp_path), Catalog(site=record.folder), str(record.scenario))
    of = plan.constants
    assert (of.cores, of.shared_cores, of.network_bytes_s) == (2, True, 5_000_000)


def test_a_calibrated_model_stands_instead_of_what_the_ledger_tells(happened: Writer, tmp_path: Path) -> None:
    model = tmp_path / "fitted.toml"
    model.write_text('[model]\njoin = "9s"\ntask_start = "2s"\n')
    record = recorded(happened, tmp_path, model=model)
    plan = read_plan(Site(tmp_path), Catalog(site=record.folder), str(record.scenario))
    assert plan.delays.join_us == 9_000_000
    assert plan.constants.task_start_us == 2_000_000
    assert "deploy" not in record.scenario.read_text().partition("[model]")[2].partition("[[")[0]


def test_nothing_is_left_when_it_cannot_be_finished(happened: Writer, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        recorded(happened, tmp_path, model=tmp_path / "nowhere.toml")
    assert [path.name for path in tmp_path.iterdir()] == ["site"]
    (tmp_path / "record").mkdir()
    shutil.rmtree(tmp_path / "site")
    with pytest.raises(RefusedError, match="exists already"):
        recorded(happened, tmp_path)
    assert list((tmp_path / "record").iterdir()) == []


def damage_ledger(folder: Path) -> None:
    db = sqlite3.connect(folder / "ledger.sqlite")
    db.execute("UPDATE entries SET at_us = at_us + 1 WHERE seq = 5")
    db.commit()
    db.close()


def change(folder: Path, **facts: object) -> None:
    file = folder / "record.json"
    said = json.loads(file.read_text())
    file.write_text(json.dumps({**said, **facts}))


@pytest.mark.parametrize(
    ("harm", "error", "says"),
    [
        (damage_ledger, RefusedError, "the ledger is damaged"),
        (lambda folder: (folder / "ledger.sqlite").write_bytes(b""), RefusedError, "damaged"),
        (lambda folder: (folder / "ledger.sqlite").unlink(), RefusedError, "has no ledger.sqlite"),
        (lambda folder: (folder / "demands.csv").unlink(), RefusedError, "has no demands.csv"),
        (lambda folder: change(folder, fawkes="9.9"), RefusedError, "a record of Fawkes 9.9"),
        (lambda folder: change(folder, format=7), RefusedError, "format 7"),
        (lambda folder: change(folder, span=3), RefusedError, "cannot be understood"),
        (lambda folder: change(folder, known={"a-0": "magic"}), RefusedError, "cannot be understood"),
        (lambda folder: (folder / "record.json").write_text("{"), UserError, "is not a record"),
        (shutil.rmtree, UserError, "is not a record"),
    ],
)
def test_a_record_that_cannot_be_trusted_is_refused(
    copy: Path, harm: object, error: type[FawkesError], says: str
) -> None:
    harm(copy)  # type: ignore[operator]
    with pytest.raises(error, match=says):
        open_record(copy)


def test_an_edited_scenario_counts_and_a_wrong_one_is_refused(copy: Path) -> None:
    file = copy / "scenario.toml"
    text = file.read_text()
    file.write_text(text.replace("tau = ", "tau = 1e9 # "))
    assert question_of(open_record(copy), Catalog(site=copy)).recorded.settings.tau == 1e9
    file.write_text(text.replace("tau = ", "taw = "))
    with pytest.raises(ConfigError, match="taw"):
        question_of(open_record(copy), Catalog(site=copy))


def test_histories_are_kept_and_tell_what_jobs_asked_for(happened: Writer, tmp_path: Path) -> None:
    jobs = history.jobs(happened)
    answers: dict[str, list[dict[str, object]]] = {
        job.id: [history_of(job, maps=4, cpu_ms=2500)] for job in jobs if job.cluster == "a"
    }
    answers["b-0"] = [{**history_of(jobs[-1], maps=1), "job": None, "why": "asked too late"}]
    answers["b-1"] = [{"job": {"state": "SUCCEEDED"}}]

    def ask(job: JobState) -> list[dict[str, object]]:
        if job.id == "b-2":
            raise FawkesError("no answer")
        return answers.get(job.id, [])

    lines: list[str] = []
    histories, missing = gathered(jobs, ask, lines.append)
    assert lines == [job.id for job in jobs]
    assert missing["b-0"] == "asked too late"
    assert "cannot be understood" in missing["b-1"]
    assert missing["b-2"] == "no answer"
    assert missing["b-3"] == "YARN no longer has an application of it"
    record = recorded(happened, tmp_path, histories=histories, missing=missing)
    kept = {path.name for path in (record.folder / "history").iterdir()}
    assert kept == {"a-0.1.json", "a-1.1.json", "a-2.1.json", "b-0.1.json", "b-1.1.json"}
    assert dict(record.missing) == missing
    assert read_demands(record.folder / "demands.csv")["a-0"].known is KnownDemands.SPEC


def test_an_mr_cluster_that_never_idles_out_never_does_offline(tmp_path: Path) -> None:
    wanted = demand("a", [sleep_job("a-1", "a")])
    store = run([replace(wanted, spec=replace(wanted.spec, idle_us=NEVER_US))])
    record = recorded(store, tmp_path)
    assert 'idle_time = "never"' in record.scenario.read_text()
    plan = read_plan(Site(tmp_path), Catalog(site=record.folder), str(record.scenario))
    assert [cluster.spec.idle_us for cluster in plan.demands] == [NEVER_US]
