"""The worked example of an application in docs/applications.md, as a reader would try it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fawkes.base.catalog import Catalog
from fawkes.config.site.site import Site
from fawkes.core.values.model import JobLife
from fawkes.offline.scenarios.plan import Plan, with_demands
from fawkes.offline.scenarios.read import read_plan
from fawkes.offline.scenarios.scenario import simulate
from fawkes.report import history
from fawkes.sim.hadoop.profile import profile_of
from fawkes.workload.making.applications import load_application
from tests.config.support import Bad, assert_refused, cases, write

DOCUMENTED = re.findall(
    r"```toml\n# (\S+\.toml)\n(.*?)```", (Path(__file__).parents[3] / "docs/applications.md").read_text(), re.S
)


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    for name, text in DOCUMENTED:
        if name != "fawkes.toml":
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
    return read_plan(Site(tmp_path), Catalog(site=tmp_path), str(tmp_path / "grep-and-sort.toml"))


def test_the_documented_application_has_its_jobs(plan: Plan) -> None:
    ours = [job.spec for job in plan.demands[0].jobs]
    assert len(ours) == 2 * 16
    searches = [profile_of(spec) for spec in ours if spec.id.endswith(".01")]
    biggest = max(searches, key=lambda profile: profile.maps * profile.map_read_bytes)
    assert biggest.maps == 150
    assert biggest.map_cpu_us == pytest.approx(20_000 / 150 * 0.08 * 1e6, rel=1e-3)
    assert biggest.maps * biggest.map_output_bytes == pytest.approx(20e6, rel=1e-3)
    assert {job.after for job in plan.demands[0].jobs if job.spec.id.endswith(".02")} == {
        (f"ours-{number:04d}.01",) for number in range(1, 17)
    }


@pytest.mark.slow
def test_the_documented_scenario_runs(plan: Plan) -> None:
    scenario = plan.scenario(Catalog())
    jobs = history.jobs(simulate(with_demands(scenario, plan.demands)))
    assert len(jobs) == 52
    assert {job.life for job in jobs} == {JobLife.SUCCEEDED}


HEAD = 'name = "x"\ninput = "1GB"\n'


@cases(
    no_stage=Bad(HEAD, "stage", "missing"),
    negative=Bad(HEAD + '[[stage]]\nkind = "disk"\noutput = -1\n', "stage[#1].output", "-1"),
    kind=Bad(HEAD + '[[stage]]\nkind = "network"\noutput = 1\n', "stage[#1].kind", "'network'"),
    key=Bad(HEAD + '[[stage]]\nkind = "disk"\noutput = 1\noutputs = 1\n', "stage[#1].outputs", "unknown"),
)
def test_bad_applications(bad: Bad, tmp_path: Path) -> None:
    path = write(tmp_path, "app.toml", bad.text)
    assert_refused(bad, path, lambda: load_application(path))
