"""The list of a node's blocks: whole, or no list at all."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.errors import HostError
from fawkes.core.nodes.salvage import BlockStamp, Replicas
from fawkes.core.values.model import NodeId
from fawkes.live.controller.restoring import BlockList

NODE = NodeId("node03")
LIST = b"P BP-1-10.0.0.1-9\nP BP-2-10.0.0.1-9\nB 1073741835\nF 1073741825 1001 5000\nF -16 1002 7\nE\n"


def read(data: bytes, size: int = 1 << 16) -> tuple[Replicas, frozenset[str]]:
    listed = BlockList(NODE)
    for at in range(0, len(data), size):
        listed.write(data[at : at + size])
    return listed.end()


@given(size=st.integers(1, 40))
def test_a_list_in_pieces_is_read(size: int) -> None:
    replicas, pools = read(gzip.compress(LIST), size)
    assert replicas == Replicas({BlockStamp(1073741825, 1001, 5000), BlockStamp(-16, 1002, 7)}, {1073741835})
    assert pools == {"BP-1-10.0.0.1-9", "BP-2-10.0.0.1-9"}


@pytest.mark.slow
@given(cut=st.integers(0, len(gzip.compress(LIST, mtime=0)) - 1))
def test_a_list_that_was_cut_short_is_none(cut: int) -> None:
    with pytest.raises(HostError, match=r"node03: its blocks could not be listed"):
        read(gzip.compress(LIST, mtime=0)[:cut])


@pytest.mark.parametrize("text", [LIST.removesuffix(b"E\n"), LIST + b"F 1 2\n", b"F one 2 3\nE\n", b"hello\nE\n", b""])
def test_a_list_of_another_form_is_none(text: bytes) -> None:
    with pytest.raises(HostError, match="could not be listed"):
        read(gzip.compress(text))
