from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fawkes.base.errors import RefusedError
from fawkes.cli.main import cli
from fawkes.cli.offline.replay import _check_names, _planned
from fawkes.cli.replay.stage import stages
from fawkes.config.site.site import Site
from fawkes.core.values.model import ClusterId, ClusterSpec, Facts, Plain
from fawkes.offline.runs.folder import copied
from fawkes.offline.scenarios.load import Demand, coming
from fawkes.workload.model import TraceJob
from tests.cli.offline.test_deadlines import story


def test_without_a_controller_nothing_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["--site", str(tmp_path), "replay", "no-such-workload"])
    assert result.exit_code != 0
    assert list(tmp_path.iterdir()) == []


class Clusters:
    """A controller with an MR-cluster that is being deployed."""

    def rows(self, name: str, **parameters: str) -> list[dict[str, Any]]:
        return [{"cluster": "c", "state": "deploying"}]

    def post(self, verb: str, body: Mapping[str, Plain]) -> Facts:
        raise AssertionError(verb)


@pytest.mark.parametrize(
    ("cluster", "job", "taken"),
    [("a", "a-0", "a job a-0"), ("c", "b", "an MR-cluster c, and it is deploying"), ("a", "b", "")],
)
def test_names_are_looked_at_before_anything_is_requested(tmp_path: Path, cluster: str, job: str, taken: str) -> None:
    copied(story().store, tmp_path / "state")
    site = Site(tmp_path)
    demand = Demand(
        spec=ClusterSpec(id=ClusterId(cluster), min_nodes=1, replication=1),
        jobs=coming([TraceJob(id=job, submit_us=0)], cluster),
    )
    parts = stages(
        "w", [demand], running=(), settings=site.settings(), generate=(), jar=Path("/x.jar"), data_limit_bytes=1
    )
    _check_names(Clusters(), site, parts, {cluster, job})
    with pytest.raises(RefusedError, match=f"already {taken}: nothing was") if taken else nullcontext():
        _check_names(Clusters(), site, parts, ())


def test_the_plan_says_what_comes_when(tmp_path: Path) -> None:
    jobs = (
        TraceJob(id="a", submit_us=3_000_000, input_bytes=5_000_000, maps=2),
        TraceJob(id="b", submit_us=0, after=("a",)),
    )
    demand = Demand(spec=ClusterSpec(id=ClusterId("c"), min_nodes=1, replication=1), jobs=coming(jobs, "c"))
    late = Demand(
        spec=ClusterSpec(id=ClusterId("d"), min_nodes=1, replication=1),
        requested_us=40_000_000,
        behind=ClusterId("c"),
        jobs=coming([replace(jobs[0], id="l")], "d"),
    )
    parts = stages(
        "w",
        [demand, late],
        running=(),
        settings=Site(tmp_path).settings(),
        generate=(),
        jar=Path("/x/fawkes-load.jar"),
        data_limit_bytes=10**9,
    )
    rows: list[dict[str, Any]] = [*_planned("before", parts.before), *_planned("jobs", parts.jobs)]
    assert [(row["action"], row["name"], row["at_s"], row["counts_from"], row.get("behind")) for row in rows] == [
        ("request", "c", 0.0, "start", None),
        ("submit", "w-data-c", 0.0, "c runs", ""),
        ("request", "d", 40.0, "c runs", None),
        ("submit", "a", 3.0, "start", ""),
        ("submit", "b", 0.0, "start", "a"),
        ("submit", "w-data-d", 0.0, "d runs", ""),
        ("submit", "l", 3.0, "request of d", "w-data-d"),
    ]
    assert json.dumps(rows)
