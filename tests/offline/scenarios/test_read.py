"""Scenario files as plans, and what is wrong with them."""

from __future__ import annotations

import shutil
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from fawkes.base.errors import ConfigError
from fawkes.base.units import SECOND_US
from fawkes.config.site.site import Site
from fawkes.config.workloads.model import ModelTable
from fawkes.config.workloads.scenarios import TraceFormat
from fawkes.core.values.model import ClusterId, Node, NodeId, Promise
from fawkes.offline.scenarios.plan import Plan
from fawkes.offline.scenarios.read import read_plan
from fawkes.sim.events.steps import Delays, Loss
from fawkes.sim.hadoop.constants import DAS4, Constants
from fawkes.workload.formats.formats import NAMES
from tests.config.support import POOL, Bad, assert_refused, cases
from tests.offline.support import CATALOG

HISTORIES = Path(__file__).parents[2] / "workload/data/history"
HEAD = """
[pool]
nodes = 12
sites = ["x", "y"]
[settings]
preset = "paper"
[[cluster]]
id = "c-1"
min_nodes = 4
[[cluster]]
id = "c-2"
at = "10s"
min_nodes = 4
"""
SWF = "; MaxProcs: 8\n" + "".join(f"{n} {100 * n} 0 60 4 -1 -1 4 90 -1 1 1 1 1 1 -1 -1 -1\n" for n in range(1, 6))
SWIM = "".join(f"job{n}\t{10 * n}\t10\t{n * 10**9}\t{10**9}\t{10**8}\n" for n in range(4))


def read(folder: Path, text: str, name: str = "mine", seed: int | None = None) -> Plan:
    path = folder / f"{name}.toml"
    path.write_text(text)
    return read_plan(Site(folder), CATALOG, str(path), seed)


def test_every_table_reaches_the_plan(tmp_path: Path) -> None:
    text = f"""
limit = "2h"
seed = 7
{HEAD}
[model]
disk = "50MB"
job_begin = "1s"
cores = 4
slow_start = 1.0
[[load]]
cluster = "c-1"
paper = "WKLD-D"
part = "c-2"
limit = 20
[[load]]
cluster = "c-2"
apps = ["WC", "ST"]
jobs = {{ small = 4, "2GB" = 3 }}
arrivals = "average"
per_hour = 60
reference = "none"
[[fault]]
node = "node12"
at = "90s"
back = "10m"
[[fault]]
masters_of = "c-1"
at = "2m"
emptied = true
"""
    plan = read(tmp_path, text)
    assert [node.id for node in plan.nodes] == [f"node{n:02d}" for n in range(1, 13)]
    assert {node.site for node in plan.nodes} == {"x", "y"}
    assert plan.limit_us == 7200 * SECOND_US
    assert plan.losses == (
        Loss(NodeId("node12"), 90 * SECOND_US, 600 * SECOND_US),
        Loss(NodeId(""), 120 * SECOND_US, masters_of=ClusterId("c-1"), emptied=True),
    )
    assert (plan.constants.disk_bytes_s, plan.constants.job_begin_us, plan.constants.cores) == (50e6, SECOND_US, 4)
    assert plan.constants.network_bytes_s == DAS4.network_bytes_s
    assert [len(demand.jobs) for demand in plan.demands] == [20, 7]
    assert plan.demands[0].jobs[0].spec.id == "c-1-0001"
    assert plan.demands[1].requested_us == 10 * SECOND_US
    assert plan.unreferenced == {job.spec.id for job in plan.demands[1].all_jobs}
    assert plan.seed == 7
    assert read(tmp_path, text) == plan
    other = read(tmp_path, text, seed=8)
    assert (other.seed, other.demands[1].jobs != plan.demands[1].jobs) == (8, True)


def test_a_scenario_asks_for_a_second_name_node(tmp_path: Path) -> None:
    model = '[model]\ntakeover = "7s"\narm = "9s"\nstandby_cores = 0.02\n'
    plan = read(tmp_path, model + HEAD.replace("min_nodes = 4", 'min_nodes = 4\nmasters = "standby"', 1))
    assert [demand.spec.masters for demand in plan.demands] == [Promise.STANDBY, Promise.KEPT]
    assert (plan.delays.takeover_us, plan.delays.arm_us) == (7 * SECOND_US, 9 * SECOND_US)
    assert plan.constants.standby_cores == 0.02


def test_the_promise_of_an_mr_cluster_can_be_set(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(HEAD)
    plan = read_plan(Site(tmp_path), CATALOG, str(path), changes={"cluster.c-2.masters": "standby"})
    assert [demand.spec.masters for demand in plan.demands] == [Promise.KEPT, Promise.STANDBY]


def test_the_name_of_a_file_changes_no_job(tmp_path: Path) -> None:
    load = """
[[load]]
cluster = "c-1"
apps = ["WC"]
jobs = { small = 3 }
arrivals = "average"
"""
    first = read(tmp_path, HEAD + load)
    other = read(tmp_path, HEAD + load + '[model]\ndisk = "50MB"\n', name="yours")
    assert first.demands == other.demands
    assert first.demands != read(tmp_path, HEAD + load, seed=99).demands


def test_jobs_of_traces_count_from_the_request_of_their_mr_cluster(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text(SWF)
    (tmp_path / "day.tsv").write_text(SWIM)
    plan = read(
        tmp_path,
        HEAD
        + """
[[load]]
cluster = "c-1"
trace = "log.swf"
format = "swf"
limit = 3
time_factor = 0.5
[[load]]
cluster = "c-2"
trace = "day.tsv"
format = "swim"
size_factor = 0.5
""",
    )
    rigid, bytes_ = plan.demands
    assert [job.at_us // SECOND_US for job in rigid.jobs] == [0, 50, 100]
    assert {job.spec.tasks for job in rigid.jobs} == {4}
    assert [job.spec.id for job in rigid.jobs] == ["c-1-1", "c-1-2", "c-1-3"]
    assert [job.spec.input_bytes for job in bytes_.jobs][2:] == [10**9, 3 * 10**9 // 2]


TIMED = "# fawkes jobs 1\nid,submit_s,deadline_s,maps,reduces,map_s,reduce_s\na,0,90,4,0,30,\nb,5,{},4,2,30,10\n"


def test_deadlines_of_jobs_and_traces_reach_the_plan(tmp_path: Path) -> None:
    (tmp_path / "day.jobs.csv").write_text(TIMED.format("40"))
    job = '[[job]]\nid = "j"\ncluster = "c-2"\nkind = "sleep"\nmaps = 4\nmap_time = "9s"\ndeadline = "20s"\n'
    plan = read(tmp_path, HEAD + job + '[[load]]\ncluster = "c-1"\ntrace = "day.jobs.csv"\n')
    specs = {each_job.spec.id: each_job.spec.deadline_us for demand in plan.demands for each_job in demand.all_jobs}
    assert specs == {"a": 90 * SECOND_US, "b": 40 * SECOND_US, "j": 20 * SECOND_US}


def test_a_deadline_of_a_trace_that_no_number_of_cpus_could_meet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "day.jobs.csv"
    path.write_text(TIMED.format("39.5"))
    bad = Bad(
        HEAD + '[[load]]\ncluster = "c-1"\ntrace = "day.jobs.csv"\n',
        "deadline_s",
        "1 of 2 jobs with deadlines has a deadline that no number of CPUs could meet: the first is job 'b' (line 4), "
        "with 39.5s; one map and one reduce take 40s",
        "Give it a longer deadline",
    )
    assert_refused(bad, path, lambda: read(tmp_path, bad.text))


def test_a_plain_workload_is_a_scenario_as_it_is(tmp_path: Path) -> None:
    plan = read_plan(Site(tmp_path), CATALOG, "wkld-a-small")
    first, second, third = plan.demands
    assert len(plan.nodes) == 8
    assert [len(demand.all_jobs) for demand in plan.demands] == [5, 4, 6]
    assert (third.behind, second.behind) == ("c-1", None)
    assert first.jobs[1].spec.reference_us == 27 * SECOND_US
    # The lab's limit holds offline as well.
    assert plan.constants.network_bytes_s == 5_000_000


def test_without_a_pool_the_nodes_are_those_of_the_site(tmp_path: Path) -> None:
    text = HEAD.partition("[settings]")[2]
    (tmp_path / "inventory.toml").write_text(POOL)
    plan = read(tmp_path, f"[settings]{text}")
    inventory = Site(tmp_path).inventory(need_keys=False)
    assert [node.id for node in plan.nodes] == [node.name for node in inventory.nodes]


def test_the_model_has_every_constant() -> None:
    delays = {"deploy_us", "join_us", "drain_us", "clean_us", "job_start_us", "masters_us", "copy_us"}
    delays |= {"takeover_us", "arm_us"}
    assert delays < {constant.name for constant in fields(Delays)}
    of_tasks = {"source", "task_start_us", "task_start_cpu_us"}
    assert set(ModelTable.model_fields) == {constant.name for constant in fields(Constants)} | delays | of_tasks


def test_the_model_sets_constants_and_delays(tmp_path: Path) -> None:
    plan = read(tmp_path, f'{HEAD}[model]\nspread = 0\ndeploy = "40s"\njoin = "9s"\n')
    assert plan.constants.spread == 0
    assert (plan.delays.deploy_us, plan.delays.join_us) == (40 * SECOND_US, 9 * SECOND_US)
    assert plan.scenario(CATALOG).delays == plan.delays


def test_nodes_can_be_named_one_by_one(tmp_path: Path) -> None:
    nodes = ", ".join(f"{{ id = 'n{n}', site = 's{n % 2}' }}" for n in range(1, 9))
    text = HEAD.replace(
        'nodes = 12\nsites = ["x", "y"]', f"node = [{nodes}, {{ id = 'big', capacity = 2.5, core = false }}]"
    )
    plan = read(tmp_path, text)
    assert [(node.id, node.site) for node in plan.nodes[:2]] == [("n1", "s1"), ("n2", "s0")]
    assert plan.nodes[-1] == Node(id=NodeId("big"), capacity_milli=2500, may_core=False)


def test_another_model_stands_instead_of_that_of_the_file(tmp_path: Path) -> None:
    read(tmp_path, f'{HEAD}[model]\njoin = "9s"\n')
    other = ModelTable.model_validate({"clean": "5s"})
    plan = read_plan(Site(tmp_path), CATALOG, str(tmp_path / "mine.toml"), model=other)
    assert (plan.delays.join_us, plan.delays.clean_us) == (Delays().join_us, 5 * SECOND_US)


LOAD = HEAD + '[[load]]\ncluster = "c-1"\n'
APPS = LOAD + 'apps = ["WC"]\njobs = { small = 3 }\n'


@cases(
    unknown_application=Bad(LOAD + 'apps = ["WX"]\njobs = { small = 3 }', "load[#1].apps", "no application 'WX'", "WC"),
    unknown_size=Bad(LOAD + 'apps = ["WC"]\njobs = { tiny = 3 }', "load[#1].jobs", "'tiny' is not a size", "small"),
    unknown_arrivals=Bad(APPS + 'arrivals = "poison"', "load[#1].arrivals", "no arrivals 'poison'", "average"),
    negative_rate=Bad(APPS + 'arrivals = "average"\nper_hour = -3', "load[#1].per_hour", "-3", ""),
    unknown_workload=Bad(LOAD + 'paper = "WKLD-F"', "load[#1].paper", "no workload 'WKLD-F'", "WKLD-"),
    unknown_part=Bad(LOAD + 'paper = "WKLD-D"\npart = "c-9"', "load[#1].part", "no MR-cluster 'c-9'", "c-1"),
    nowhere=Bad(HEAD + "[[load]]\ncluster = 'c-7'\npaper = 'WKLD-D'", "load[#1].cluster", "no MR-cluster 'c-7'", "c-"),
    two_sources=Bad(APPS + 'paper = "WKLD-D"', "load[#1]", "apps and paper are both given", "one of"),
    no_source=Bad(LOAD, "load[#1]", "has no jobs", "paper, apps, trace"),
    wrong_format=Bad(LOAD + 'trace = "x.swf"\nformat = "csv"', "load[#1].format", "'table', 'history'", ""),
    no_trace=Bad(LOAD + 'trace = "x.swf"\nformat = "swf"', "", "no such file", "path of a trace"),
    more_core_nodes=Bad(
        HEAD.replace("min_nodes = 4", "min_nodes = 13"), "cluster[c-1].min_nodes", "13 core nodes", "12"
    ),
    before_zero=Bad(HEAD.replace('at = "10s"', 'at = "-10s"'), "cluster[c-2].at", "'-10s' is not a duration", ""),
    fault_before_zero=Bad(
        HEAD + '[[fault]]\nnode = "node01"\nat = "-1s"', "fault[#1].at", "'-1s' is not a duration", ""
    ),
    back_too_soon=Bad(
        HEAD + '[[fault]]\nnode = "node01"\nat = "9s"\nback = "8s"',
        "fault[#1].back",
        "comes back before it is lost",
        "at",
    ),
    unknown_node=Bad(HEAD + '[[fault]]\nnode = "node99"\nat = "1s"', "fault[#1].node", "no node 'node99'", "node01"),
    no_fault_of_anything=Bad(HEAD + '[[fault]]\nat = "1s"', "fault[#1].node", "is missing", "masters_of"),
    fault_of_both=Bad(
        HEAD + '[[fault]]\nnode = "node01"\nmasters_of = "c-1"\nat = "1s"', "fault[#1].node", "nothing beside", "either"
    ),
    unknown_masters=Bad(
        HEAD + '[[fault]]\nmasters_of = "c-9"\nat = "1s"', "fault[#1].masters_of", "no MR-cluster 'c-9'", "Did you mean"
    ),
    too_few_for_a_journal=Bad(
        HEAD.replace("min_nodes = 4", 'min_nodes = 2\nreplication = 2\nmasters = "standby"', 1),
        "cluster[c-1].masters",
        "needs 3 core nodes",
        "min_nodes = 3",
    ),
    negative_factor=Bad(APPS + "time_factor = -1", "load[#1].time_factor", "-1", ""),
    unknown_constant=Bad(HEAD + "[model]\ndisks = 3", "model.disks", "unknown key 'disks'", "disk"),
    negative_constant=Bad(HEAD + '[model]\ndisk = "-3MB"', "model.disk", "'-3MB' is not a size", ""),
    sites=Bad(HEAD.replace('"x", "y"', '"x", "x"'), "pool.sites", "named twice", "once"),
)
def test_bad_scenarios_are_refused(tmp_path: Path, bad: Bad) -> None:
    path = tmp_path / "mine.toml"
    place = tmp_path / "x.swf" if "no such file" in bad.what else path
    assert_refused(bad, place, lambda: read(tmp_path, bad.text))


def test_a_scenario_without_nodes_says_how_to_give_them(tmp_path: Path) -> None:
    text = "[settings]" + HEAD.partition("[settings]")[2]
    bad = Bad(text, "pool", "does not describe the nodes", "[pool]")
    assert_refused(bad, tmp_path / "mine.toml", lambda: read(tmp_path, text))


def test_a_trace_in_any_format_and_its_jobs_at_their_own_mr_clusters(tmp_path: Path) -> None:
    (tmp_path / "a.jobs.csv").write_text(
        "# fawkes jobs 1\nid,submit_s,cluster,maps,map_s,after,think_s\n"
        "first,5,,4,10,,\nsecond,9,c-2,20,10,first,3\nthird,12,c-2,1,1,second first,\n"
    )
    load = '[[load]]\ncluster = "c-1"\ntrace = "a.jobs.csv"\ntime_factor = 2.0\nsize_factor = 0.5\nreference = "none"\n'
    plan = read(tmp_path, HEAD + load)
    first, second = plan.demands
    assert [(job.spec.id, job.at_us // SECOND_US, job.spec.tasks) for job in first.jobs] == [("first", 10, 2)]
    # Times of a table are those of the whole run; c-2 is requested at 10 s.
    assert [(job.spec.id, job.at_us // SECOND_US, job.spec.tasks, job.after) for job in second.jobs] == [
        ("second", 8, 10, ("first",)),
        ("third", 14, 1, ("second", "first")),
    ]
    assert second.jobs[0].think_us == 6 * SECOND_US
    assert plan.unreferenced == {"first", "second", "third"}
    # Nobody knows before when c-2 is requested, where it is behind c-1: the jobs keep their times.
    behind = read(tmp_path, HEAD.replace('id = "c-2"', 'id = "c-2"\nafter = "c-1"') + load).demands[1]
    assert [job.at_us // SECOND_US for job in behind.from_start] == [18, 24]
    both = read(tmp_path, HEAD + load + '[[load]]\ncluster = "c-1"\napps = ["WC"]\njobs = { "1GB" = 2 }\n')
    assert both.unreferenced == plan.unreferenced
    (tmp_path / "a.jobs.csv").write_text("# fawkes jobs 1\nid,submit_s,cluster\nfirst,5,c-9\n")
    with pytest.raises(
        ConfigError, match="the job 'first' is for the MR-cluster 'c-9', which does not exist"
    ) as caught:
        read(tmp_path, HEAD + load)
    assert caught.value.key == "load[#1].trace"


def test_a_scenario_may_name_every_format() -> None:
    assert set(get_args(TraceFormat)) == set(NAMES)


def test_what_a_trace_does_not_know_is_counted(tmp_path: Path) -> None:
    (tmp_path / "done").mkdir()
    for number in (2, 3):
        shutil.copy(HISTORIES / f"job_1795255534329_000{number}.jhist.gz", tmp_path / "done")
    (tmp_path / "day.tsv").write_text(SWIM)
    loads = '[[load]]\ncluster = "c-1"\ntrace = "done"\n[[load]]\ncluster = "c-2"\ntrace = "day.tsv"\nlimit = 2\n'
    histories, bytes_ = f"{tmp_path / 'done'}: ", f"{tmp_path / 'day.tsv'}: "
    made_up = "no times of maps: the bytes of the job give the times of its tasks"
    assert [note for note in read(tmp_path, HEAD + loads).notes if note.startswith(histories)] == [
        f"{histories}mended 1 job that did not succeed (first: job_1795255534329_0003.jhist.gz)",
        f"{histories}a job that did not succeed is simulated as one that succeeds",
        f"{histories}1 of 2 jobs have {made_up}",
    ]
    assert f"{bytes_}2 of 2 jobs have {made_up}" in read(tmp_path, HEAD + loads).notes


def test_a_trace_that_knows_its_tasks_needs_no_note(tmp_path: Path) -> None:
    (tmp_path / "day.jobs.csv").write_text(TIMED.format("40").replace("0,30,", "0,30,9"))
    assert read(tmp_path, HEAD + '[[load]]\ncluster = "c-1"\ntrace = "day.jobs.csv"\n').notes == ()
