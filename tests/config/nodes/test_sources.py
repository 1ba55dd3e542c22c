"""``[from]``: Ansible's and Slurm's recorded outputs (`data/SOURCES.md`), and what of them is refused."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.errors import ConfigError, FawkesError, UserError
from fawkes.config.nodes import programs
from fawkes.config.nodes.inventory import Inventory, load_inventory
from fawkes.config.nodes.programs import clustershell_group, output_of
from fawkes.config.nodes.slurm import end_of
from fawkes.config.nodes.sources import SlurmAllocation
from tests.config.support import refusals, write
from tests.docs.pages import ROOT, blocks

DATA = Path(__file__).parent / "data"
PAGE = ROOT / "docs" / "howto" / "inventories.md"
HEAD = 'pool = "p"\n[ssh]\nknown_hosts = "known_hosts"\n'
SIZES = 'disk = "1TB"\nwork_dir = "/w"\n'
HOST = {
    "ansible_user": "hadoop",
    "fawkes_cores": 1,
    "fawkes_memory": "1GB",
    "fawkes_disk": "1GB",
    "fawkes_work_dir": "/w",
}


def pool(folder: Path, source: str, nodes: str, more: str = "", head: str = HEAD) -> Inventory:
    text = f'{head}[from]\n{source}\n[[group]]\nname = "g"\nnodes = "{nodes}"\n{more}'
    return load_inventory(write(folder, "inventory.toml", text), need_keys=False)


def hosts(folder: Path, **variables: Any) -> Path:
    """A JSON file as `ansible-inventory` prints it: the host n1 with these variables, and n2 with a good set."""
    own = {"n1": HOST | variables, "n2": HOST}
    data = {"_meta": {"hostvars": own}, "all": {"children": ["ungrouped"]}, "ungrouped": {"hosts": list(own)}}
    return write(folder, "hosts.json", json.dumps(data))


def test_ansible_in_yaml_with_variables_of_groups_and_hosts(tmp_path: Path) -> None:
    shutil.copytree(DATA / "ansible", tmp_path / "ansible")
    inventory = pool(tmp_path, 'ansible = "ansible/list.json"', "@ansible:hadoop")
    first, second, third = inventory.nodes
    assert [node.name for node in inventory.nodes] == ["node01", "node02", "node03"]
    assert (first.site, first.cores, first.memory_bytes, first.attributes) == ("delft", 8, 16 * 10**9, {"rack": "r1"})
    assert (second.memory_bytes, second.capacity, second.disk_bytes) == (8 * 10**9, 0.5, 400 * 10**9)
    assert (third.address, third.data_address, third.port, third.user) == ("192.0.2.3", "192.0.2.3", 2222, "hadoop")
    assert first.key == tmp_path / "ansible" / "keys" / "id_ed25519"
    assert first.jump is not None
    assert (first.jump.name, first.jump.user, first.jump.port) == ("login.example", "alice", 2222)
    # Host keys stay checked, whatever Ansible is told; the host with a password is in no group of the pool.
    [note] = inventory.notes
    assert note.endswith("list.json: ansible_ssh_common_args: Fawkes does not use -o StrictHostKeyChecking")
    assert "hunter2" not in repr(inventory)


def test_ansible_in_ini_where_numbers_and_booleans_may_be_text(tmp_path: Path) -> None:
    source = f'ansible = "{DATA / "ansible-ini" / "list.json"}"'
    nodes = pool(tmp_path, source, "@ansible:rack1,@ansible:rack2!node02").nodes
    assert [(node.name, node.may_core, node.port) for node in nodes] == [("node01", True, 22), ("node03", False, 2222)]
    hosts(tmp_path, ansible_port="2200", fawkes_cores="4", fawkes_capacity="0.5", fawkes_core="No")
    node = pool(tmp_path, 'ansible = "hosts.json"', "@ansible:ungrouped").nodes[0]
    assert (node.port, node.cores, node.capacity, node.may_core) == (2200, 4, 0.5, False)


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "name"), [("ansible", "hosts.yml"), ("ansible-ini", "hosts.ini")])
def test_ansible_is_asked_about_its_own_files(
    folder: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    shutil.copytree(DATA / folder, tmp_path / "a")
    (tmp_path / "a" / "list.json").unlink()
    shutil.copy(DATA / folder / "list.json", tmp_path / "a.json")
    asked, read = (pool(tmp_path, f'ansible = "{source}"', "@ansible:rack1") for source in (f"a/{name}", "a.json"))
    rows = [[(n.name, n.site, n.memory_bytes, n.attributes) for n in one.nodes] for one in (asked, read)]
    assert rows[0] == rows[1] != []
    write(tmp_path, "a/bad.yml", "a: [")
    with pytest.raises(ConfigError, match=r"from.ansible: `ansible-inventory -i .*bad.yml --list` failed"):
        pool(tmp_path, 'ansible = "a/bad.yml"', "@ansible:rack1")


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("hosts.json", '{"_meta": {"hostvars": {}},\n "all": {"hosts": ["a" "b"]}}', "line 2, column 24"),
        ("hosts.json", "hosts: a", "line 1, column 1"),
        ("hosts", ' {"all": ', "line 1, column 10"),
        ("hosts", '[ {"all": ', "line 1, column 11"),
    ],
)
def test_broken_json_is_told_without_ansible(
    name: str, text: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    write(tmp_path, name, text)
    with pytest.raises(ConfigError, match=f"{name}: {place}: is not what `ansible-inventory --list` prints: ") as told:
        pool(tmp_path, f'ansible = "{name}"', "@ansible:all")
    assert "Write the file again" in str(told.value.hint)


@pytest.mark.parametrize(("name", "text"), [("h.ini", "[web]\na"), ("h.yml", "{all: {}}"), ("h.json", '{"all": {}}')])
def test_an_inventory_of_ansible_needs_ansible(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    write(tmp_path, name, text)
    with pytest.raises(FawkesError, match="there is no program 'ansible-inventory'"):
        pool(tmp_path, f'ansible = "{name}"', "@ansible:all")


def test_what_the_inventory_says_itself_counts_more(tmp_path: Path) -> None:
    hosts(
        tmp_path, ansible_user="admin", ansible_port=1, ansible_host="{{ inventory_hostname }}.example", fawkes_site="a"
    )
    more = 'cores = 2\nsite = "b"\n[node.n1]\nsite = "c"\n'
    head = f'{HEAD}user = "hadoop"\nport = 2\n'
    first, second = pool(tmp_path, 'ansible = "hosts.json"', "@ansible:*,@ansible:all", more, head).nodes
    assert (first.user, first.port, first.cores, first.site, first.address) == ("hadoop", 2, 2, "c", "n1.example")
    assert (second.site, second.address) == ("b", "n2")


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"ansible_password": "hunter2"}, "n1.ansible_password: Fawkes logs in with keys alone, and reads no secrets"),
        ({"ansible_ssh_pass": "hunter2"}, "n1.ansible_ssh_pass: Fawkes logs in with keys alone"),
        (
            {"ansible_user": {"__ansible_vault": "$ANSIBLE_VAULT;1.1;AES256\nhunter2"}},
            "n1.ansible_user: is encrypted by",
        ),
        ({"ansible_host": {"__ansible_vault": "hunter2"}}, "n1.ansible_host: is encrypted by Ansible Vault"),
        (
            {"fawkes_attributes": {"a": {"__ansible_vault": "$ANSIBLE_VAULT;hunter2"}}},
            "n1.fawkes_attributes: is encrypted",
        ),
        ({"ansible_connection": "local"}, "n1.ansible_connection: Fawkes reaches nodes by SSH alone"),
        ({"ansible_user": "{{ me }}"}, "n1.ansible_user: is a template"),
        ({"ansible_port": 70000}, "n1.ansible_port: 70,000 is too large"),
        ({"ansible_port": "ssh"}, "n1.ansible_port: 'ssh' is text, not a whole number"),
        ({"ansible_host": "fe80::1"}, "from[n1].address: 'fe80::1' is not one address. Give one host name or IPv4"),
        ({"ansible_host": 3}, "n1.ansible_host: 3 is a whole number, not text in quotes"),
        ({"ansible_user": "a b"}, "n1.ansible_user: 'a b' cannot be a user name"),
        ({"fawkes_memory": 16}, "n1.fawkes_memory: 16 has no unit"),
        ({"fawkes_coers": 16}, "n1.fawkes_coers: unknown key 'coers'. Did you mean 'cores'?"),
        ({"fawkes_attributes": {"a": []}}, "n1.fawkes_attributes.a: [] is no attribute"),
        (
            {"ansible_ssh_common_args": "-o ProxyCommand='ssh -W %h:%p x'"},
            "n1.ansible_ssh_common_args: -o ProxyCommand is not",
        ),
        (
            {"ansible_ssh_common_args": '-Co "proxycommand sshpass -p hunter2 ssh -o Foo=no x"'},
            "n1.ansible_ssh_common_args: -o proxycommand is not supported",
        ),
        ({"ansible_ssh_args": "-o HostName=x"}, "n1.ansible_ssh_args: -o HostName is not supported. Write the var"),
        ({"ansible_ssh_args": "-p 2200"}, "n1.ansible_ssh_args: -p is not supported"),
        ({"ansible_ssh_args": "-F hunter2"}, "n1.ansible_ssh_args: -F is not supported"),
        ({"ansible_ssh_args": "hunter2"}, "n1.ansible_ssh_args: is not a list of arguments for ssh"),
        (
            {"ansible_connection": "paramiko", "ansible_paramiko_proxy_command": "hunter2"},
            "n1.ansible_paramiko_proxy_command: is not supported",
        ),
        (
            {"ansible_ssh_common_args": "-o 'ProxyJump"},
            "n1.ansible_ssh_common_args: is not a list of arguments for ssh",
        ),
        ({"ansible_ssh_extra_args": "-J a:b"}, "n1.ansible_ssh_extra_args: 'a:b' is not a jump host"),
        ({"ansible_user": "root"}, "from.ansible[n1].user: daemons and jobs would run as 'root'"),
        (
            {"ansible_ssh_common_args": "-Jn1"},
            "from.ansible[n1].proxy_jump: 'n1' would be its own jump host",
        ),
    ],
)
def test_a_host_that_cannot_be_taken_is_refused(variables: dict[str, Any], message: str, tmp_path: Path) -> None:
    file = hosts(tmp_path, **variables)
    found = [str(error) for error in refusals(lambda: pool(tmp_path, 'ansible = "hosts.json"', "@ansible:ungrouped"))]
    place = tmp_path / "inventory.toml" if message.startswith("from") else file
    assert len([line for line in found if line.startswith(f"{place}: {message}")]) == 1, found
    assert "hunter2" not in "".join(found)


def test_of_two_variables_the_one_counts_that_counts_for_ansible(tmp_path: Path) -> None:
    both = {"host": "10.0.0.2", "port": 2222, "user": "bob"}
    names = {"ansible_host": "10.0.0.1", "ansible_port": 22, "ansible_user": "alice"}
    hosts(tmp_path, **names, **{f"ansible_ssh_{name}": value for name, value in both.items()})
    node = pool(tmp_path, 'ansible = "hosts.json"', "@ansible:ungrouped").nodes[0]
    assert (node.address, node.port, node.user) == ("10.0.0.2", 2222, "bob")


def test_options_of_ssh_behind_flags_and_without_a_proxy(tmp_path: Path) -> None:
    hosts(tmp_path, ansible_ssh_common_args="-CJ login -o ProxyCommand=none", ansible_ssh_args="-o 'Foo hunter2'")
    inventory = pool(tmp_path, 'ansible = "hosts.json"', "@ansible:ungrouped")
    jump = inventory.nodes[0].jump
    assert jump is not None
    assert jump.name == "login"
    assert [note.partition(": ")[2] for note in inventory.notes] == [
        "ansible_ssh_args: Fawkes does not use -o Foo",
        "ansible_ssh_common_args: Fawkes does not use -C",
    ]


def test_the_configuration_of_ansible_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ansible takes it into account; who has a way to the hosts there is told to write it into variables."""
    monkeypatch.delenv("ANSIBLE_CONFIG", raising=False)
    write(
        tmp_path,
        "ansible.cfg",
        "[defaults]\nforks = 5\nremote_port = 2222\n[ssh_connection]\nssh_common_args = -o ProxyCommand=hunter2 %h\n",
    )
    hosts(tmp_path)
    assert list(pool(tmp_path, 'ansible = "hosts.json"', "@ansible:all").notes) == [
        f"{tmp_path}/ansible.cfg: Fawkes does not use {key}: write it as a variable of the hosts"
        for key in ("remote_port", "ssh_common_args")
    ]


def test_a_host_outside_of_the_pool_may_be_anything(tmp_path: Path) -> None:
    hosts(tmp_path, ansible_password="hunter2", fawkes_cores="none")
    assert [node.name for node in pool(tmp_path, 'ansible = "hosts.json"', "@ansible:all!n1").nodes] == ["n2"]


@pytest.mark.parametrize("name", ["slurm-22.05.txt", "slurm-22.05-oneline.txt", "slurm-24.11.txt", "slurm-24.11.json"])
def test_slurm_knows_cores_memory_and_which_nodes_may_be_used(name: str, tmp_path: Path) -> None:
    more = f'address = "10.0.0.[1-3]"\n{SIZES}[node.node02]\ncapacity = 2'
    inventory = pool(tmp_path, f'slurm = "{DATA / name}"', "@slurm:batch", more, f'{HEAD}user = "hadoop"\n')
    rows = [(node.name, node.address, node.cores, node.memory_bytes) for node in inventory.nodes]
    assert rows == [(f"node0{n}", f"10.0.0.{n}", 2, 2000 << 20) for n in (1, 3)]
    assert [note[:77] for note in inventory.notes] == [
        "node02 not taken: Slurm has the state IDLE+DRAIN (disk: replace it [root@2026"
        if name.endswith("txt")
        else "node02 not taken: Slurm has the state IDLE+DRAIN (disk: replace it)"
    ]
    with pytest.raises(
        ConfigError, match=r"group: no node of the groups can be used. gpu\[01-02\] not taken: Slurm has"
    ):
        pool(tmp_path, f'slurm = "{DATA / name}"', "@slurm:gpu", SIZES, f'{HEAD}user = "hadoop"\n')


@pytest.mark.parametrize("kept", [100, 200])
def test_memory_that_slurm_keeps_whole_is_said_as_it_was_written(kept: int, tmp_path: Path) -> None:
    write(tmp_path, "n.txt", f"NodeName=a CPUTot=4 RealMemory=100 MemSpecLimit={kept} State=IDLE Partitions=x")
    what = f"n.txt: a.RealMemory: 100 less MemSpecLimit={kept} leaves no memory. Correct the two in slurm.conf"
    with pytest.raises(ConfigError, match=what):
        pool(tmp_path, 'slurm = "n.txt"', "@slurm:x", SIZES, f'{HEAD}user = "h"\n')


def test_memory_that_slurm_keeps_for_itself_is_not_offered(tmp_path: Path) -> None:
    text = (
        "NodeName=a CPUTot=4 RealMemory=2000 MemSpecLimit=100 State=IDLE Partitions=x\nNodeName=b CPUTot=4 State=MIXED"
    )
    write(tmp_path, "n.txt", text)
    first, second = pool(
        tmp_path, 'slurm = "n.txt"', "@slurm:*", f'{SIZES}[node.b]\nmemory = "1GB"', f'{HEAD}user = "h"\n'
    ).nodes
    assert (first.cores, first.memory_bytes, second.memory_bytes) == (4, 1900 << 20, 10**9)


def test_the_examples_of_the_page_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    allocation(monkeypatch)
    program(tmp_path, "scontrol", f"cat {DATA / 'slurm-22.05.txt'} | sed s/127.0.0.1/n$$/", monkeypatch)
    program(tmp_path, "ansible-inventory", f"cat {DATA / 'ansible' / 'list.json'}", monkeypatch)
    write(tmp_path, "hosts.yml", "")
    found = []
    for text in blocks(PAGE, "toml"):
        head = "" if "pool =" in text else 'pool = "p"\n[ssh]\nuser = "hadoop"\n'
        text = re.sub('"@slurm:batch"', '"@slurm:batch!node03"', head + text)
        found.append(load_inventory(write(tmp_path, "inventory.toml", text), need_keys=False))
    assert [len(one.nodes) for one in found] == [2, 1, 2]


def allocation(monkeypatch: pytest.MonkeyPatch, **more: str) -> None:
    """The environment of `salloc -N2 -c 2 --mem=1500` (`data/SOURCES.md`)."""
    found = {"JOB_ID": "1", "JOB_NODELIST": "node[01,03]", "JOB_CPUS_PER_NODE": "2(x2)", "MEM_PER_NODE": "1500", **more}
    for name, value in found.items():
        monkeypatch.setenv(f"SLURM_{name}", value)


def test_an_allocation_is_a_pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    allocation(monkeypatch)
    source, head = 'slurm = "allocation"\ngive_back = "5m"', f'{HEAD}user = "hadoop"\n'
    inventory = pool(tmp_path, source, "@slurm:allocation", SIZES, head)
    assert [(node.name, node.cores, node.memory_bytes) for node in inventory.nodes] == [
        ("node01", 2, 1500 << 20),
        ("node03", 2, 1500 << 20),
    ]
    assert inventory.allocation == SlurmAllocation("1", None, 300 * 10**6)
    assert inventory.notes == ("the nodes are those of Slurm's job 1",)
    monkeypatch.delenv("SLURM_MEM_PER_NODE")
    monkeypatch.setenv("SLURM_MEM_PER_CPU", "300")
    monkeypatch.setenv("SLURM_JOB_CPUS_PER_NODE", "2,4")
    assert [node.memory_bytes >> 20 for node in pool(tmp_path, source, "@slurm:*", SIZES, head).nodes] == [600, 1200]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"JOB_ID": ""}, "SLURM_JOB_ID and SLURM_JOB_NODELIST are not set. Run it in the shell that `salloc` opens"),
        ({"JOB_NODELIST": "node[1-1000000]"}, "'node[1-1000000]' names 1,000,000 nodes"),
        ({"JOB_CPUS_PER_NODE": "2(x999999999)"}, "SLURM_JOB_CPUS_PER_NODE is '2(x999999999)', which is not"),
        ({"JOB_END_TIME": "1"}, "the allocation of job 1 has ended"),
    ],
)
def test_an_allocation_that_is_none(
    more: dict[str, str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    allocation(monkeypatch, **more)
    [error] = refusals(lambda: pool(tmp_path, 'slurm = "allocation"', "@slurm:allocation"))
    assert str(error).startswith(f"{tmp_path / 'inventory.toml'}: from.slurm: {why}")


def program(folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of that name, in front of all others."""
    write(folder, f"bin/{name}", f"#!/bin/sh\n{text}\n").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")


@pytest.mark.parametrize(
    ("printed", "end"),
    [
        # In Berlin 01:30 UTC is 02:30 in that night, as 00:30 UTC was an hour before.
        (
            "JobId=1 StartTime=x EndTime=$(TZ=Europe/Berlin date -d @1792891800 +$SLURM_TIME_FORMAT) Deadline=N/A",
            1792891800,
        ),
        ("JobId=1 EndTime=Unknown", None),
    ],
)
def test_slurm_says_when_an_allocation_ends(
    printed: str, end: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "scontrol", f'echo "{printed}"', monkeypatch)
    assert end_of(SlurmAllocation("1", None, 1)) == end
    assert end_of(SlurmAllocation("1", 77, 1)) == 77


def test_scontrol_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "scontrol", f"cat {DATA / 'slurm-24.11.txt'}", monkeypatch)
    more = f'address = "n[1-3]"\n{SIZES}'
    assert len(pool(tmp_path, 'slurm = "scontrol"', "@slurm:batch", more, f'{HEAD}user = "hadoop"\n').nodes) == 2


@pytest.mark.slow
def test_groups_of_clustershell_name_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clustershell_group.cache_clear()
    write(
        tmp_path, "groups.conf", "[Main]\ndefault: own\n[own]\nmap: sed -n 's/^$GROUP: //p' racks\nall: echo n[1-9]\n"
    )
    write(tmp_path, "racks", "rack1: n[1-3]\nrack2: n[4-6]\n")
    monkeypatch.setenv("CLUSTERSHELL_CFGDIR", str(tmp_path))
    group = '[[group]]\nname = "g"\nnodes = "@rack[1-2]!n[2-5],@own:rack1&n[3-9]"\n'
    path = write(tmp_path, "inventory.toml", f'{HEAD}user = "h"\n{group}cores = 1\nmemory = "1GB"\n{SIZES}')
    assert [node.name for node in load_inventory(path).nodes] == ["n3", "n6"]
    path.write_text(path.read_text().replace("&n[3-9]", ",@*"))
    assert len(load_inventory(path).nodes) == 9
    path.write_text(path.read_text().replace("@*", "@rack3"))
    [error] = refusals(lambda: load_inventory(path))
    assert str(error).startswith(f"{path}: group[g].nodes: ClusterShell has no nodes in the group '@rack3'")


@pytest.mark.slow
def test_a_group_that_hangs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clustershell_group.cache_clear()
    write(tmp_path, "groups.conf", "[Main]\ndefault: own\n[own]\nmap: sleep 60\n")
    monkeypatch.setenv("CLUSTERSHELL_CFGDIR", str(tmp_path))
    monkeypatch.setattr(programs, "_GROUP_S", 0.5)
    with pytest.raises(ValueError, match="'@a' of ClusterShell did not answer in time: look with `nodeset -f @a`"):
        clustershell_group("a")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("sleep 60", "did not end within 0 s"),
        ("sleep 60 & wait", "did not end within 0 s"),
        ("cat /dev/zero", "failed, or printed more than 64 MiB"),
        ("exit 3", "(exit code 3)"),
        ("echo hunter2 >&2; exit 1", "(exit code 1)"),
        ("printf '\\377'", "is not UTF-8 text"),
    ],
)
def test_a_program_that_does_not_answer(text: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "scontrol", text, monkeypatch)
    with pytest.raises(UserError) as caught:
        output_of(["scontrol", "show", "node"], within_s=0.4 if "sleep" in text else 20)
    assert why in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "nodes", "why"),
    [
        ("", "n1", "from: must name one tool. Write ansible = "),
        ('ansible = "a"\nslurm = "b"', "n1", "from: must name one tool"),
        ('slurm = "scontrol"\ngive_back = "1m"', "n1", "from: `give_back` is about an allocation of Slurm"),
        ('ansibel = "a"', "n1", "from.ansibel: unknown key 'ansibel'. Did you mean 'ansible'?"),
        ('ansible = "hosts.json"', "@ansible:wbe", "group[g].nodes: hosts.json has no group 'wbe'."),
        ('ansible = "hosts.json"', "@ansible:a b", "group[g].nodes: 'ansible:a b' in '@ansible:a b' cannot be a group"),
        ('ansible = "hosts.json"', "@ansible:none", "group[g].nodes: the group 'none' of hosts.json has no nodes"),
        ('slurm = "scontrol"', "n1", "from.slurm: there is no program 'scontrol'. Install it, or name a file"),
        ('ansible = "no.json"', "n1", "no.json: there is no such file. from.ansible of inventory.toml names it"),
        ('ansible = "many.ini"', "n1", "many.ini: line 2: '[1:1000000]' names 1,000,000 hosts. A pool has at most"),
        ('slurm = "many.ini"', "n1", "many.ini: is not what `scontrol show node` prints. Write it again:"),
    ],
)
def test_a_source_that_cannot_be_read(
    source: str, nodes: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    data = {"_meta": {"hostvars": {}}, "web": {"hosts": ["n1"]}, "none": {"children": ["none"]}}
    write(tmp_path, "hosts.json", json.dumps(data))
    write(tmp_path, "many.ini", "[web]\nnode[1:1000000]\n")
    lines = [str(error).replace(f"{tmp_path}/", "") for error in refusals(lambda: pool(tmp_path, source, nodes))]
    assert any(line.removeprefix("inventory.toml: ").startswith(why) for line in lines), lines
