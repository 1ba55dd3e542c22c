from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path

import pytest

from fawkes.base.errors import ConfigError
from fawkes.config.nodes.inventory import Inventory, fold, load_inventory
from tests.config.support import Bad, assert_refused, cases, refusals, write

EXAMPLES = Path(__file__).parents[3] / "inventory"

REST = 'cores = 2\nmemory = "2GB"\ndisk = "10GB"\nwork_dir = "/srv/fawkes"\n'
HEAD = 'pool = "lab-7f3a"\n[ssh]\nuser = "root"\nallow_root = true\n'
GROUP = '[[group]]\nname = "rack1"\nnodes = "node[01-03]"\n' + REST


def test_every_key_reaches_the_nodes_and_the_closest_table_wins(tmp_path: Path) -> None:
    write(tmp_path, "keys/id", "secret")
    write(tmp_path, "other", "secret")
    text = """
pool = "lab-7f3a"
[ssh]
user = "root"
allow_root = true
port = 2222
key = "keys/id"
known_hosts = "hosts"
[[group]]
name = "rack1"
nodes = "node[01-03]"
site = "delft"
address = "10.98.1.[1-3]"
data_address = "10.99.1.[1-3]"
cores = 2
memory = "2GiB"
disk = "10GB"
capacity = 2
work_dir = "/srv/fawkes/"
software_dir = "/shared/dist"
java_home = "/usr/lib/jvm/17"
[group.attributes]
rack = "r1"
gpu = false
[[group]]
name = "rack2"
nodes = "old"
user = "hadoop"
core = false
cores = 1
memory = "1GB"
disk = "1GB"
work_dir = "/w"
[node.node03]
site = "leiden"
address = "192.0.2.3"
port = 22
key = "other"
cores = 1
memory = "500MB"
disk = "5GB"
capacity = 0.5
core = false
work_dir = "/w3"
java_home = "/j"
user = "me"
[node.node03.attributes]
rack = "r3"
"""
    pool = load_inventory(write(tmp_path, "inventory.toml", text))
    assert (pool.pool, pool.known_hosts, fold(node.name for node in pool.nodes)) == (
        "lab-7f3a",
        tmp_path / "hosts",
        "node[01-03],old",
    )
    first, _, third, old = (dataclasses.asdict(node) for node in pool.nodes)
    assert first == {
        "name": "node01",
        "group": "rack1",
        "site": "delft",
        "address": "10.98.1.1",
        "data_address": "10.99.1.1",
        "user": "root",
        "port": 2222,
        "key": tmp_path / "keys/id",
        "may_core": True,
        "cores": 2,
        "memory_bytes": 2 * 1024**3,
        "disk_bytes": 10 * 1000**3,
        "capacity": 2.0,
        "work_dir": "/srv/fawkes",
        "software_dir": "/shared/dist",
        "java_home": "/usr/lib/jvm/17",
        "attributes": {"rack": "r1", "gpu": False},
        "jump": None,
    }
    assert third == {
        "name": "node03",
        "group": "rack1",
        "site": "leiden",
        "address": "192.0.2.3",
        "data_address": "10.99.1.3",
        "user": "me",
        "port": 22,
        "key": tmp_path / "other",
        "may_core": False,
        "cores": 1,
        "memory_bytes": 500_000_000,
        "disk_bytes": 5 * 1000**3,
        "capacity": 0.5,
        "work_dir": "/w3",
        "software_dir": "/shared/dist",
        "java_home": "/j",
        "attributes": {"rack": "r3", "gpu": False},
        "jump": None,
    }
    assert (old["user"], old["site"], old["address"], old["data_address"]) == ("hadoop", "main", "old", "old")
    assert (old["software_dir"], old["java_home"], old["may_core"], old["capacity"]) == ("/w/dist", None, False, 1.0)
    assert pool.node("old").name == "old"
    assert pickle.loads(pickle.dumps(pool)) == pool


def test_addresses_are_paired_in_the_order_in_which_both_are_written(tmp_path: Path) -> None:
    text = HEAD + '[[group]]\nname = "g"\nnodes = "zeus,ares"\naddress = "10.0.0.[9,2]"\n' + REST
    pool = load_inventory(write(tmp_path, "inventory.toml", text))
    assert {node.name: node.address for node in pool.nodes} == {"zeus": "10.0.0.9", "ares": "10.0.0.2"}
    assert [node.data_address for node in pool.nodes] == ["10.0.0.9", "10.0.0.2"]


@pytest.mark.parametrize(("own", "data"), [('address = "x1"', "x1"), ('data_address = "y1"', "y1")])
def test_the_data_address_of_a_node_follows_its_address(own: str, data: str, tmp_path: Path) -> None:
    pool = load_inventory(write(tmp_path, "i.toml", f"{HEAD}{GROUP}[node.node01]\n{own}"))
    assert pool.nodes[0].data_address == data


@cases(
    empty_file=Bad("", "pool", "is missing", 'Give a name for the pool, such as pool = "das4"'),
    no_group=Bad(HEAD, "group", "is missing", "[[group]]"),
    empty_groups=Bad('pool = "p"\ngroup = []', "group", "has 0 entries where at least 1 must be"),
    typo=Bad("pool = \n", "line 1, column 8", "not valid TOML"),
    unknown_key=Bad(HEAD + GROUP + "core_s = 1", "group[rack1].core_s", "unknown key", "Did you mean 'cores'?"),
    unknown_ssh_key=Bad('pool = "p"\n[ssh]\nusr = "x"\n' + GROUP, "ssh.usr", "unknown key", "Did you mean 'user'?"),
    empty_set=Bad(HEAD + GROUP.replace("node[01-03]", "n1!n1"), "group[rack1].nodes", "'n1!n1' is an empty set"),
    empty_text=Bad(HEAD + GROUP.replace("node[01-03]", ""), "group[rack1].nodes", "'' has an empty name"),
    with_spaces=Bad(HEAD + GROUP.replace("node[01-03]", "n1 n2"), "group[rack1].nodes", "write n1,n2"),
    list_for_set=Bad(HEAD + GROUP.replace('"node[01-03]"', '["n1"]'), "group[rack1].nodes", "is a list, not text"),
    two_cases=Bad(
        HEAD + GROUP + GROUP.replace("rack1", "rack2").replace("node[01-03]", "Node03"),
        "group[rack2].nodes",
        "'Node03' is the same host as 'node03'",
    ),
    in_two_groups=Bad(
        HEAD + GROUP + GROUP.replace("rack1", "rack2").replace("01-03", "03-05"),
        "group[rack2].nodes",
        "node 'node03' is in the groups 'rack1' and 'rack2'",
        'nodes = "node[03-05]!node03"',
    ),
    group_twice=Bad(HEAD + GROUP + GROUP.replace("node[", "n["), "group[rack1]", "two groups are named 'rack1'"),
    too_few_addresses=Bad(
        HEAD + GROUP + 'address = "10.0.0.[1-2]"',
        "group[rack1].address",
        "'10.0.0.[1-2]' has 2 addresses for 3 nodes",
        "each of node[01-03]",
    ),
    too_many_addresses=Bad(HEAD + GROUP + 'data_address = "a[1-4]"', "group[rack1].data_address", "4 addresses for 3"),
    bad_address=Bad(HEAD + GROUP + 'address = "a[1-"', "group[rack1].address", "no node set"),
    same_address=Bad(
        HEAD + GROUP + '[node.node02]\naddress = "node01"', "group[rack1].address", "'node01' and 'node02'", "its own"
    ),
    same_data_address=Bad(
        HEAD + GROUP + '[node.node02]\ndata_address = "node01"', "group[rack1].data_address", "same address node01"
    ),
    unknown_node=Bad(
        HEAD + GROUP + "[node.node3]\ncores = 1", "node.node3", "no group has a node 'node3'", "Did you mean 'node03'?"
    ),
    unknown_node_key=Bad(HEAD + GROUP + "[node.node03]\ncapacty = 1", "node.node03.capacty", "unknown key", "capacity"),
    set_as_node=Bad(HEAD + GROUP + '[node."node[01-02]"]\ncores = 1', "node.node[01-02]", "no group has a node"),
    node_address_set=Bad(HEAD + GROUP + '[node.node01]\naddress = "a[1-2]"', "node.node01.address", "not one address"),
    node_address_empty=Bad(
        HEAD + GROUP + '[node.node01]\naddress = ""', "node.node01.address", "'' is not one address"
    ),
    zero_capacity=Bad(HEAD + GROUP + "capacity = 0", "group[rack1].capacity", "0 is too small"),
    negative_capacity=Bad(HEAD + GROUP + "[node.node01]\ncapacity = -1.0", "node.node01.capacity", "-1 is too small"),
    nan_capacity=Bad(HEAD + GROUP + "capacity = nan", "group[rack1].capacity", "nan is wrong"),
    no_unit=Bad(HEAD + GROUP.replace('"2GB"', "2"), "group[rack1].memory", "2 has no unit", '"2GB"'),
    wrong_unit=Bad(HEAD + GROUP.replace('"2GB"', '"2GX"'), "group[rack1].memory", "'2GX' is not a size", ""),
    no_memory_at_all=Bad(HEAD + GROUP.replace('"2GB"', '"0GB"'), "group[rack1].memory", "too little"),
    no_cores=Bad(
        HEAD + GROUP.replace("cores = 2\n", ""), "group[rack1].cores", "node 'node01' has no 'cores'", "cores"
    ),
    no_user=Bad(f'pool = "p"\n{GROUP}', "group[rack1].user", "node 'node01' has no 'user'"),
    bad_user=Bad(HEAD.replace('"root"', '"a b"') + GROUP, "ssh.user", "'a b' cannot be a user name"),
    bad_port=Bad(HEAD + GROUP + "port = 70000", "group[rack1].port", "70,000 is too large"),
    bad_pool=Bad(HEAD.replace("lab-7f3a", "My Pool") + GROUP, "pool", "'My Pool' cannot be a name", "small letters"),
    relative_folder=Bad(HEAD + GROUP.replace("/srv", "srv"), "group[rack1].work_dir", "no absolute path", "'/'"),
    root_folder=Bad(HEAD + GROUP.replace("/srv/fawkes", "/"), "group[rack1].work_dir", "no folder to work in"),
    outside_folder=Bad(HEAD + GROUP.replace("/srv", "/srv/.."), "group[rack1].work_dir", "no folder to work in"),
    no_core_node=Bad(HEAD + GROUP + "core = false", "group", "no node may be a core node", "core = false"),
    missing_key_file=Bad(
        HEAD + 'key = "id_x"\n' + GROUP, "ssh.key", "there is no key file", "leave the line out to use the SSH agent"
    ),
    missing_group_key=Bad(HEAD + GROUP + 'key = "id_x"', "group[rack1].key", "there is no key file"),
    missing_node_key=Bad(HEAD + GROUP + '[node.node02]\nkey = "id_x"', "node.node02.key", "there is no key file"),
    list_as_attribute=Bad(
        HEAD + GROUP + "[group.attributes]\nx = [1]", "group[rack1].attributes.x", "[1] is no attribute"
    ),
)
def test_an_inventory_that_is_wrong_is_refused(bad: Bad, tmp_path: Path) -> None:
    path = write(tmp_path, "inventory.toml", bad.text)
    assert_refused(bad, path, lambda: load_inventory(path))


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    text = HEAD + GROUP + 'address = "a[1-2]"\n' + GROUP.replace("rack1", "rack2") + "[node.x]\ncores = 1"
    path = write(tmp_path, "inventory.toml", text)
    assert len(refusals(lambda: load_inventory(path))) == 5


def test_a_missing_key_file_does_not_matter_offline(tmp_path: Path) -> None:
    path = write(tmp_path, "inventory.toml", HEAD + 'key = "id_x"\n' + GROUP)
    assert load_inventory(path, need_keys=False).nodes[0].key == tmp_path / "id_x"


def test_a_missing_inventory_says_how_to_get_one(tmp_path: Path) -> None:
    path = tmp_path / "inventory.toml"
    assert_refused(Bad("", "", "there is no such file", "fawkes init"), path, lambda: load_inventory(path))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_the_examples_work_as_they_are(path: Path) -> None:
    pool = load_inventory(path)
    assert isinstance(pool, Inventory)
    assert len(pool.nodes) >= 3


def test_there_is_an_example_with_two_sites() -> None:
    pool = load_inventory(EXAMPLES / "das4-like.toml")
    assert {node.site for node in pool.nodes} == {"delft", "leiden"}
    assert sum(not node.may_core for node in pool.nodes) == 4


@pytest.mark.parametrize(
    ("head", "own", "place"),
    [
        ('[ssh]\nuser = "root"\n', "", "ssh.user"),
        ('[ssh]\nuser = "hadoop"\n', '[node.node02]\nuser = "root"\n', "node.node02.user"),
    ],
)
def test_jobs_of_root_are_asked_for(tmp_path: Path, head: str, own: str, place: str) -> None:
    path = write(tmp_path, "inventory.toml", f'pool = "p"\n{head}{GROUP}{own}')
    with pytest.raises(ConfigError, match=rf"{place}: daemons and jobs would run as 'root' .* allow_root = true"):
        load_inventory(path)
    path.write_text(path.read_text().replace("[ssh]\n", "[ssh]\nallow_root = true\n"))
    assert any(node.user == "root" for node in load_inventory(path).nodes)
