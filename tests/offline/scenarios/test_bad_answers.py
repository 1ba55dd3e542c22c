"""Input that would give a hang or a plain row: outlier times, lost masters, lost copies, rigid jobs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fawkes.base.errors import ConfigError, DeadlineError
from fawkes.base.units import SECOND_US
from fawkes.config.site.site import Site
from fawkes.core.values.model import ClusterId, NodeId
from fawkes.offline.scenarios.late import refuse_late
from fawkes.offline.scenarios.notes import CopyNote, run_notes, struck_nobody
from fawkes.offline.scenarios.plan import Plan
from fawkes.offline.scenarios.read import read_plan
from fawkes.offline.scenarios.scenario import Scenario, simulate
from fawkes.sim.events.steps import Loss
from fawkes.sim.hadoop.profile import profile_of
from tests.offline.support import CATALOG, demand, job, jobs, plan, ready

DAY_S = 86_400
WEEK_US = 7 * DAY_S * SECOND_US


def swf(path: Path, times_s: list[int], processors: int = 2) -> Path:
    rows = [f"{n} {at} -1 30 {processors} -1 -1 2 60 -1 1 1 1 1 1 -1 -1 -1" for n, at in enumerate(times_s, 1)]
    path.write_text("; MaxProcs: 100\n" + "\n".join(rows) + "\n")
    return path


def traced(folder: Path, trace: Path, more: str = "") -> Plan:
    path = folder / "s.toml"
    path.write_text(
        f'{more}\n[pool]\nnodes = 4\n[[cluster]]\nid = "c"\nmin_nodes = 3\n[[load]]\ncluster = "c"\n'
        f'trace = "{trace.name}"\n'
    )
    return read_plan(Site(folder), CATALOG, str(path))


def test_one_outlier_among_six_thousand_lines_is_named_with_its_line(tmp_path: Path) -> None:
    times = [10 * n for n in range(6000)]
    times[4511] = 1_000_000 * DAY_S
    trace = swf(tmp_path / "log.swf", times)
    with pytest.raises(ConfigError) as raised:
        traced(tmp_path, trace)
    said = str(raised.value)
    assert said.startswith(f"{trace}: 1 of 6,000 jobs is submitted after the limit of the run, 7 d: the first is job ")
    assert "job '4512' (line 4513), 1,000,000 d after the start" in said
    assert "Correct or remove the job whose time is wrong" in said


def test_a_first_job_that_is_the_outlier_is_named_by_the_gap_behind_it(tmp_path: Path) -> None:
    trace = swf(tmp_path / "log.swf", [0, *(1_700_000_000 + 10 * n for n in range(50))])
    with pytest.raises(
        ConfigError, match=r"50 of 51 jobs are .* the largest gap, 19,676 d, is between job '1' \(line 2\)"
    ):
        traced(tmp_path, trace)


def test_a_long_trace_runs_with_a_longer_limit_or_fewer_jobs(tmp_path: Path) -> None:
    trace = swf(tmp_path / "log.swf", [n * DAY_S for n in range(20)])
    with pytest.raises(ConfigError, match="12 of 20 jobs are submitted after the limit of the run, 7 d"):
        traced(tmp_path, trace)
    assert traced(tmp_path, trace, 'limit = "30d"').limit_us == 30 * DAY_S * SECOND_US


@pytest.mark.parametrize(("factor", "fits"), [(1.0, True), (1.01, False), (0.5, True)])
def test_the_limit_holds_for_the_times_that_are_run(tmp_path: Path, factor: float, fits: bool) -> None:
    two = [job("a", 5), job("b", 5 + 7 * DAY_S)]
    if fits:
        refuse_late(two, tmp_path / "t", factor, WEEK_US, table=False)
    else:
        with pytest.raises(ConfigError, match="1 of 2 jobs is submitted"):
            refuse_late(two, tmp_path / "t", factor, WEEK_US, table=False)


def test_times_of_a_table_count_from_the_start_of_the_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="2 of 2 jobs are"):
        refuse_late([job("a", 8 * DAY_S), job("b", 8 * DAY_S)], tmp_path / "t", 1, WEEK_US, table=True)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (
            "j,0,1,86400000000,\nk,5,1,3,\n",
            "1 of 2 jobs needs longer than the limit of the run, 7 d: the first is job 'j'",
        ),
        ("k,5,1,3,\nj,6,1,,900000000000000000\n", r"the first is job 'j' \(line 4\), which takes [0-9,]+ d or more"),
    ],
)
def test_a_job_of_a_million_days_or_a_thousand_petabytes_is_named_before_the_run(
    tmp_path: Path, rows: str, says: str
) -> None:
    trace = tmp_path / "t.jobs.csv"
    trace.write_text("# fawkes jobs 1\nid,submit_s,maps,map_s,input_bytes\n" + rows)
    with pytest.raises(ConfigError, match=says):
        traced(tmp_path, trace)


def test_a_job_of_the_scenario_itself_that_cannot_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        'limit = "1h"\n[pool]\nnodes = 4\n[[cluster]]\nid = "c"\nmin_nodes = 3\n[[job]]\nid = "j"\ncluster = "c"\n'
        'kind = "sleep"\nmaps = 1\nmap_time = "20d"\n'
    )
    with pytest.raises(
        ConfigError, match=r"s\.toml: the job 'j' takes 20 d or more, and the limit of the run is 1h00m"
    ):
        read_plan(Site(tmp_path), CATALOG, str(path))


@pytest.mark.parametrize(
    ("asked", "job", "more", "says"),
    [
        (
            'at = "3000d"',
            "",
            "",
            "1 of 1 requests for MR-clusters comes after the limit of the run, 7 d: the first is 'c', 3,000 d after",
        ),
        ("", 'delay = "3000d"', "", "1 of 1 jobs comes after the limit of the run, 7 d: the first is the job 'j'"),
        (
            "",
            "",
            '[[fault]]\nnode = "node01"\nat = "8d"',
            r"1 of 1 faults comes after .*: the first is fault\[#1\], 8 d",
        ),
        (
            "",
            "",
            '[[load]]\ncluster = "c"\napps = ["WC"]\njobs = { "1GB" = 10 }\narrivals = "average"\nper_hour = 1e-6',
            "10 of 11 jobs come after the limit of the run, 7 d: the first is the job 'c-0001'",
        ),
    ],
)
def test_what_comes_after_the_limit_is_named_before_the_run(
    tmp_path: Path, asked: str, job: str, more: str, says: str
) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        f'[pool]\nnodes = 4\n[[cluster]]\nid = "c"\nmin_nodes = 3\n{asked}\n[[job]]\nid = "j"\ncluster = "c"\n'
        f'kind = "sleep"\nmaps = 1\nmap_time = "20s"\n{job}\n{more}\n'
    )
    with pytest.raises(ConfigError, match=says) as raised:
        read_plan(Site(tmp_path), CATALOG, str(path))
    assert str(path) in str(raised.value)
    assert "longer `limit`" in raised.value.hint


def losing(*names: str, back_s: int | None = None, replication: int = 2, emptied: bool = False) -> Scenario:
    mine = demand("a", 3, come=jobs("a", 4))
    mine = replace(mine, spec=replace(mine.spec, replication=replication))
    back = None if back_s is None else back_s * SECOND_US
    losses = tuple(Loss(NodeId(name), 40 * SECOND_US, back, emptied=emptied) for name in names)
    return ready(plan(mine, losses=losses), policy="None")


@pytest.mark.slow
def test_core_nodes_that_are_lost_with_idle_ones_free_end_the_run_soon_and_are_named() -> None:
    with pytest.raises(DeadlineError) as raised:
        simulate(losing("node01", "node02", "node03"))
    said = str(raised.value)
    assert "a-0 is running in a, which has lost node01 with its masters" in said
    assert "(5 nodes are free): give the [[fault]] of node01 a time `back`" in said
    # An hour of quiet, not the limit of a week.
    assert "after 1h" in said


def test_a_master_that_comes_back_late_is_waited_for() -> None:
    store = simulate(losing("node01", back_s=5 * 3600))
    assert store.last_seq() > 0


def test_a_run_of_too_many_steps_ends() -> None:
    with pytest.raises(DeadlineError, match=r"small: the run has taken 51 steps in \S+ of simulated time"):
        simulate(replace(losing(), most_steps=50))


@pytest.mark.parametrize(
    ("names", "replication", "back_s", "emptied", "lost"),
    [
        (("node02", "node03"), 2, None, False, {"a": 2}),
        (("node02", "node03"), 3, None, False, {}),
        (("node01", "node02"), 2, 480, True, {"a": 2}),
        (("node01", "node02"), 2, 480, False, {"a": 2}),
        (("node01", "node02"), 2, 60, True, {"a": 2}),
        (("node01", "node02"), 2, 60, False, {}),
        (("node01", "node02"), 3, 480, True, {}),
    ],
    ids=[
        "workers",
        "copies left",
        "with masters",
        "with masters, disks whole",
        "soon back",
        "soon back, whole",
        "left",
    ],
)
def test_lost_copies_are_counted(
    names: tuple[str, ...], replication: int, back_s: int | None, emptied: bool, lost: dict[str, int]
) -> None:
    """Also where the masters are among them, so that nobody tells of the other nodes."""
    scenario = losing(*names, back_s=back_s, replication=replication, emptied=emptied)
    copies = CopyNote(scenario.losses)
    simulate(scenario, watch=copies)
    assert copies.lost == lost
    assert ("a (2 nodes)" in " ".join(run_notes(copies.lost, ()))) is bool(lost)


@pytest.mark.parametrize(("at_s", "missed"), [(0, ["a at 0 s"]), (100, []), (10**6, ["a at 1e+06 s"])])
def test_a_loss_of_masters_that_were_not_there_is_said(at_s: int, missed: list[str]) -> None:
    """Before the MR-cluster is deployed, while it runs, and after its end."""
    scenario = losing()
    store = simulate(scenario)
    loss = Loss(NodeId(""), at_s * SECOND_US, masters_of=ClusterId("a"))
    assert struck_nobody(store, [loss]) == missed
    assert ("a at" in " ".join(run_notes({}, missed))) is bool(missed)


def test_rigid_jobs_that_the_pool_cannot_hold_are_refused(tmp_path: Path) -> None:
    made = traced(tmp_path, swf(tmp_path / "log.swf", [0, 10, 20]))
    assert {profile_of(job.spec).gang for demand in made.demands for job in demand.all_jobs} == {1}
    with pytest.raises(ConfigError, match="3 of 3 rigid jobs need more slots than the") as caught:
        traced(tmp_path, swf(tmp_path / "log.swf", [0, 10, 20], processors=10_000))
    assert "[pool] more nodes" in caught.value.hint
