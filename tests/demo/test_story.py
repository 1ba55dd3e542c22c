"""The story of `make demo`: its five points happen in the model of a lab, on machines of several speeds."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from fawkes.catalog import Catalog
from fawkes.config.site import Site
from fawkes.offline.plan import asked
from fawkes.offline.read import read_plan
from fawkes.offline.scenario import simulate
from fawkes.report.history import first_us, last_us
from fawkes.units import SECOND_US
from fawkes.workload.story import LETTERS, points

WORKLOADS = Path(__file__).parents[2] / "workloads"
#: keys of [model]: the two cores that constants were fitted on; a busy machine, as in docs/demo.png; larger ones
MACHINES = {
    "two cores": "",
    "two busy cores": 'deploy = "40s"\ncores = 1.35',
    "one core": 'deploy = "70s"\ncores = 1.2',
    "four cores": 'deploy = "20s"\ncores = 4',
    "sixteen cores": 'deploy = "14s"\ncores = 16\njoin = "4s"\njoin_cpu = "8s"\ntask_start_cpu = "2s"',
}
#: the Wordcount of real text, whose output the model cannot know: the same tasks, with nothing to save
COUNT = 'kind = "sleep"\nmaps = 2\nmap_time = "6s"\nreduces = 1\nreduce_time = "2s"'


def on(machine: str) -> str:
    """The workload as a scenario of such a machine."""
    text = (WORKLOADS / "wkld-a-small.toml").read_text()
    text, found = re.subn(r'kind = "jar"\n(?:.+\n)*?tasks = \d+', COUNT, text)
    assert found == 1
    for key in tomllib.loads(machine):
        text = re.sub(rf"^{key} = .*\n", "", text, flags=re.MULTILINE)
    return text.replace("[model]\n", f"[model]\n{machine}\n").replace('from = "models/', f'from = "{WORKLOADS}/models/')


@pytest.mark.parametrize("machine", MACHINES)
def test_all_points_happen_in_their_order(machine: str, tmp_path: Path) -> None:
    file = tmp_path / "story.toml"
    file.write_text(on(MACHINES[machine]))
    plan = read_plan(Site(tmp_path), Catalog(), str(file), None)
    store = simulate(asked(plan.scenario(Catalog()), plan.demands))
    found = points(store.entries())
    assert {point.letter: point.how for point in found if not point.happened} == {}
    assert [point.letter for point in found] == list(LETTERS)
    moments = [point.at_us for point in found if point.at_us is not None]
    assert moments == sorted(moments)
    # No longer than the story needs: E, then the work under way ends.
    assert last_us(store) - max(moments) < 120 * SECOND_US
    assert max(moments) - first_us(store) < 400 * SECOND_US
