from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fawkes.config.files.nodeset import expand, fold, is_host_name


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", "n1"),
        ("node[01-03]", "node01 node02 node03"),
        ("n[1-3,7]", "n1 n2 n3 n7"),
        ("n[7,1-2]", "n7 n1 n2"),
        ("b,a", "b a"),
        (" b , a", "b a"),
        ("n[1-5]!n[2-3]", "n1 n4 n5"),
        ("n[1-3]&n[2-9]", "n2 n3"),
        ("n[1-2],n2", "n1 n2"),
        ("r[1-2]n[2,1]", "r1n2 r2n2 r1n1 r2n1"),
        ("10.98.1.[9-11]", "10.98.1.9 10.98.1.10 10.98.1.11"),
        ("node.site-a.example", "node.site-a.example"),
    ],
)
def test_a_set_expands_in_the_order_in_which_it_is_written(text: str, names: str) -> None:
    assert expand(text) == tuple(names.split())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty name"),
        ("n1,,n2", "comma too many"),
        ("n1!n1", "empty set"),
        ("n1 n2", "write n1,n2 (from n1 to n2)"),
        ("n_1 n_2", "separate names by commas"),
        ("web[01:50].example.com", "write web[01-50].example.com (from web01.example.com to web50.example.com)"),
        ("web[1:9:2]", "write web[1-9/2] (from web1 to web9)"),
        ("web[a:f]", "write node"),
        ("n{01..12}", "write n[01-12] "),
        ("n{1,4}x", "write n[1,4]x "),
        ("n[01..12]", "write n[01-12] "),
        (
            "node[01-100]",
            "write node[001-100] (from node001 to node100) or node[01-99,100] (from node01 to node100)",
        ),
        (
            "node[08-120]",
            "write node[008-120] (from node008 to node120) or node[08-99,100-120] (from node08 to node120)",
        ),
        ("a,node[02-9,01-10]", "write a,node[02-09,01-10] "),
        ("fd00::1", "IPv6 addresses are not supported: write the host's name or its IPv4 address"),
        ("10.0.0.1,fe80::1%eth0", "IPv6 addresses are not supported"),
        ("Node1,node1", "'Node1' and 'node1' in 'Node1,node1' are the same host"),
        ("N[1-3],n2", "'N2' and 'n2'"),
        ("@web", "name the nodes themselves"),
        ("n[3-1]", "no node set"),
        ("n[01-3]", "no node set"),
        ("n[1-2", "no node set"),
        ("n[1-2,]", "no node set"),
        ("n_1", "cannot be a host name"),
        ("-n", "cannot be a host name"),
        ("fd00::[1-2]", "cannot be a host name"),
        ("n*", "cannot be a host name"),
        ("n;reboot", "cannot be a host name"),
        ("node[1-1000000000]", "at most 100,000"),
        ("r[1-2000]n[1-2000]", "at most 100,000"),
    ],
)
def test_what_is_no_set_is_refused_with_its_text_and_a_reason(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(text))) as caught:
        expand(text)
    assert why in str(caught.value)


@pytest.mark.parametrize("name", ["a", "A9", "n-1", "10.0.0.1", "a.b.c", "x" * 63])
def test_host_names(name: str) -> None:
    assert is_host_name(name)


@pytest.mark.parametrize(
    "name", ["", "a b", "a..b", ".a", "a.", "n-", "-n", "x" * 64, "a\n", "ä", ".".join(["abc"] * 64)]
)
def test_what_is_no_host_name(name: str) -> None:
    assert not is_host_name(name)


numbers = st.integers(0, 120).flatmap(lambda number: st.sampled_from([f"{number}", f"{number:02d}", f"{number:03d}"]))
hosts = st.builds("".join, st.tuples(st.sampled_from(["n", "node", "r1-n"]), numbers, st.sampled_from(["", ".ab"])))
lawful = settings(deadline=None, max_examples=60)


@pytest.mark.slow
@lawful
@given(st.sets(hosts, min_size=1, max_size=40))
@example({"n1", "n01", "n001"})
@example({"n9", "n10", "n08"})
@example({"a1b1", "a1b2", "a2b1"})
def test_folding_and_expanding_gives_the_same_names(names: set[str]) -> None:
    assert set(expand(fold(names))) == names


@lawful
@given(st.lists(hosts, min_size=1, max_size=20, unique=True))
def test_a_list_of_names_keeps_its_order(names: list[str]) -> None:
    assert expand(",".join(names)) == tuple(names)


def test_folding_is_short_and_sorted() -> None:
    assert fold(["n10", "n08", "spare", "n09"]) == "n[08-10],spare"
    assert fold([]) == ""
