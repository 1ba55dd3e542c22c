"""The story of `make demo`: its five points happen in the model of a lab, on machines of several speeds."""

from __future__ import annotations

import re
import tomllib
from contextlib import nullcontext
from pathlib import Path

import pytest

from fawkes.base.catalog import Catalog
from fawkes.base.errors import FawkesError
from fawkes.base.units import SECOND_US, duration_us
from fawkes.cli.asking.client import Client
from fawkes.cli.demo.stage import wait_for_story
from fawkes.config.settings.presets import DEMO
from fawkes.config.site.site import Site
from fawkes.core.values.model import ClusterLife
from fawkes.offline.runs.folder import copied
from fawkes.offline.scenarios.plan import with_demands
from fawkes.offline.scenarios.read import read_plan
from fawkes.offline.scenarios.scenario import simulate
from fawkes.report.history import jobs
from fawkes.store.base import Reader
from fawkes.workload.playing.story import LETTERS, moments, points
from tests.report.played import filled

WORKLOADS = Path(__file__).parents[3] / "workloads"
#: keys of [model]: the two cores that constants were fitted on; a busy machine, as in docs/demo.png; larger ones
MACHINES = {
    "two cores": "",
    "two busy cores": 'deploy = "40s"\ncores = 1.35',
    "one core": 'deploy = "70s"\ncores = 1.2',
    "four cores": 'deploy = "20s"\ncores = 4',
    # Deployed after 9.9 s in a real demo; then c-1 worked 12.4 s after its request.
    "two quick cores": 'deploy = "9s"\njoin = "5s"\njoin_cpu = "9s"\ntask_start_cpu = "2s"',
    "sixteen cores": 'deploy = "14s"\ncores = 16\njoin = "4s"\njoin_cpu = "8s"\ntask_start_cpu = "2s"',
}
#: the Wordcount of real text, whose output the model cannot know: the same tasks, with nothing to save
COUNT = 'kind = "sleep"\nmaps = 2\nmap_time = "6s"\nreduces = 1\nreduce_time = "2s"'


def on(machine: str) -> str:
    """The workload as a scenario of such a machine."""
    text = (WORKLOADS / "wkld-a-small.toml").read_text()
    text, count = re.subn(r'kind = "jar"\n(?:.+\n)*?tasks = \d+', COUNT, text)
    assert count == 1
    for key in tomllib.loads(machine):
        text = re.sub(rf"^{key} = .*\n", "", text, flags=re.MULTILINE)
    return text.replace("[model]\n", f"[model]\n{machine}\n").replace('from = "models/', f'from = "{WORKLOADS}/models/')


def played(machine: str, folder: Path) -> Reader:
    """The run on such a machine, simulated."""
    file = folder / "story.toml"
    file.write_text(on(machine))
    plan = read_plan(Site(folder), Catalog(), str(file), None)
    return simulate(with_demands(plan.scenario(Catalog()), plan.demands))


@pytest.mark.parametrize("machine", MACHINES)
def test_all_points_happen_in_their_order(machine: str, tmp_path: Path) -> None:
    store = played(MACHINES[machine], tmp_path)
    story = points(store.entries())
    assert {point.letter: point.how for point in story if not point.happened} == {}
    assert [point.letter for point in story] == list(LETTERS)
    moments = [point.at_us for point in story if point.at_us is not None]
    assert moments == sorted(moments)
    # The workload is as long as its story: the last jobs end soon after the last point, and not before it.
    end_us = max(job.finished_us or 0 for job in jobs(store))
    assert 0 < end_us - moments[-1] < 90 * SECOND_US


@pytest.mark.parametrize("machine", MACHINES)
def test_a_tick_sees_the_work_of_c_1_before_c_2_is_up(machine: str, tmp_path: Path) -> None:
    """Point B needs a tick in between: at most a period later, once two readings have shown the first jobs."""
    seen = list(moments(played(MACHINES[machine], tmp_path).entries()))
    first, second = (
        next(moment.at_us for moment in seen if moment.life(name) is ClusterLife.RUNNING) for name in ("c-1", "c-2")
    )
    period, reading = str(DEMO["period"].value), tomllib.loads(on(MACHINES[machine]))["settings"]["sample_every"]
    assert second - first >= duration_us(period) + 2 * duration_us(reading)


@pytest.mark.parametrize(("until_s", "over"), [(90, False), (1000, True)])
def test_the_demo_waits_for_the_last_point_of_its_story(until_s: int, over: bool, tmp_path: Path) -> None:
    site, whole = Site(tmp_path), played("", tmp_path).entries()
    copied(filled(entry for entry in whole if entry.event.at_us < until_s * SECOND_US), site.state_dir)
    # No controller runs here: before its last point a story has broken off.
    with nullcontext() if over else pytest.raises(FawkesError, match="the controller ended before the last point"):
        wait_for_story(site, Client(site), limit_us=10)
