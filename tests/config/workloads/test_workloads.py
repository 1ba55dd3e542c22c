from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from fawkes.base.catalog import Catalog
from fawkes.base.units import SECOND_US
from fawkes.config.clusters.details import ClusterDetails, JobDetails
from fawkes.config.nodes.inventory import Inventory, load_inventory
from fawkes.config.workloads.workloads import Generated, WorkloadFile, load_workload
from tests.config.support import Bad, assert_refused, cases, pool, write

ROOT = Path(__file__).parents[3]


@pytest.fixture
def inventory(tmp_path: Path) -> Inventory:
    return pool(tmp_path)


def load(path: Path, inventory: Inventory, site: Path) -> WorkloadFile:
    return load_workload(path, inventory, site=site, catalog=Catalog(site=site, bundled=ROOT))


def test_every_key_reaches_the_workload(tmp_path: Path, inventory: Inventory) -> None:
    text = """
title = "Two"
hosts = 8
network = "5MB"
[settings]
preset = "demo"
policy = "JD"
[[generate]]
name = "book"
kind = "words"
size = "8MB"
files = 4
seed = 7
[[cluster]]
id = "a"
min_nodes = 3
data = [{ from = "generated:book", to = "/input" }]
outputs = [{ path = "/output", save_to = "results/a" }]
[[cluster]]
id = "b"
at = "1m"
after = "a"
min_nodes = 3
[[job]]
id = "s"
cluster = "b"
after = "running"
delay = "5s"
every = "2s"
count = 10
kind = "sleep"
maps = 1
map_time = "1s"
[[job]]
id = "w"
cluster = "a"
kind = "jar"
jar = "examples"
args = ["wordcount", "/input", "/output/{id}"]
"""
    path = write(tmp_path, "load/two.toml", text)
    workload = load(path, inventory, tmp_path / "site")
    assert (workload.name, workload.title, workload.hosts) == ("two", "Two", 8)
    assert (workload.settings.core.preset, workload.settings.core.policy) == ("demo", "JD")
    assert workload.generate == (Generated("book", "words", 8_000_000, 4, 7),)
    arrivals = [(arrival.at_us, arrival.after, arrival.spec.id) for arrival in workload.clusters]
    assert arrivals == [(0, "", "a"), (60 * SECOND_US, "a", "b")]
    assert workload.network_bytes == 5_000_000
    details = ClusterDetails.of(workload.clusters[0].spec.details)
    assert (details.data[0].source, details.data[0].size_bytes) == ("generated:book", 8_000_000)
    assert details.outputs[0].save_to == str(tmp_path / "site/results/a")
    jobs = [(job.after, job.delay_us // SECOND_US, job.spec.id, job.spec.cluster) for job in workload.jobs]
    assert jobs == [
        *(("running", 5 + 2 * number, f"s-{number + 1:02d}", "b") for number in range(10)),
        ("request", 0, "w", "a"),
    ]
    assert JobDetails.of(workload.jobs[-1].spec.details).args[-1] == "/output/w"


HEAD = '[[cluster]]\nid = "a"\nmin_nodes = 3\n'
JOB = '[[job]]\nid = "j"\ncluster = "a"\nkind = "sleep"\nmaps = 1\nmap_time = "1s"\n'


@cases(
    typo=Bad("title = x", "line 1, column 9", "not valid TOML"),
    no_cluster=Bad('title = "x"', "cluster", "is missing", "MR-clusters"),
    unknown_key=Bad(HEAD + "minnodes = 1", "cluster[a].minnodes", "unknown key", "Did you mean 'min_nodes'?"),
    unknown_job_key=Bad(HEAD + JOB + 'dely = "1s"', "job[j].dely", "unknown key", "Did you mean 'delay'?"),
    above_the_pool=Bad(HEAD.replace("3", "7"), "cluster[a].min_nodes", "7 core nodes are more than the pool 'p' has"),
    two_clusters=Bad(HEAD + HEAD, "cluster[a]", "two [[cluster]] are named 'a'", "own name"),
    two_jobs=Bad(HEAD + JOB + JOB, "job[j].id", "two jobs have the id 'j'"),
    two_data=Bad(
        HEAD + '[[generate]]\nname = "g"\nkind = "words"\nsize = "1MB"\n' * 2, "generate[g]", "two [[generate]]"
    ),
    number_collides=Bad(
        HEAD + JOB + "count = 2\n" + JOB.replace('"j"', '"j-1"'), "job[j-1].id", "two jobs have the id 'j-1'"
    ),
    long_id=Bad(HEAD + JOB.replace('"j"', f'"{"j" * 62}"') + "count = 2", f"job[{'j' * 62}].id", "is too long", "room"),
    no_cluster_id=Bad("[[cluster]]\nmin_nodes = 3", "cluster[#1].id", "is missing"),
    unknown_cluster=Bad(
        HEAD + JOB.replace('"a"', '"b"'), "job[j].cluster", "there is no MR-cluster 'b'", "There are: a"
    ),
    no_spark=Bad(
        HEAD + JOB + '[[job]]\nid = "s"\ncluster = "a"\nkind = "spark"\npython = "x.py"\n',
        "job[s].kind",
        "the nodes of a have no Spark",
        'software = ["spark"]',
    ),
    tasks_and_kerberos=Bad(
        HEAD
        + 'security = "kerberos"\n'
        + '[[job]]\nid = "s"\ncluster = "a"\nkind = "tasks"\ncommand = "date"\ntasks = 2\n'
        + 'memory = "1GiB"\noutput = "/o"\n',
        "job[s].kind",
        "tasks do not run with the Kerberos of a",
        "Leave security out",
    ),
    unknown_data=Bad(
        HEAD + 'data = [{ from = "generated:g", to = "/i" }]', "cluster[a].data[#1].from", "named 'g'", "none"
    ),
    missing_input=Bad(HEAD + 'data = [{ from = "in", to = "/i" }]', "cluster[a].data[#1].from", "there is no folder"),
    missing_jar=Bad(
        HEAD + '[[job]]\nid = "j"\ncluster = "a"\nkind = "jar"\njar = "no.jar"', "job[j].jar", "there is no file"
    ),
    more_hosts=Bad("hosts = 20\n" + HEAD, "hosts", "20 hosts are more than the 8 of the pool 'p'", "lab up --hosts 20"),
    unknown_preset=Bad('[settings]\npreset = "x"\n' + HEAD, "settings.preset", "there is no preset 'x'"),
    unknown_setting=Bad('[settings]\nperod = "1m"\n' + HEAD, "settings.perod", "unknown key", "'period'"),
    unknown_policy=Bad('[settings]\npolicy = "TX"\n' + HEAD, "settings.policy", "there is no policy 'TX'"),
    tau_twice=Bad("[settings]\ntau = 1\nshare_error = 0.1\n" + HEAD, "settings.tau", "both given"),
    unknown_moment=Bad(HEAD + JOB + 'after = "ready"', "job[j].after", "'ready' is none of"),
    after_itself=Bad(HEAD + 'after = "a"', "cluster[a].after", "before it there is no MR-cluster 'a'"),
    no_unit=Bad(HEAD + "at = 10", "cluster[a].at", "10 has no unit"),
)
def test_a_workload_that_is_wrong_is_refused(bad: Bad, tmp_path: Path, inventory: Inventory) -> None:
    path = write(tmp_path, "load.toml", bad.text)
    assert_refused(bad, path, lambda: load(path, inventory, tmp_path))


def test_wkld_a_in_small_is_what_the_paper_plays(tmp_path: Path) -> None:
    inventory = load_inventory(ROOT / "inventory/small-site.toml")
    workload = load(ROOT / "workloads/wkld-a-small.toml", inventory, tmp_path)
    assert (workload.hosts, len(inventory.nodes)) == (8, 10)
    assert {arrival.spec.id: arrival.spec.min_nodes for arrival in workload.clusters} == {"c-1": 2, "c-2": 2, "c-3": 2}
    assert [arrival.after for arrival in workload.clusters] == ["", "", "c-1"]
    kinds = Counter("sleep" if JobDetails.of(job.spec.details).sleep else job.spec.id for job in workload.jobs)
    assert kinds == {"sleep": 14, "count": 1}
    assert {submission.spec.cluster for submission in workload.jobs} == {"c-1", "c-2", "c-3"}
    assert workload.settings.core.preset == "demo"
    assert ClusterDetails.of(workload.clusters[0].spec.details).outputs
