"""The cost of a look at a pool does not grow with what has ended in it: counted, not timed."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from fawkes.core.values.decision import Decision, PutCluster, PutJob
from fawkes.core.values.events import Woke
from fawkes.core.values.model import ClusterId, ClusterLife, JobId, JobLife
from fawkes.report import history
from fawkes.report.tables.board import board
from fawkes.report.tables.rows import pool_row
from fawkes.report.web import course, looks
from fawkes.report.web.looks import Watcher
from fawkes.store.sqlite import Ledger, LedgerReader
from tests.report.web.test_metrics import samples

FEW, MANY, KEPT = 5, 50, 3


def aged(folder: Path, played: Path, ended: int) -> Path:
    """The recorded run under an admission policy, after which so many MR-clusters ended, each with a job in time."""
    shutil.copytree(played, folder)
    with closing(Ledger(folder, durable=False)) as ledger:
        at_us, rules = history.last_us(ledger), history.rules(ledger)
        assert rules is not None
        ruled = replace(rules, settings=replace(rules.settings, admission="pythia"))
        ledger.append(Woke(at_us=at_us), Decision(changes=(ruled,)))
        cluster, job = history.clusters(ledger)[0], history.jobs(ledger)[0]
        for number in range(ended):
            name, at_us = ClusterId(f"old-{number}"), at_us + 1
            spec = replace(job.spec, id=JobId(f"old-job-{number}"), cluster=name, deadline_us=10**9)
            done = replace(job, spec=spec, life=JobLife.SUCCEEDED, finished_us=job.submitted_us + 1)
            gone = replace(cluster, spec=replace(cluster.spec, id=name), life=ClusterLife.GONE, since_us=at_us)
            ledger.append(Woke(at_us=at_us), Decision(changes=(PutJob(done), PutCluster(gone))))
    return folder


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many changes and steps of ledgers were decoded."""
    counts: Counter[str] = Counter()
    for name in ("_change", "_entry"):

        def counting(
            self: LedgerReader, *given: object, of: str = name, old: object = getattr(LedgerReader, name)
        ) -> object:
            counts[f"{of} {given[0]}" if of == "_change" else of] += 1
            return old(self, *given)  # type: ignore[operator]

        monkeypatch.setattr(LedgerReader, name, counting)
    for module in (looks, course):
        monkeypatch.setattr(module, "MOST_ENDED", KEPT)
    return counts


def started(folder: Path, read: Counter[str]) -> tuple[Counter[str], Counter[str], int]:
    """Counts of all that the first look of a page reads, and the next one with news, and its MR-clusters."""
    watcher = Watcher(folder)
    read.clear()
    known = samples(watcher.look().metrics)
    assert known["fawkes_jobs_ended_total", (("cluster", "c-2"), ("state", "failed"))] == 0
    first = Counter({name: count for name, count in read.items() if name not in ("_change cluster", "_change sample")})
    read.clear()
    with closing(Ledger(folder, durable=False)) as ledger:
        job = next(job for job in history.jobs(ledger) if job.cluster == "c-2")
        read.clear()
        ledger.append(
            Woke(at_us=history.last_us(ledger)), Decision(changes=(PutJob(replace(job, life=JobLife.FAILED)),))
        )
    look = watcher.look()
    assert samples(look.metrics)["fawkes_jobs_ended_total", (("cluster", "c-2"), ("state", "failed"))] == 1
    assert json.loads(look.state)["pool"]["deadlines"]["met"] in (FEW, MANY)
    return first, +read, len(json.loads(look.state)["clusters"])


def test_a_page_reads_as_much_with_a_few_ended_mr_clusters_as_with_many(
    tmp_path: Path, played_ledger: Path, read: Counter[str]
) -> None:
    few, many = (started(aged(tmp_path / f"{count}", played_ledger, count), read) for count in (FEW, MANY))
    assert few == many


def test_the_history_has_the_newest_of_those_that_ended(
    tmp_path: Path, played_ledger: Path, read: Counter[str]
) -> None:
    watcher = Watcher(aged(tmp_path / "site", played_ledger, MANY))
    watcher.wanted = True
    while "seq" not in (state := json.loads(watcher.look().state)):
        pass
    gone = [row["cluster"] for row in state["clusters"] if row["state"] == "gone"]
    assert gone == [f"old-{number}" for number in range(MANY - KEPT, MANY)]
    curves = json.loads(watcher.course())["clusters"]
    assert list(curves) == [row["cluster"] for row in state["clusters"] if row["state"] != "gone"] + gone


def test_status_decodes_no_job_that_has_ended(tmp_path: Path, played_ledger: Path, read: Counter[str]) -> None:
    with closing(LedgerReader(aged(tmp_path / "site", played_ledger, MANY))) as reader:
        under_way = [row for row in board(reader, "jobs") if row["state"] in ("queued", "starting", "running")]
        read.clear()
        assert pool_row(reader)["deadlines"]["met"] == MANY
        assert board(reader, "jobs-there") == under_way
        assert read["_change job"] == len(under_way)
