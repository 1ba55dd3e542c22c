from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from fawkes.base.errors import UserError
from fawkes.base.units import SECOND_US
from fawkes.config.clusters.clusters import NEVER_US, load_cluster, refuse_unsound_cluster
from fawkes.config.clusters.details import ClusterDetails, DataSet, Output
from fawkes.config.clusters.owned_keys import FOLDERS
from fawkes.config.nodes.inventory import Inventory
from fawkes.config.site.site import Site
from fawkes.core.values.model import ClusterSpec, Promise, Role
from fawkes.playbook.dist.pins import DEFAULT_VERSION
from tests.config.support import POOL, Bad, assert_refused, cases, pool, refusals, write

GB = 1000**3


@pytest.fixture
def inventory(tmp_path: Path) -> Inventory:
    return pool(tmp_path)


def cluster(folder: Path, inventory: Inventory, text: str, name: str = "alpha") -> ClusterSpec:
    return load_cluster(write(folder, f"clusters/{name}.toml", text), inventory)


def test_every_key_reaches_the_request(tmp_path: Path, inventory: Inventory) -> None:
    write(tmp_path, "clusters/books/a.txt", "12345")
    write(tmp_path, "clusters/books/deep/b.txt", "123")
    text = """
id = "a-1"
title = "Books"
min_nodes = 2
max_nodes = 5
growth = "TC"
replication = 2
block_size = "64MiB"
hadoop_version = "3.4.2"
idle_time = "1h"
deploy = "first-job"
max_running_jobs = 7
masters = "kept"
data = [
    { from = "books", to = "/input/" },
    { from = "hdfs://nn:8020/x", to = "/more", size = "1GB" },
    { from = "webhdfs://nn:9870/z", to = "/web", size = "1GB" },
]
outputs = [{ path = "/output", save_to = "results" }, { path = "/o2", save_to = "hdfs://nn:8020/y" }]
[heap]
namenode = "512MiB"
[hadoop.yarn-site]
"yarn.acl.enable" = true
yarn.nodemanager.resource.cpu-vcores = 3
[hadoop.core-site]
io.file.buffer.size = 4096
[role.transient.hadoop.yarn-site]
yarn.nodemanager.resource.cpu-vcores = 2
[role.transient-core.hadoop.hdfs-site]
dfs.datanode.balance.bandwidthPerSec = "10m"
"""
    spec = cluster(tmp_path, inventory, text)
    details = ClusterDetails.of(spec.details)
    assert spec == ClusterSpec(
        id=spec.id,
        min_nodes=2,
        max_nodes=5,
        growth=Role.TRANSIENT_CORE,
        replication=2,
        deploy_on_first_job=True,
        idle_us=3600 * SECOND_US,
        max_running_jobs=7,
        details=spec.details,
    )
    assert spec.id == "a-1"
    refuse_unsound_cluster(spec, "a body that says the same")
    assert details == ClusterDetails(
        title="Books",
        data=(
            DataSet(source=str(tmp_path / "clusters/books"), to="/input", size_bytes=8),
            DataSet(source="hdfs://nn:8020/x", to="/more", size_bytes=GB),
            DataSet(source="webhdfs://nn:9870/z", to="/web", size_bytes=GB),
        ),
        outputs=(
            Output(path="/output", save_to=str(tmp_path / "clusters/results")),
            Output(path="/o2", save_to="hdfs://nn:8020/y"),
        ),
        block_size_bytes=64 * 1024**2,
        hadoop_version="3.4.2",
        heap_bytes={"namenode": 512 * 1024**2},
        hadoop={
            "yarn-site": {"yarn.acl.enable": "true", "yarn.nodemanager.resource.cpu-vcores": "3"},
            "core-site": {"io.file.buffer.size": "4096"},
        },
        roles={
            "transient": {"yarn-site": {"yarn.nodemanager.resource.cpu-vcores": "2"}},
            "transient-core": {"hdfs-site": {"dfs.datanode.balance.bandwidthPerSec": "10m"}},
        },
    )
    assert details.overrides(Role.TRANSIENT) == {
        "yarn-site": {"yarn.acl.enable": "true", "yarn.nodemanager.resource.cpu-vcores": "2"},
        "core-site": {"io.file.buffer.size": "4096"},
    }
    assert details.overrides(Role.CORE) == details.hadoop
    assert details.overrides(Role.TRANSIENT_CORE)["hdfs-site"] == {"dfs.datanode.balance.bandwidthPerSec": "10m"}


def test_one_line_is_enough(tmp_path: Path, inventory: Inventory) -> None:
    spec = cluster(tmp_path, inventory, "min_nodes = 3")
    details = ClusterDetails.of(spec.details)
    assert (spec.id, spec.max_nodes, spec.growth, spec.replication, spec.idle_us) == ("alpha", None, None, 3, None)
    assert (details.hadoop_version, details.release_dir, details.data) == (DEFAULT_VERSION, "", ())


def test_a_second_name_node_is_asked_for_by_one_key(tmp_path: Path, inventory: Inventory) -> None:
    assert cluster(tmp_path, inventory, "min_nodes = 3").masters is Promise.KEPT
    assert cluster(tmp_path, inventory, 'min_nodes = 3\nmasters = "standby"').masters is Promise.STANDBY


def test_auto_gives_a_journal_its_three_nodes(tmp_path: Path, inventory: Inventory) -> None:
    text = 'min_nodes = "auto"\nreplication = 1\nmasters = '
    assert cluster(tmp_path, inventory, text + '"kept"').min_nodes == 1
    assert cluster(tmp_path, inventory, text + '"standby"').min_nodes == 3


def test_a_release_folder_takes_the_place_of_a_version(tmp_path: Path, inventory: Inventory) -> None:
    spec = cluster(tmp_path, inventory, 'min_nodes = 3\nrelease_dir = "/opt/hadoop"\nidle_time = "never"')
    details = ClusterDetails.of(spec.details)
    assert (details.hadoop_version, details.release_dir, spec.idle_us) == ("", "/opt/hadoop", NEVER_US)
    refuse_unsound_cluster(spec, "a body that says the same")


@pytest.mark.parametrize(
    ("size", "replication", "nodes"), [("1GB", 2, 2), ("50GB", 2, 2), ("150GB", 2, 3), ("151GB", 2, 4), ("100GB", 3, 3)]
)
def test_auto_is_as_many_nodes_as_the_data_needs(
    size: str, replication: int, nodes: int, tmp_path: Path, inventory: Inventory
) -> None:
    data = f'data = [{{ from = "hdfs://nn/x", to = "/input", size = "{size}" }}]'
    spec = cluster(tmp_path, inventory, f'min_nodes = "auto"\nreplication = {replication}\n{data}')
    assert spec.min_nodes == nodes


DATA = 'min_nodes = 3\n[[data]]\nfrom = "in"\nto = "/input"\n'
OUTPUT = '[[outputs]]\npath = "/output"\nsave_to = "results"\n'


@pytest.mark.slow
@cases(
    typo=Bad("min_nodes 3", "line 1, column 11", "not valid TOML"),
    no_minimum=Bad('title = "x"', "min_nodes", "is missing", "the core nodes"),
    minimum_text=Bad('min_nodes = "many"', "min_nodes", "'many' is no number of nodes", '"auto"'),
    minimum_zero=Bad("min_nodes = 0", "min_nodes", "0 is no number of nodes"),
    minimum_true=Bad("min_nodes = true", "min_nodes", "True is no number of nodes"),
    above_the_pool=Bad(
        "min_nodes = 9",
        "min_nodes",
        "9 core nodes are more than the pool 'p' has: 6 of its 8 nodes may be core nodes",
        "Give at most 6",
    ),
    auto_above_the_pool=Bad(
        'min_nodes = "auto"\ndata = [{ from = "hdfs://n/x", to = "/i", size = "300GB" }]',
        "min_nodes",
        "9 core nodes (auto, from the data) are more",
    ),
    auto_unknown=Bad(
        'min_nodes = "auto"\ndata = [{ from = "hdfs://n/x", to = "/i" }]',
        "min_nodes",
        "how much 'hdfs://n/x' is cannot be known",
        "size",
    ),
    root_user=Bad('min_nodes = 3\nrun_as = "root"', "run_as", "jobs of root own their nodes", "without rights"),
    ssh_user=Bad('min_nodes = 3\nrun_as = "hadoop"', "run_as", "is the user for SSH", "nothing and nobody else"),
    no_user=Bad('min_nodes = 3\nrun_as = "a b"', "run_as", "'a b' cannot be a user name"),
    leftovers=Bad('min_nodes = 3\nleftovers = "delete"', "leftovers", "'delete' is none of", "remove, tell"),
    few_for_replication=Bad(
        "min_nodes = 2", "replication", "3 copies of each block need as many core nodes, not 2", "replication = 2"
    ),
    standby_on_two=Bad(
        'min_nodes = 2\nreplication = 2\nmasters = "standby"',
        "masters",
        "'standby' needs 3 core nodes for its journal, but min_nodes is 2",
        'min_nodes = 3 or more, or masters = "kept"',
    ),
    unknown_masters=Bad('min_nodes = 3\nmasters = "stand-by"', "masters", "'stand-by' is none of", "'standby'"),
    max_below_min=Bad("min_nodes = 4\nmax_nodes = 3", "max_nodes", "3 is less than min_nodes, 4", "at least 4"),
    unknown_key=Bad("min_node = 3", "min_node", "unknown key", "Did you mean 'min_nodes'?"),
    unknown_data_key=Bad(DATA + 'form = "x"', "data[#1].form", "unknown key", "Did you mean 'from'?"),
    version_number=Bad("min_nodes = 3\nhadoop_version = 3.10", "hadoop_version", "3.1 is a number, not text", '"3.10"'),
    version_short=Bad('min_nodes = 3\nhadoop_version = "3.5"', "hadoop_version", "'3.5' is no version", '"3.5.0"'),
    two_releases=Bad(
        'min_nodes = 3\nhadoop_version = "3.5.0"\nrelease_dir = "/o"', "release_dir", "both given", "one of them"
    ),
    kerberos_users_alone=Bad(
        'min_nodes = 3\nkerberos_users = ["alice"]', "kerberos_users", "count with Kerberos only", "security"
    ),
    kerberos_from_hdfs=Bad(
        'min_nodes = 3\nsecurity = "kerberos"\ndata = [{ from = "hdfs://nn:8020/in", to = "/in", size = "1GB" }]',
        "data[#1].from",
        "copies nothing from or to another HDFS",
        "webhdfs://",
    ),
    kerberos_to_hdfs=Bad(
        'min_nodes = 3\nsecurity = "kerberos"\noutputs = [{ path = "/o", save_to = "hdfs://nn:8020/o" }]',
        "outputs[#1].save_to",
        "copies nothing from or to another HDFS",
        "local folder",
    ),
    kerberos_principal=Bad(
        'min_nodes = 3\nkerberos_users = ["a/b"]', "kerberos_users[#1]", "not the name of a user", "alice@"
    ),
    unknown_growth=Bad('min_nodes = 3\ngrowth = "mixed"', "growth", "'mixed' is none of 'TR' or 'TC'"),
    no_idle_time=Bad('min_nodes = 3\nidle_time = "0s"', "idle_time", "too little"),
    unknown_deploy=Bad('min_nodes = 3\ndeploy = "first"', "deploy", "'first' is none of", "Did you mean 'first-job'?"),
    bad_id=Bad('min_nodes = 3\nid = "A/B"', "id", "'A/B' cannot be a name", "small letters"),
    block_size=Bad("min_nodes = 3\nblock_size = 128", "block_size", "128 has no unit", '"128GB"'),
    no_folder=Bad(DATA, "data[#1].from", "there is no folder", "Name a folder"),
    empty_folder=Bad(DATA.replace('"in"', '"empty"'), "data[#1].from", "has no file in it", "Put the input there"),
    bad_url=Bad(DATA.replace('"in"', '"hdfs:x"'), "data[#1].from", "'hdfs:x' is no folder of an HDFS", "hdfs://host"),
    generated_elsewhere=Bad(DATA.replace('"in"', '"generated:x"'), "data[#1].from", "no [[generate]] is named 'x'"),
    relative_target=Bad(DATA.replace('"/input"', '"input"'), "data[#1].to", "no absolute path"),
    overlap=Bad(DATA + OUTPUT.replace("/output", "/input/out"), "outputs[#1].path", "overlap", "of its own"),
    overlap_above=Bad(DATA.replace("/input", "/output/in") + OUTPUT, "outputs[#1].path", "overlap"),
    scratch_in_output=Bad(
        'scratch = ["/output/x"]\n' + DATA + OUTPUT,
        "scratch[#1]",
        "'/output/x' and '/output' (outputs[#1].path) overlap",
    ),
    scratch_is_everything=Bad('min_nodes = 3\nscratch = ["/"]', "scratch[#1]", "'/' is no folder to work in"),
    saved_twice=Bad(
        DATA + OUTPUT + OUTPUT.replace("/output", "/o2"), "outputs[#2].save_to", "is used twice", "overwrite"
    ),
    bad_web_url=Bad(
        DATA.replace('"in"', '"webhdfs://nn/x"'), "data[#1].from", "is no folder of an HDFS", "webhdfs://host:9870"
    ),
    save_web_url=Bad(
        DATA + OUTPUT.replace("results", "webhdfs://nn:9870/x"), "outputs[#1].save_to", "an output can go to"
    ),
    save_url=Bad(DATA + OUTPUT.replace("results", "hdfs://"), "outputs[#1].save_to", "is no folder of an HDFS"),
    unknown_site=Bad(
        "min_nodes = 3\n[hadoop.yarn]\na = 1", "hadoop", "no configuration file 'yarn'", "Did you mean 'yarn-site'?"
    ),
    site_value=Bad("min_nodes = 3\n[hadoop]\nyarn-site = 1", "hadoop", "yarn-site = 1 is no table"),
    hadoop_value=Bad('min_nodes = 3\nhadoop = "3.5.0"', "hadoop", "'3.5.0' is no table", "[hadoop.yarn-site]"),
    blank_key=Bad(
        "min_nodes = 3\n[hadoop.hdfs-site]\n' dfs.hosts' = 'x'", "hadoop.hdfs-site", "begins or ends with a blank"
    ),
    owned_key=Bad(
        "min_nodes = 3\n[hadoop.hdfs-site]\ndfs.hosts = 'x'", "hadoop.hdfs-site", "'dfs.hosts' cannot be overridden"
    ),
    own_key=Bad(
        "min_nodes = 3\n[hadoop.hdfs-site]\n'dfs.replication' = 2",
        "hadoop.hdfs-site",
        "'dfs.replication'",
        "key replication",
    ),
    key_twice=Bad(
        "min_nodes = 3\n[hadoop.core-site]\n'a.b' = 1\na.b = 2", "hadoop.core-site", "has the key 'a.b' twice"
    ),
    list_value=Bad("min_nodes = 3\n[hadoop.core-site]\na = [1]", "hadoop.core-site", "a = [1] is no value for Hadoop"),
    unknown_role=Bad("min_nodes = 3\n[role.transiet]", "role.transiet", "unknown key", "Did you mean 'transient'?"),
    role_key=Bad(
        "min_nodes = 3\n[role.core.hadoop.hdfs-site]\n'dfs.hosts' = 'x'",
        "role.core.hadoop.hdfs-site",
        "cannot be overridden",
    ),
    client_name=Bad('min_nodes = 3\nclients = ["login1"]', "clients[#1]", "neither an IPv4 address", "10.1.0.0/24"),
    client_bits=Bad(
        'min_nodes = 3\nclients = ["10.1.0.7", "10.1.0.7/24"]', "clients[#2]", "'10.1.0.7/24' is neither", "10.1.0.0/24"
    ),
    client_text=Bad('min_nodes = 3\nclients = "10.1.0.7"', "clients", "'10.1.0.7'"),
    door_key=Bad(
        "min_nodes = 3\n[hadoop.core-site]\n'hadoop.http.filter.initializers' = 'x'",
        "hadoop.core-site",
        "cannot be overridden",
    ),
    unknown_daemon=Bad("min_nodes = 3\n[heap]\nnamenod = '1GB'", "heap.namenod", "unknown key", "'namenode'"),
)
def test_a_cluster_that_is_wrong_is_refused(bad: Bad, tmp_path: Path, inventory: Inventory) -> None:
    (tmp_path / "clusters/empty/deep").mkdir(parents=True)
    path = write(tmp_path, "clusters/alpha.toml", bad.text)
    assert_refused(bad, path, lambda: load_cluster(path, inventory))


def test_the_id_is_that_of_the_file_and_must_be_one(tmp_path: Path, inventory: Inventory) -> None:
    path = write(tmp_path, "clusters/My Cluster.toml", "min_nodes = 3")
    bad = Bad("", "id", "'My Cluster' cannot be a name", "small letters")
    assert_refused(bad, path, lambda: load_cluster(path, inventory))


def test_a_site_finds_its_clusters_by_name_or_path(tmp_path: Path) -> None:
    write(tmp_path, "inventory.toml", POOL)
    path = write(tmp_path, "clusters/alpha.toml", "min_nodes = 3")
    site = Site(tmp_path)
    assert site.cluster("alpha") == site.cluster(str(path))
    with pytest.raises(UserError, match=r"no MR-cluster file 'alfa'. Did you mean 'alpha'\?"):
        site.cluster("alfa")
    with pytest.raises(UserError, match="there is no such file"):
        site.cluster(str(tmp_path / "no.toml"))


@pytest.mark.parametrize("key", sorted(FOLDERS))
def test_a_folder_that_no_wipe_would_find_is_refused(tmp_path: Path, inventory: Inventory, key: str) -> None:
    for table, site in (("hadoop", "core-site"), ("role.transient-core.hadoop", "hdfs-site")):
        text = f'min_nodes = 3\n[{table}.{site}]\n"{key}" = "/data1/hdfs"\n'
        bad = Bad(text, f"{table}.{site}", f"'{key}' cannot be overridden", "set work_dir in inventory.toml")
        assert_refused(bad, tmp_path / "clusters/alpha.toml", lambda: cluster(tmp_path, inventory, text))  # noqa: B023


def hadoop_of(tmp_path: Path, inventory: Inventory, text: str) -> Mapping[str, Mapping[str, str]]:
    return ClusterDetails.of(cluster(tmp_path, inventory, f"min_nodes = 3\n{text}").details).hadoop


#: keys of a site's own XML files, and the key that each is an old name or a more special one of
MOVED = {
    "fs.default.name": "fs.defaultFS",
    "dfs.http.address": "dfs.namenode.http-address",
    "dfs.namenode.rpc-address.ns1.nn1": "",
    "dfs.ha.namenodes.ns1": "",
    "dfs.namenode.edits.dir.ns1.nn1": "",
    "yarn.resourcemanager.webapp.address.rm1": "",
    "yarn.resourcemanager.bind-host": "",
    "dfs.namenode.rpc-address.auxiliary-ports": "",
    "security.client.protocol.hosts": "",
    "mapreduce.framework.name": "",
    "hadoop.security.authentication": "",
}


@pytest.mark.parametrize("key", MOVED)
def test_keys_that_fawkes_relies_on_are_refused_under_all_names(tmp_path: Path, inventory: Inventory, key: str) -> None:
    today = f" (an old name of '{MOVED[key]}')" if MOVED[key] else ""
    text = f'min_nodes = 3\n[hadoop.core-site]\n"{key}" = "x"\n'
    bad = Bad(text, "hadoop.core-site", f"'{key}'{today} cannot be overridden")
    assert_refused(bad, tmp_path / "clusters/alpha.toml", lambda: cluster(tmp_path, inventory, text))


@pytest.mark.parametrize(
    "key", ["dfs.namenode.name.dir.restore", "dfs.replication.max", "dfs.hosts.timeout", "yarn.acl.enable"]
)
def test_keys_that_only_look_like_those_are_taken(tmp_path: Path, inventory: Inventory, key: str) -> None:
    assert hadoop_of(tmp_path, inventory, f"[hadoop.hdfs-site]\n{key} = 1") == {"hdfs-site": {key: "1"}}


def test_an_old_name_is_read_as_the_name_of_today(tmp_path: Path, inventory: Inventory) -> None:
    assert hadoop_of(tmp_path, inventory, "[hadoop.mapred-site]\nio.sort.mb = 50") == {
        "mapred-site": {"mapreduce.task.io.sort.mb": "50"}
    }
    both = "min_nodes = 3\n[hadoop.mapred-site]\nio.sort.mb = 5\nmapreduce.task.io.sort.mb = 50"
    bad = Bad(both, "hadoop.mapred-site", "has the key 'mapreduce.task.io.sort.mb' twice", "Write it once")
    assert_refused(bad, tmp_path / "clusters/alpha.toml", lambda: cluster(tmp_path, inventory, both))


def test_all_keys_that_cannot_be_overridden_are_told_in_one_round(tmp_path: Path, inventory: Inventory) -> None:
    text = """min_nodes = 3
[hadoop.core-site]
"fs.defaultFS" = "hdfs://namenode:9000"
[hadoop.yarn-site]
yarn.resourcemanager.hostname = "resourcemanager"
yarn.acl.enable = [1]
[hadoop.yarn]
a = 1
[role.core.hadoop.hdfs-site]
dfs.name.dir = "/data"
"""
    errors = refusals(lambda: cluster(tmp_path, inventory, text))
    assert [error.key for error in errors] == [
        "hadoop.core-site", "hadoop.yarn-site", "hadoop.yarn-site", "hadoop", "role.core.hadoop.hdfs-site",
    ]  # fmt: skip


AUX = ['yarn.nodemanager.aux-services = "s"', 'yarn.nodemanager.aux-services.s.class = "C"  # ours']


@pytest.mark.parametrize("lines", [AUX, AUX[::-1]])
@pytest.mark.parametrize("table", ["hadoop.yarn-site", "role.core.hadoop.yarn-site"])
def test_a_key_may_be_the_beginning_of_another_one(
    tmp_path: Path, inventory: Inventory, lines: list[str], table: str
) -> None:
    spec = cluster(tmp_path, inventory, "\n".join(["min_nodes = 3", f"[{table}]", *lines, "yarn.acl.enable = true"]))
    assert ClusterDetails.of(spec.details).overrides(Role.CORE)["yarn-site"] == {
        "yarn.nodemanager.aux-services": "s",
        "yarn.nodemanager.aux-services.s.class": "C",
        "yarn.acl.enable": "true",
    }


@pytest.mark.parametrize(
    "text",
    [
        '[hadoop.yarn-site]\na.b = 1\n"a.b.c" = 1\na.b.c = 2',
        "[hadoop.yarn-site]\na.b = 1\na.b.c = [\n1,\n]",
        "[heap]\na.b = 1\na.b.c = 2",
    ],
)
def test_other_keys_that_stand_twice_are_refused(tmp_path: Path, inventory: Inventory, text: str) -> None:
    refusals(lambda: cluster(tmp_path, inventory, f"min_nodes = 3\n{text}"))
