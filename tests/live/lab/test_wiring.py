from __future__ import annotations

from typing import Any

import pytest

from fawkes.config.files.nodeset import expand
from fawkes.live.lab.inside.wiring import Cable, Wiring, node_set, wiring_of
from fawkes.live.lab.spec import LabSpec


def wired(hosts: int, **wishes: Any) -> Wiring:
    return wiring_of(LabSpec(hosts=hosts, **wishes))


@pytest.mark.parametrize("count", [1, 2, 10, 99, 100, 250])
def test_node_sets_name_all_hosts_and_their_addresses_in_one_order(count: int) -> None:
    hosts = wired(count).hosts
    assert expand(node_set(host.name for host in hosts)) == tuple(host.name for host in hosts)
    assert expand(node_set(host.address for host in hosts)) == tuple(host.address for host in hosts)


def test_names_are_padded_to_one_width() -> None:
    assert wired(3).hosts[0].name == "node01"
    assert wired(100).hosts[0].name == "node001"


def test_a_plain_lab_has_one_bridge_and_no_link() -> None:
    plain = wired(2)
    assert (plain.bridges, plain.links, plain.controller) == (("lab0",), (), (Cable("lab0", "10.98.0.1"),))
    assert [host.cables for host in plain.hosts] == [(Cable("lab0", "10.98.1.1"),), (Cable("lab0", "10.98.1.2"),)]


def test_jump_hosts_are_the_only_way_in() -> None:
    far = wired(1, jump_hosts=2)
    first, second = far.jump_hosts
    assert (first.name, first.cables) == ("login", (Cable("lab0", "10.98.0.2"), Cable("lab1", "10.99.0.1")))
    assert (second.name, second.cables) == ("login2", (Cable("lab1", "10.99.0.2"), Cable("lab2", "10.100.0.1")))
    assert far.nodes[0].cables == (Cable("lab2", "10.100.1.1"),)
    assert far.controller == (Cable("lab0", "10.98.0.1"),)


@pytest.mark.parametrize(
    ("wishes", "controller", "login"),
    [
        ({"data_network": "open"}, True, None),
        ({"data_network": "closed"}, False, None),
        ({"data_network": "open", "jump_hosts": 1}, False, True),
        ({"data_network": "closed", "jump_hosts": 1}, False, False),
    ],
)
def test_an_open_network_for_data_is_reached_by_who_stands_before_the_nodes(
    wishes: dict[str, Any], controller: bool, login: bool | None
) -> None:
    lab, door = wired(2, **wishes), Cable("data", "10.77.0.1")
    assert (door in lab.controller) is controller
    assert [door in host.cables for host in lab.jump_hosts] == ([] if login is None else [login])
    assert [(host.data_address, host.address != host.data_address) for host in lab.nodes] == [
        ("10.77.1.1", True),
        ("10.77.1.2", True),
    ]


def test_two_sites_split_the_hosts_and_every_network() -> None:
    lab = wired(5, sites=2, data_network="open", jump_hosts=1)
    assert [host.site for host in lab.nodes] == ["a", "a", "a", "b", "b"]
    assert lab.bridges == ("lab0", "lab1", "lab1b", "data", "datab")
    assert lab.links == (("lab1", "lab1b"), ("data", "datab"))
    assert lab.nodes[4].cables == (Cable("lab1b", "10.99.1.5"), Cable("datab", "10.77.1.5"))


def test_no_port_has_a_longer_name_than_linux_takes() -> None:
    lab = wired(250, sites=2, data_network="open", jump_hosts=2)
    ports = [host.port(cable) for host in lab.hosts for cable in host.cables]
    assert max(map(len, ports)) <= 15
    assert len(set(ports)) == len(ports)
