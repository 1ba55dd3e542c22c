"""``proxy_jump``, tables of jump hosts, and the OpenSSH configuration that an inventory asks for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fawkes.base.errors import ConfigError
from fawkes.config.nodes.inventory import InventoryNode, inventory_node, load_inventory
from tests.config.support import write

GROUP = '[[group]]\nname = "r"\nnodes = "node[1-2]"\n'
REST = 'cores = 2\nmemory = "2GB"\ndisk = "10GB"\nwork_dir = "/srv/fawkes"\n'
USER = 'user = "u"\n'


def load(folder: Path, ssh: str, *, group: str = "", more: str = "", config: str | None = None) -> list[InventoryNode]:
    if config is not None:
        write(folder, "config", config)
    pool = load_inventory(write(folder, "inventory.toml", f'pool = "p"\n[ssh]\n{ssh}\n{GROUP}{group}{REST}{more}'))
    for node in pool.nodes:
        assert inventory_node(json.loads(json.dumps(node.plain()))) == node
    return list(pool.nodes)


def way(node: InventoryNode) -> list[str]:
    """The hosts that SSH passes, the first one first, as ``name user@address:port key``."""
    hops, jump = [], node.jump
    while jump is not None:
        key = f" {jump.key.name}" if jump.key else ""
        hops.append(f"{jump.name} {jump.user}@{jump.address}:{jump.port}{key}")
        jump = jump.before
    return hops[::-1]


def refused(folder: Path, ssh: str, *, more: str = "", config: str | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        load(folder, ssh, more=more, config=config)
    return str(caught.value).replace(f"{folder}/", "")


def test_a_jump_host_has_the_user_and_the_key_of_the_node_behind_it(tmp_path: Path) -> None:
    write(tmp_path, "id", "secret")
    first, second = load(tmp_path, f'{USER}port = 2200\nkey = "id"\nproxy_jump = "login"')
    assert way(first) == way(second) == ["login u@login:22 id"]


def test_several_jump_hosts_in_a_row_may_have_users_ports_and_tables(tmp_path: Path) -> None:
    write(tmp_path, "other", "secret")
    table = '[jump.a]\naddress = "192.0.2.1"\nport = 23\nkey = "other"\n'
    first, _ = load(tmp_path, f'{USER}proxy_jump = "a,bob@b.example:2222"', more=table)
    assert way(first) == ["a u@192.0.2.1:23 other", "b.example bob@b.example:2222"]


def test_the_closest_table_wins_and_none_undoes_the_outer_ones(tmp_path: Path) -> None:
    ssh, group = f'{USER}proxy_jump = "a"', 'proxy_jump = "b"\n'
    first, second = load(tmp_path, ssh, group=group, more='[node.node2]\nproxy_jump = "none"\n')
    assert (way(first), way(second)) == (["b u@b:22"], [])


def test_a_node_of_the_pool_may_be_a_jump_host_with_its_own_way(tmp_path: Path) -> None:
    more = '[node.node1]\nproxy_jump = "login"\naddress = "192.0.2.1"\nuser = "me"\n'
    first, second = load(tmp_path, f'{USER}proxy_jump = "node1"', more=more)
    assert way(first) == ["login me@login:22"]
    assert way(second) == ["login me@login:22", "node1 me@192.0.2.1:22"]


SYNTAX = 'Write "login", "user@login.example:2222", several as "first,second", or "none"'


@pytest.mark.parametrize(
    ("ssh", "more", "said"),
    [
        ('proxy_jump = "a,,b"', "", f"ssh.proxy_jump: 'a,,b' has an empty element. {SYNTAX}"),
        ('proxy_jump = ""', "", f"ssh.proxy_jump: '' has an empty element. {SYNTAX}"),
        ('proxy_jump = "ssh://a"', "", f"ssh.proxy_jump: 'ssh://a' is not a jump host. {SYNTAX}"),
        ('proxy_jump = "@a"', "", f"ssh.proxy_jump: '@a' is not a jump host. {SYNTAX}"),
        ('proxy_jump = "a:70000"', "", f"ssh.proxy_jump: 70000 is not a port. {SYNTAX}"),
        ('proxy_jump = "a,a"', "", "ssh.proxy_jump: 'a' is its own jump host. Name each host once"),
        (
            'proxy_jump = "node1"',
            "",
            "ssh.proxy_jump: 'node1' would be its own jump host. Write proxy_jump = \"none\" for node1, or",
        ),
        (
            "",
            '[node.node1]\nproxy_jump = "node2"\n[node.node2]\nproxy_jump = "node1"\n',
            "node.node1.proxy_jump: 'node2' would be its own jump host",
        ),
        ('proxy_jump = "a"', "[jump.node1]\nport = 3", "jump.node1: 'node1' is a node of the pool. Remove the table"),
        ('proxy_jump = "a"', "[jump.a]\nprt = 3", "jump.a.prt: unknown key 'prt'. Did you mean 'port'?"),
        (
            'proxy_jump = "a"',
            '[node.node2]\nproxy_jump = "a:2222"\n',
            "node.node2.proxy_jump: the jump host 'a' is named with two ports or addresses. Give the second one a name",
        ),
    ],
)
def test_what_leads_nowhere_is_refused(tmp_path: Path, ssh: str, more: str, said: str) -> None:
    assert f"inventory.toml: {said}" in refused(tmp_path, f"{USER}{ssh}", more=more)


CONFIG = """
Host node*
    User carl
    Port 2200
    HostName %h.cluster
    ProxyJump lucy@login,inner
    IdentityFile ~/.ssh/no-such-file
    IdentityFile %d/id
Host login
    HostName 192.0.2.1
Host *
    ProxyJump none
"""


def test_openssh_fills_in_what_the_inventory_does_not_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path, "id", "secret")
    more = '[node.node2]\nuser = "me"\nport = 22\nproxy_jump = "other"\n'
    first, second = load(tmp_path, 'config = "~/config"', more=more, config=CONFIG)
    assert (first.address, first.data_address, first.user, first.port) == (
        "node1.cluster",
        "node1.cluster",
        "carl",
        2200,
    )
    assert first.key == tmp_path / "id"
    assert way(first) == ["login lucy@192.0.2.1:22 id", "inner carl@inner:22 id"]
    assert (second.address, second.user, second.port, way(second)) == (
        "node2.cluster",
        "me",
        22,
        ["other me@other:22 id"],
    )


@pytest.mark.parametrize(
    ("config", "address", "jumps"),
    [
        # A comment behind words names no hosts.
        ("Host x # was node1\nHostName no\nHost node1\nHostName 10.0.0.2 # new\n", "10.0.0.2", []),
        ("Match User me originalhost node*\nHostName %h.x\nProxyJump b\n", "node1.x", ["b"]),
        ("Match user carl\nHostName no\n", "node1", []),
        # The first one of the two counts.
        ("Host *\nProxyCommand none\nProxyJump b\n", "node1", []),
        ("Host node*\nProxyJump b\nProxyCommand c\n", "node1", ["b"]),
        ("Host *\nProxyJump none\nProxyCommand c\n", "node1", []),
    ],
)
def test_openssh_is_read_as_ssh_reads_it(tmp_path: Path, config: str, address: str, jumps: list[str]) -> None:
    node = load(tmp_path, 'user = "me"\nconfig = "config"', config=config)[0]
    assert (node.address, [hop.split()[0] for hop in way(node)]) == (address, jumps)


def test_a_file_of_host_keys_may_have_blanks_in_its_name(tmp_path: Path) -> None:
    load(tmp_path, 'config = "config"', config=f'Host *\nUser q\nUserKnownHostsFile "{tmp_path}/a b"\n')
    assert load_inventory(tmp_path / "inventory.toml").known_hosts == tmp_path / "a b"


def test_openssh_names_the_file_with_host_keys_where_the_inventory_does_not(tmp_path: Path) -> None:
    config = f"Host *\nUser q\nUserKnownHostsFile {tmp_path}/theirs\n"
    load(tmp_path, 'config = "config"', config=config)
    assert load_inventory(tmp_path / "inventory.toml").known_hosts == tmp_path / "theirs"
    load(tmp_path, 'config = "config"', config="Host *\nUser q\nUserKnownHostsFile /dev/null\n")
    assert load_inventory(tmp_path / "inventory.toml").known_hosts == tmp_path / "known_hosts"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (None, "config: there is no such file. Name the file, such as"),
        ('Host "a\n', "config: line 1: cannot be read: No closing quotation. `ssh -G HOST` shows"),
        ("Host node[0-9]\n", "config: line 1: brackets are letters for ssh, and are not supported"),
        ("Match localnetwork 10.0.0.0/8\n", "config: line 1: Match localnetwork is not supported. Copy the lines"),
        ('Match e"xe"c true\n', "config: line 1: Match exec would run a command"),
        ("Host *\nUser q\nUserKnownHostsFile /a /b\n", "Host node1: UserKnownHostsFile names several files"),
        ("Host *\nUser q\nRevokedHostKeys /r\n", "Host node1: RevokedHostKeys is not supported. Write the keys"),
        ("Include other\n", "config: line 1: Include is not supported. Copy the lines"),
        ("Match exec=true\n", "config: line 1: Match exec would run a command, and is not supported"),
        ("Host *\nUser q\nProxyCommand ssh -W %h:%p x\n", "Host node1: ProxyCommand is not supported. Write ProxyJump"),
        ("Host *\nUser q\nProxyJump a,,b\n", "Host node1: ProxyJump 'a,,b': 'a,,b' has an empty element"),
        ("Host *\nUser q\nPort x\n", "Host node1: Port 'x' is not a port"),
        ("Host *\nUser -q\n", "Host node1: User '-q' cannot be a user name"),
        ("Host *\nUser q\nHostName fe80::1\n", "Host node1: HostName 'fe80::1' is not a host name"),
        ("Host *\nUser q\nProxyJump login\n", "inventory.toml: ssh.config: 'login' would be its own jump host"),
        ("Host x\nUser q\n", "inventory.toml: group[r].user: node 'node1' has no 'user'"),
        (
            "Host node1\nUserKnownHostsFile /a\nHost *\nUser q\n",
            "ssh.config: hosts of the pool have different files as UserKnownHostsFile",
        ),
    ],
)
def test_an_openssh_file_that_is_not_understood_is_refused(tmp_path: Path, config: str | None, said: str) -> None:
    assert said in refused(tmp_path, 'config = "config"', config=config)


def test_no_command_of_an_openssh_file_is_run(tmp_path: Path) -> None:
    config = f'Match exec "touch {tmp_path}/ran"\nUser q\nHost *\nProxyCommand touch {tmp_path}/ran\n'
    refused(tmp_path, 'config = "config"', config=config)
    assert not (tmp_path / "ran").exists()
