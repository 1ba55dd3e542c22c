"""Observations of each constant in records, from simulated runs with canned histories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.errors import RefusedError
from fawkes.base.units import SECOND_US
from fawkes.offline.calibrate.fit import LEAST
from fawkes.offline.calibrate.observe import observed
from fawkes.offline.record.folder import Record
from fawkes.offline.record.scenario import Platform
from fawkes.report import history
from fawkes.sim.events.steps import Delays
from fawkes.sim.hadoop.constants import DAS4
from fawkes.store.base import Writer
from tests.offline.record.support import CONSTANTS, demand, history_of, recorded, run, sleep_job

pytestmark = pytest.mark.slow

S = SECOND_US


@pytest.fixture(scope="module")
def store() -> Writer:
    return run(constants=CONSTANTS)


def with_histories(store: Writer, folder: Path, **facts: Any) -> Record:
    """A record with the history of a's jobs: four maps side by side, which sleep 12 s."""
    jobs = [job for job in history.jobs(store) if job.cluster == "a"]
    histories = {
        job.id: {"job": job.id, "attempt": 1, "applications": [history_of(job, maps=4, **facts)]} for job in jobs
    }
    missing = {job.id: "no" for job in history.jobs(store) if job.id not in histories}
    return recorded(store, folder, histories=histories, missing=missing, platform=Platform(cores=2, shared_cores=True))


def test_a_record_shows_the_constants_that_it_was_made_by(store: Writer, tmp_path: Path) -> None:
    values = observed([with_histories(store, tmp_path)]).values
    assert values["job_begin"] == [DAS4.job_begin_us] * 3
    assert values["job_end"] == pytest.approx([DAS4.job_end_us] * 3, abs=1000)
    assert set(values["job_start"]) == {Delays().job_start_us}
    assert len(values["job_start"]) == 9
    assert set(values["deploy"]) == {Delays().deploy_us}
    assert [round(rate / 1e6) for rate in values["disk"]] == [200]
    assert values["task_start"] == [DAS4.task_start_us] * 4


def test_crowds_of_starts_show_what_a_start_costs(tmp_path: Path) -> None:
    store = run([demand("a", [sleep_job(f"a-{number}", "a") for number in range(3)], every_s=60)])
    values = observed([with_histories(store, tmp_path, begin_us=3 * S)]).values
    took_us = [job.run_us - 7 * S - 12 * S for job in history.jobs(store) if job.cluster == "a" and job.run_us]
    # Four start at once on two cores.
    assert values["task_start_cpu"] == pytest.approx([us / 2 for us in took_us], abs=2000)
    assert "crowd" not in values
    assert values.get("cores", []) == []


def test_crowds_that_met_another_job_that_begins_are_left_out(tmp_path: Path) -> None:
    """Its client and its ApplicationMaster start as well."""
    one_cluster = run([demand("a", [sleep_job(f"a-{number}", "a") for number in range(3)], every_s=60)])
    # The second one begins while tasks of the first one start.
    two_clusters = run([demand(name, [sleep_job(f"{name}-0", name)], at_s=at_s) for name, at_s in (("a", 0), ("b", 8))])
    for store, each in ((one_cluster, 3), (two_clusters, 1)):
        jobs = history.jobs(store)
        histories = {
            job.id: {"job": job.id, "attempt": 1, "applications": [history_of(job, maps=4, begin_us=3 * S)]}
            for job in jobs
        }
        folder = tmp_path / f"{each}"
        folder.mkdir()
        record = recorded(store, folder, histories=histories, platform=Platform(cores=2, shared_cores=True))
        assert len(observed([record]).values.get("task_start_cpu", [])) == each


def test_what_began_alone_counts_before_what_began_beside_others(tmp_path: Path) -> None:
    lonely = run([demand("a", [sleep_job(f"a-{number}", "a") for number in range(3)], every_s=60)])
    crowded = run([demand(name, [sleep_job(f"{name}-{number}", name) for number in range(2)]) for name in "ab"])
    records = []
    for name, store, begin_us in (("lonely", lonely, 3 * S), ("crowded", crowded, 5 * S)):
        (tmp_path / name).mkdir()
        histories = {
            job.id: {"job": job.id, "attempt": 1, "applications": [history_of(job, maps=4, begin_us=begin_us)]}
            for job in history.jobs(store)
        }
        platform = Platform(cores=2, shared_cores=True)
        records.append(recorded(store, tmp_path / name, histories=histories, platform=platform))
    assert observed(records).values["job_begin"] == [3 * S] * 3
    assert observed(records[1:]).values["job_begin"] == [5 * S] * LEAST, "the quickest, for want of better"
    assert not any("beside" in name for name in observed(records).values)


def test_several_records_are_one_set_of_observations(store: Writer, tmp_path: Path) -> None:
    (tmp_path / "two").mkdir()
    first, two = with_histories(store, tmp_path), with_histories(store, tmp_path / "two")
    alone, both = observed([first]).values, observed([first, two]).values
    # Of what was never seen alone the quickest quarter counts.
    assert {name: len(figures) for name, figures in both.items() if name not in ("join", "job_begin")} == {
        name: 2 * len(figures) for name, figures in alone.items() if name not in ("join", "job_begin")
    }


def test_a_history_that_cannot_be_read_is_refused(store: Writer, tmp_path: Path) -> None:
    record = with_histories(store, tmp_path)
    file = record.folder / "history" / "a-1.1.json"
    said = json.loads(file.read_text())
    for harm in ("{", json.dumps([1]), json.dumps({**said, "applications": [{"job": {"state": "SUCCEEDED"}}]})):
        file.write_text(harm)
        with pytest.raises(RefusedError, match="cannot be understood"):
            observed([record])
    file.unlink()
    with pytest.raises(RefusedError, match=r"a-1\.1\.json"):
        observed([record])


def test_nothing_is_fitted_to_a_simulated_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "simulated", lambda store: True)
    record = recorded(run([demand("a", [sleep_job("a-0", "a")])]), tmp_path, histories={}, platform=Platform())
    with pytest.raises(RefusedError, match=r"is of a simulated run, which has no histories. Fit to a record of a site"):
        observed([record])
