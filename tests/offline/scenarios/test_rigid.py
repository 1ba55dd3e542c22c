"""Rigid jobs beside an idle MR-cluster: they get the nodes that they need, or the end says what they wait for."""

from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.base.catalog import Catalog
from fawkes.base.errors import DeadlineError
from fawkes.base.units import SECOND_US
from fawkes.config.site.site import Site
from fawkes.offline.outcomes.outcome import outcome_of
from fawkes.offline.scenarios.plan import with_demands
from fawkes.offline.scenarios.read import read_plan
from fawkes.offline.scenarios.scenario import simulate
from fawkes.report import history
from fawkes.store.base import Writer

#: two MR-clusters of at least 3 of 8 nodes, with 6 slots for maps each; the job comes to the first
SCENARIO = """
limit = "2h"
[pool]
nodes = 8
[settings]
idle_time = "never"
{settings}
[[cluster]]
id = "a"
min_nodes = 3
[[cluster]]
id = "b"
min_nodes = 3
[[load]]
cluster = "a"
trace = "gang.swf"
reference = "none"
"""


def run(folder: Path, processors: int, settings: str = "") -> Writer:
    (folder / "gang.swf").write_text(f"1 0 -1 100 {processors} -1 -1 -1 -1 -1 -1 1 1 -1 -1 -1 -1 -1\n")
    (folder / "gang.toml").write_text(SCENARIO.format(settings=settings))
    catalog = Catalog(site=folder)
    plan = read_plan(Site(folder), catalog, str(folder / "gang.toml"))
    return simulate(with_demands(plan.scenario(catalog), plan.demands))


def test_a_rigid_job_takes_the_time_that_its_log_says(tmp_path: Path) -> None:
    assert [job.run_us for job in history.jobs(run(tmp_path, 4))] == [100 * SECOND_US]


@pytest.mark.parametrize("settings", ["", 'preset = "paper"'])
def test_a_rigid_job_gets_the_nodes_of_an_idle_neighbour(tmp_path: Path, settings: str) -> None:
    first = outcome_of(run(tmp_path, 30, settings)).plain()["clusters"][0]
    assert (first["cluster"], first["jobs"], first["most_nodes"]) == ("a", 1, 5)


def test_a_rigid_job_that_minimums_leave_no_room_for_says_so(tmp_path: Path) -> None:
    with pytest.raises(DeadlineError, match="on 5 of 8 nodes; it begins when 36 slots are free at once") as caught:
        run(tmp_path, 36)
    assert "fewer min_nodes or an idle_time" in caught.value.hint
