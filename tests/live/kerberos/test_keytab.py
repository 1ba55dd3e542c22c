"""Keytabs are read as MIT's programs write them; whatever else is in the file is an error that names it."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.errors import FawkesError, HostError, UserError
from fawkes.live.controller.world import _facts, _facts_of_host
from fawkes.live.kerberos.keytab import Principal, TicketError, is_of_site, principals_in
from fawkes.live.masters.succession import UntouchedError

PARTS = st.text(st.characters(codec="utf-8", exclude_characters="/@"), min_size=1, max_size=12)
PRINCIPALS = st.builds(lambda names, realm: Principal("/".join(names), realm), st.lists(PARTS, min_size=1), PARTS)


def entry(principal: Principal) -> bytes:
    names = principal.name.split("/")
    texts = [text.encode() for text in (principal.realm, *names)]
    body = struct.pack(">H", len(names)) + b"".join(struct.pack(">H", len(part)) + part for part in texts)
    # Kind of name, time, version, kind of key, key.
    body += struct.pack(">IIBHH", 1, 0, 2, 18, 32) + bytes(32)
    return struct.pack(">i", len(body)) + body


def keytab(*principals: Principal) -> bytes:
    return b"\x05\x02" + b"".join(entry(principal) for principal in principals)


@pytest.mark.slow
@given(st.lists(PRINCIPALS))
def test_every_principal_is_found(principals: list[Principal]) -> None:
    assert principals_in(keytab(*principals), "a.keytab") == set(principals)


def test_an_entry_that_was_removed_leaves_a_hole() -> None:
    alice, bob = Principal("alice", "EXAMPLE.ORG"), Principal("hadoop/bob", "EXAMPLE.ORG")
    hole = struct.pack(">i", -20) + bytes(20)
    assert principals_in(b"\x05\x02" + entry(alice) + hole + entry(bob), "a.keytab") == {alice, bob}


@pytest.mark.slow
@given(st.binary(max_size=200))
def test_other_bytes_are_an_error_that_names_the_file(data: bytes) -> None:
    if not data.startswith(b"\x05\x02"):
        with pytest.raises(UserError, match=r"a\.keytab: this is not a keytab"):
            principals_in(data, "a.keytab")


@pytest.mark.slow
@given(st.binary(max_size=200))
def test_damage_is_an_error_or_nothing_that_counts(rest: bytes) -> None:
    with contextlib.suppress(UserError):
        assert isinstance(principals_in(b"\x05\x02" + rest, "a.keytab"), frozenset)


@pytest.mark.slow
@given(st.data())
def test_a_file_that_is_cut_short_is_never_read_as_more_than_it_has(data: st.DataObject) -> None:
    whole = keytab(Principal("hadoop/alpha", "EXAMPLE.ORG"))
    part = whole[: data.draw(st.integers(6, len(whole) - 1))]
    with pytest.raises(UserError, match="cut short or damaged"):
        principals_in(part, "a.keytab")


_LOGIN = "namenode ended: KerberosAuthException: failure to login: for principal: hadoop/alpha LoginException: "


@pytest.mark.parametrize(
    ("error", "of_site"),
    [
        (TicketError("the KDC gave no ticket"), True),
        (HostError(f"{_LOGIN}Connection refused", host="node01"), True),
        (HostError(f"{_LOGIN}Clock skew too great (37)", host="node01"), False),
        (HostError("its disk is full", host="node01"), False),
    ],
)
def test_what_is_the_fault_of_the_site_and_not_of_a_node(error: FawkesError, of_site: bool) -> None:
    later = UntouchedError(error)
    later.__cause__ = error
    assert (is_of_site(error), is_of_site(later)) == (of_site, of_site)
    assert ("site" in _facts(later), _facts_of_host(error)) == (of_site, {"site": True} if of_site else {})
