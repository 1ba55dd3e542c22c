from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fawkes.base.errors import UserError
from fawkes.live.lab.spec import LabSpec, name_of_site


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


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        ({"jump_hosts": 3}, "3 jump hosts are not possible.*at most 2"),
        ({"data_network": "half"}, "'half' is not a kind of network.*open or --data-network closed"),
        ({"sites": 3}, "4 hosts on 3 sites"),
        ({"sites": 2, "hosts": 1}, "1 hosts on 2 sites"),
        ({"link_rate_bytes": 1}, "no link to limit.*--sites 2"),
    ],
)
def test_networks_that_cannot_be_are_refused(wishes: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        LabSpec(**{"hosts": 4} | wishes)
