from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fawkes.cli.main import cli
from fawkes.cli.offline.replay import _planned
from fawkes.cli.replay.stage import stages
from fawkes.config.site.site import Site
from fawkes.core.values.model import ClusterId, ClusterSpec
from fawkes.offline.scenarios.load import Demand, coming
from fawkes.workload.model import TraceJob


def test_without_a_controller_nothing_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["--site", str(tmp_path), "replay", "no-such-workload"])
    assert result.exit_code != 0
    assert list(tmp_path.iterdir()) == []


def test_the_plan_says_what_comes_when(tmp_path: Path) -> None:
    jobs = (
        TraceJob(id="a", submit_us=3_000_000, input_bytes=5_000_000, maps=2),
        TraceJob(id="b", submit_us=0, after=("a",)),
    )
    demand = Demand(spec=ClusterSpec(id=ClusterId("c"), min_nodes=1, replication=1), jobs=coming(jobs, "c"))
    parts = stages(
        "w",
        [demand],
        running=(),
        settings=Site(tmp_path).settings(),
        generate=(),
        jar=Path("/x/fawkes-load.jar"),
        data_limit_bytes=10**9,
    )
    rows: list[dict[str, Any]] = [*_planned("before", parts.before), *_planned("jobs", parts.jobs)]
    assert [(row["action"], row["name"], row["at_s"]) for row in rows] == [
        ("request", "c", 0.0),
        ("submit", "w-data-c", 0.0),
        ("submit", "a", 3.0),
        ("submit", "b", 0.0),
    ]
    assert rows[-1]["behind"] == "a"
    assert json.dumps(rows)
