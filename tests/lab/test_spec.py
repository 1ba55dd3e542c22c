from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.config.nodeset import expand
from fawkes.errors import UserError
from fawkes.lab.spec import LabSpec, address_set, host_list, name_of_site, node_set


@pytest.mark.parametrize("count", [1, 2, 10, 99, 100, 250])
def test_node_sets_name_all_hosts_and_their_addresses_in_one_order(count: int) -> None:
    hosts = host_list(count)
    assert expand(node_set(count)) == tuple(host.name for host in hosts)
    assert expand(address_set(count)) == tuple(host.address for host in hosts)
    assert len({host.port for host in hosts}) == count


def test_names_are_padded_to_one_width() -> None:
    assert host_list(3)[0].name == "node01"
    assert host_list(100)[0].name == "node001"


def test_two_folders_of_one_name_give_two_labs() -> None:
    first, second = name_of_site(Path("/a/My Lab!")), name_of_site(Path("/b/My Lab!"))
    assert first != second
    assert first.startswith("my-lab-")
    assert name_of_site(Path("/a/My Lab!")) == first


def test_the_name_is_made_from_the_site_folder_unless_given(tmp_path: Path) -> None:
    assert LabSpec(hosts=1, site=tmp_path).name == name_of_site(tmp_path)
    assert LabSpec(hosts=1, site=tmp_path, name="mine").name == "mine"


@pytest.mark.parametrize("folder", ["/", "/tmp/...", "/tmp/" + "x" * 200, "/tmp/-a-"])
def test_any_folder_gives_a_name_that_is_allowed(folder: str) -> None:
    name = LabSpec(hosts=1, site=Path(folder)).name
    assert LabSpec(hosts=1, name=name).name == name


@pytest.mark.parametrize("hosts", [-1, 0, 251])
def test_an_impossible_number_of_hosts_is_refused(hosts: int) -> None:
    with pytest.raises(UserError, match="1 to 250"):
        LabSpec(hosts=hosts)


@pytest.mark.parametrize("name", ["A", "a b", "-a", "a/..", "a" * 33, "a\n"])
def test_a_name_that_would_leave_its_folder_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="name of a lab"):
        LabSpec(hosts=1, name=name)
