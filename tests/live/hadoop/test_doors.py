"""Keys, and the lists of those who may speak to daemons."""

from __future__ import annotations

import errno
import ipaddress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.errors import FawkesError
from fawkes.core.values.model import ClusterId
from fawkes.live.hadoop.doors import KEY, LIST, DoorKeys, doors_list, keep_newest, policy_hosts
from fawkes.live.hadoop.hadoop_conf import DATA_DOOR, DOOR_FLAGS, DOORS_JAR, WEB_DOOR
from fawkes.live.wire.rest import KEY_HEADER
from fawkes.playbook.dist.compile.compiled import DOORS

A, B = ClusterId("a"), ClusterId("b")
ADDRESSES = st.ip_addresses(v=4).map(str)
NETWORKS = st.builds(
    lambda at, bits: str(ipaddress.IPv4Network((at, bits), strict=False)),
    st.ip_addresses(v=4).map(int),
    st.integers(min_value=20, max_value=32),
)


def test_a_key_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    keys = DoorKeys(tmp_path / "keys")
    key = keys.of(A)
    assert len(key) == 64
    assert keys.of(A) == key == DoorKeys(tmp_path / "keys").of(A)
    assert keys.of(B) != key
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "keys").iterdir()} == {0o600}


def test_only_the_keys_of_known_mr_clusters_are_kept(tmp_path: Path) -> None:
    keys = DoorKeys(tmp_path / "keys")
    keys.keep({A})
    first, gone = keys.of(A), keys.of(B)
    keys.keep({A})
    assert [path.name for path in (tmp_path / "keys").iterdir()] == ["a"]
    assert keys.of(A) == first
    assert keys.of(B) != gone


def test_a_key_that_cannot_be_removed_is_logged_and_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The controller's loop removes keys: an error of the disk must not end it."""

    def fails(self: Path, missing_ok: bool = False) -> None:
        raise OSError(errno.EIO, "Input/output error")

    keys = DoorKeys(tmp_path / "keys")
    keys.of(A)
    monkeypatch.setattr(Path, "unlink", fails)
    keys.keep(set())
    assert "the key of an MR-cluster that is gone stays" in caplog.text


def test_a_key_that_was_not_written_to_its_end_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / ".a.part").write_text("half")
    (tmp_path / "a").touch()
    assert len(DoorKeys(tmp_path).of(A)) == 64
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "keys").touch()
    with pytest.raises(FawkesError, match=r"keys: the key of a cannot be kept \(file exists\)"):
        DoorKeys(tmp_path / "keys").of(A)


@pytest.mark.slow
@given(st.sets(ADDRESSES, min_size=1), st.lists(ADDRESSES | NETWORKS))
def test_a_list_has_each_address_once_and_nothing_else(members: set[str], clients: list[str]) -> None:
    lines = doors_list(members, clients).splitlines()
    assert lines == sorted({*members, *clients})


def taken_by_hadoop(hosts: str, caller: str) -> bool:
    """Hadoop's own reading of such a list: a network's first and last address do not belong to it, nor does a /32."""
    at = ipaddress.IPv4Address(caller)
    words: Any = hosts.split(",")
    networks = [ipaddress.IPv4Network(word) for word in words if "/" in word]
    return caller in words or any(at in net and at not in (net[0], net[-1]) for net in networks)


@pytest.mark.slow
@given(st.sets(ADDRESSES, max_size=3), NETWORKS, st.data())
def test_hadoops_policy_takes_just_the_addresses_of_the_list(
    members: set[str], network: str, data: st.DataObject
) -> None:
    hosts = policy_hosts(members, [network])
    inside = ipaddress.IPv4Network(network)
    caller = data.draw(st.sampled_from([str(inside[0]), str(inside[-1]), *members]) | ADDRESSES)
    wanted = caller == "127.0.0.1" or caller in members or ipaddress.IPv4Address(caller) in inside
    assert taken_by_hadoop(hosts, caller) == wanted


def test_both_sides_of_a_door_call_things_by_the_same_names() -> None:
    keeper = (DOORS.sources / "fawkes" / "doors" / "Doors.java").read_text()
    for name in (KEY_HEADER, LIST, KEY):
        assert f'"{name}"' in keeper
    for name in (WEB_DOOR, DATA_DOOR, DOOR_FLAGS[0].partition("=")[2]):
        assert (DOORS.sources / f"{name.replace('.', '/')}.java").is_file()
    assert DOORS.jar == DOORS_JAR


def test_a_list_that_changes_while_it_is_written_is_written_again() -> None:
    lists, wrote = ["a", "ab", "abc"], []
    newest = iter(lists[1:])

    def write(text: str) -> None:
        wrote.append(text)
        lists[0] = next(newest, text)

    keep_newest("", lambda: lists[0], write)
    assert wrote == ["a", "ab", "abc"]
    keep_newest("abc", lambda: lists[0], write)
    assert wrote == ["a", "ab", "abc"], "once is enough"
