"""Which files come back: the law of what was found, and the cases that a NameNode tells apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.core.nodes.salvage import (
    NAMED,
    BlockStamp,
    Fate,
    NamespaceComparison,
    Replicas,
    StoredFile,
    fate,
    not_found,
)

blocks = st.builds(BlockStamp, st.integers(1, 40), st.integers(1, 3), st.integers(0, 5))
files = st.builds(
    StoredFile,
    inode=st.integers(1, 1000),
    blocks=st.lists(blocks, max_size=4, unique_by=lambda block: block.id).map(tuple),
    is_open=st.booleans(),
    is_coded=st.booleans(),
)
replica_sets = st.builds(Replicas, st.frozensets(blocks), st.frozensets(st.integers(1, 40)))

ONE, TWO = BlockStamp(1, 1001, 100), BlockStamp(2, 1002, 50)


def test_a_file_comes_back_when_each_block_has_a_replica_of_its_own_kind() -> None:
    file = StoredFile(7, (ONE, TWO))
    assert fate(file, Replicas(frozenset({ONE, TWO}))) is Fate.WHOLE
    assert fate(file, Replicas(frozenset({ONE}))) is Fate.SHORT
    assert fate(file, Replicas(frozenset({ONE, TWO._replace(stamp=1003)}))) is Fate.SHORT, "written to after the copy"
    assert fate(file, Replicas(frozenset({ONE, TWO._replace(size=49)}))) is Fate.SHORT, "cut off"
    assert fate(file, Replicas(frozenset({ONE}), frozenset({2}))) is Fate.SHORT, "of a file that was closed"


def test_an_open_file_may_end_in_a_block_that_is_not_finished() -> None:
    file = StoredFile(7, (ONE, TWO), is_open=True)
    assert fate(file, Replicas(frozenset({ONE}), frozenset({2}))) is Fate.OPEN
    assert fate(file, Replicas(frozenset({ONE, TWO}))) is Fate.OPEN
    assert fate(file, Replicas(frozenset({TWO}), frozenset({1}))) is Fate.SHORT, "only the last one may be unfinished"
    assert fate(file, Replicas(frozenset({ONE}))) is Fate.SHORT


def test_nothing_is_said_of_an_erasure_coded_file_but_that_it_is_not_known() -> None:
    assert fate(StoredFile(7, (ONE,), is_coded=True), Replicas(frozenset({ONE}))) is Fate.UNKNOWN
    assert fate(StoredFile(7, (), is_coded=True), Replicas()) is Fate.WHOLE, "it has no bytes"


@pytest.mark.slow
@given(file=files, replicas=replica_sets, more=replica_sets)
def test_more_replicas_never_make_it_worse(file: StoredFile, replicas: Replicas, more: Replicas) -> None:
    both = Replicas(frozenset(replicas.whole | more.whole), frozenset(replicas.begun | more.begun))
    assert not_found(file, both) <= not_found(file, replicas)


@pytest.mark.slow
@given(file=files)
def test_without_any_replica_no_file_with_blocks_comes_back(file: StoredFile) -> None:
    assert (fate(file, Replicas()) in (Fate.WHOLE, Fate.OPEN)) == (not file.blocks)


@pytest.mark.slow
@given(files=st.lists(files, max_size=12, unique_by=lambda file: file.inode), replicas=replica_sets)
def test_every_file_is_counted_once(files: list[StoredFile], replicas: Replicas) -> None:
    comparison = NamespaceComparison(replicas)
    wanted = {file.inode for file in files if comparison.add(file)}
    salvage = comparison.outcome({inode: f"/{inode}" for inode in wanted})
    assert sum(share.files for share in salvage.shares.values()) == len(files)
    assert sum(share.size for share in salvage.shares.values()) == sum(file.size for file in files)
    named = [row.path for share in salvage.shares.values() for row in share.named]
    assert sorted(named) == sorted(f"/{inode}" for inode in wanted), "each is named whose path was asked for"
    assert wanted == {file.inode for file in files if fate(file, replicas) is not Fate.WHOLE}


def test_a_long_list_is_cut_and_counted_whole() -> None:
    comparison = NamespaceComparison(Replicas())
    wanted = [comparison.add(StoredFile(n, (BlockStamp(n, 1, 10),))) for n in range(1, NAMED + 6)]
    share = comparison.outcome({}).shares[Fate.SHORT]
    assert (share.files, share.size, len(share.named)) == (NAMED + 5, 10 * (NAMED + 5), NAMED)
    assert wanted.count(True) == NAMED
    assert (share.named[0].path, share.named[0].missing, share.named[0].blocks) == ("inode 1", 1, 1)


def test_blocks_that_no_file_has_are_counted() -> None:
    comparison = NamespaceComparison(Replicas(frozenset({ONE, TWO, TWO._replace(stamp=9)}), frozenset({3})))
    comparison.add(StoredFile(7, (ONE,)))
    assert comparison.outcome({}).strangers == 2


def test_cells_of_an_erasure_coded_block_belong_to_its_file() -> None:
    group = -(1 << 63) + 16
    cells = frozenset(BlockStamp(group + cell, 1001, 10) for cell in range(9))
    comparison = NamespaceComparison(Replicas(cells))
    comparison.add(StoredFile(7, (BlockStamp(group, 1001, 60),), is_coded=True))
    assert comparison.outcome({}).strangers == 0
