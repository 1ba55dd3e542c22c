"""Are the blocks of a node safe elsewhere? Tables and laws of the proof; nothing that stores is wiped without one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fawkes.core.values.effects import Host
from fawkes.core.values.events import Condition, DrainAsked, NodeObserved, NodeSeen, Woke
from fawkes.core.values.lifecycle import WITH_MASTERS
from fawkes.core.values.model import ClusterId, NodeId, NodeLife, NodeState
from fawkes.core.values.proof import (
    NAMED,
    BlockSeen,
    Proof,
    cannot_end,
    cells_of,
    may_be_former,
    missing_blocks,
    missing_name,
    not_proven,
    progress,
    reports,
    unsafe,
    with_counts,
)
from fawkes.core.values.sight import UNHEARD, Blocks, Compute, Sight, Stored
from tests.support.desk import Desk, grown
from tests.support.examples import examples

ASKED_US = 1000
SOUND = frozenset({"s1", "s2", "s3"})
#: states in which a report names a replica, and those in which it can be read
READABLE = ("LIVE", "DECOMMISSIONING", "DECOMMISSIONED", "ENTERING MAINTENANCE", "IN MAINTENANCE", "STALE_NODE")
STATES = (*READABLE, "CORRUPT")


def block(
    *replicas: tuple[str, str], file: str = "/x", is_open: bool = False, wanted: int = 1, is_group: bool = False
) -> BlockSeen:
    return BlockSeen(file, is_open, wanted, replicas, is_group)


def group(*replicas: tuple[str, str], cells: int = 3, is_open: bool = False) -> BlockSeen:
    """An erasure-coded block group; its cells are on different nodes."""
    return block(*replicas, wanted=cells, is_group=True, is_open=is_open)


def report(*blocks: BlockSeen, sound: frozenset[str] = SOUND) -> Blocks:
    """The report about the node at ``gone``."""
    return reports(blocks, ["gone"], sound, ASKED_US)["gone"]


HERE = ("gone", "DECOMMISSIONED")
TABLE: dict[str, tuple[BlockSeen, bool, bool]] = {
    # a block, whether its file is at risk, whether it is missing
    "it is here alone": (block(HERE), True, False),
    "it is on a live node": (block(HERE, ("s1", "LIVE")), False, False),
    "it is on a node that was not heard from": (block(HERE, ("quiet", "LIVE")), True, False),
    "it is on a node that leaves as well": (block(HERE, ("s1", "DECOMMISSIONING")), True, False),
    "it is on a node that is stale": (block(HERE, ("s1", "STALE_NODE")), True, False),
    "its other replica is damaged": (block(HERE, ("s1", "CORRUPT")), True, False),
    "it has one replica of two": (block(HERE, ("s1", "LIVE"), wanted=2), True, False),
    "it has two replicas of two": (block(HERE, ("s1", "LIVE"), ("s2", "LIVE"), wanted=2), False, False),
    "it wants more replicas than there are nodes": (block(HERE, *((s, "LIVE") for s in SOUND), wanted=9), False, False),
    "it is written, and here alone": (block(HERE, is_open=True, wanted=3), True, False),
    "it is written, and elsewhere, too": (block(HERE, ("s1", "LIVE"), is_open=True, wanted=3), False, False),
    "it was never here": (block(("s1", "LIVE")), False, False),
    "it was never here and has too few": (block(("s1", "LIVE"), wanted=3), False, False),
    "it is nowhere": (block(), False, True),
    "it is damaged wherever it is": (block(("s1", "CORRUPT")), False, True),
    "it is damaged, and here": (block(("gone", "CORRUPT")), True, True),
    "it is on a stale node alone": (block(("s1", "STALE_NODE")), False, False),
    "a group has all its cells elsewhere": (group(HERE, *((s, "LIVE") for s in SOUND)), False, False),
    "a group has its last cell here": (group(HERE, ("s1", "LIVE"), ("s2", "LIVE")), True, False),
    "a group has more cells than there are sound nodes": (
        group(HERE, *((s, "LIVE") for s in SOUND), ("quiet", "LIVE"), cells=9),
        True,
        False,
    ),
    "a group is nowhere": (group(), False, True),
}


@pytest.mark.parametrize("case", sorted(TABLE))
def test_a_block_and_what_it_says_of_a_node(case: str) -> None:
    seen_block, at_risk, missing = TABLE[case]
    name = "/x (open)" if seen_block.is_open else "/x"
    blocks = report(seen_block)
    assert (blocks.known, blocks.asked_us) == (True, ASKED_US)
    assert (blocks.at_risk, blocks.at_risk_files) == (((name,), 1) if at_risk else ((), 0))
    assert (blocks.missing, blocks.missing_files) == ((("/x",), 1) if missing else ((), 0))


def test_without_any_sound_node_a_block_is_at_risk() -> None:
    assert report(block(HERE, ("s1", "LIVE")), sound=frozenset()).at_risk == ("/x",)


def test_a_node_that_leaves_is_not_its_own_replica() -> None:
    assert report(block(("gone", "LIVE")), sound=SOUND | {"gone"}).at_risk == ("/x",)


def test_two_that_leave_do_not_count_on_each_other() -> None:
    leaving = block(("g1", "DECOMMISSIONING"), ("g2", "DECOMMISSIONING"), wanted=1)
    by_node = reports([leaving], ["g1", "g2"], SOUND, ASKED_US)
    assert {at: blocks.at_risk for at, blocks in by_node.items()} == {"g1": ("/x",), "g2": ("/x",)}


def test_names_are_cut_and_counted() -> None:
    blocks = [block(HERE, file=f"/f{i:04d}") for i in range(NAMED + 5) for _ in range(2)]
    cut = report(*blocks)
    assert (len(cut.at_risk), cut.at_risk_files) == (NAMED, NAMED + 5)
    assert cut.at_risk[0] == "/f0000"


def test_the_last_file_that_is_named_has_all_of_its_missing_blocks() -> None:
    """With one of them left out, the next block that is lost would pass for one that was missing before."""
    seen = report(*[block(file=f"/f{i:04d}") for i in range(NAMED) for _ in range(2)])
    assert seen.missing[-1] == f"/f{NAMED - 1:04d} (2 blocks)"


@st.composite
def blocks_seen(draw: st.DrawFn) -> BlockSeen:
    """A block with replicas on any of a few nodes, in any state."""
    at = draw(st.lists(st.sampled_from(("gone", "s1", "s2", "s3", "quiet")), max_size=4, unique=True))
    replicas = tuple((node, draw(st.sampled_from(STATES))) for node in at)
    file, is_open, wanted = draw(st.sampled_from(("/a", "/b", "/c"))), draw(st.booleans()), draw(st.integers(1, 4))
    return BlockSeen(file, is_open, wanted, replicas, draw(st.booleans()))


@pytest.mark.slow
@given(st.lists(blocks_seen(), max_size=8))
def test_a_report_is_what_counting_by_hand_gives(seen: list[BlockSeen]) -> None:
    """A second formulation: a file is safe when each of its blocks here has enough whole copies on sound nodes."""
    blocks = report(*seen)
    risky, missing, unheard = set(), Counter[str](), set()
    for block_seen in seen:
        where = dict(block_seen.replicas)
        copies = [node for node in SOUND if where.get(node) == "LIVE"]
        cells = block_seen.replication if block_seen.is_group and not block_seen.is_open else 1
        enough = 1 if block_seen.is_open else max(cells, min(block_seen.replication, 3))
        if "gone" in where and len(copies) < enough:
            risky.add(f"{block_seen.file} (open)" if block_seen.is_open else block_seen.file)
        if set(READABLE).isdisjoint(where.values()):
            missing[block_seen.file] += 1
        elif len(copies) < cells:
            unheard.add(block_seen.file)
    assert set(blocks.at_risk) == risky
    assert Counter(dict(map(missing_blocks, blocks.missing))) == missing
    assert set(blocks.unheard) == unheard
    # Blocks of a file follow each other in a report; here they need not, so that a file may count twice.
    assert (blocks.at_risk_files > 0) == bool(risky)
    assert (blocks.missing_files > 0) == bool(missing)
    assert (blocks.unheard_files > 0) == bool(unheard)


@pytest.mark.slow
@given(st.lists(blocks_seen(), max_size=8), st.sampled_from(sorted(SOUND)))
def test_a_sound_node_that_falls_silent_never_makes_what_is_heard_of_more(seen: list[BlockSeen], away: str) -> None:
    before, after = report(*seen), report(*seen, sound=SOUND - {away})
    assert set(before.unheard) <= set(after.unheard)


NAMES_OF_MISSING = {1: "/x", 2: "/x (2 blocks)", 40: "/x (40 blocks)"}


@pytest.mark.parametrize("blocks", sorted(NAMES_OF_MISSING))
def test_the_name_of_a_file_tells_how_many_of_its_blocks_are_missing(blocks: int) -> None:
    missing = report(*[block() for _ in range(blocks)])
    assert (missing.missing, missing.missing_files) == ((NAMES_OF_MISSING[blocks],), 1)


@given(st.text(min_size=1), st.integers(2, 10**6))
def test_a_name_of_missing_blocks_is_read_as_it_was_written(file: str, blocks: int) -> None:
    assert missing_blocks(missing_name(file, blocks)) == (file, blocks)


@pytest.mark.slow
@given(st.lists(blocks_seen(), max_size=8), st.sampled_from(sorted(SOUND)))
def test_more_sound_nodes_of_which_nothing_is_known_never_make_a_node_safer_by_themselves(
    seen: list[BlockSeen], away: str
) -> None:
    """A replica that ceases to count never clears a file of one that wants one replica."""
    single = [replace(block_seen, replication=1) for block_seen in seen]
    before, after = report(*single), report(*single, sound=SOUND - {away})
    assert set(before.at_risk) <= set(after.at_risk)


GOOD = Blocks(asked_us=ASKED_US, known=True)
EARLY = replace(GOOD, asked_us=ASKED_US - 1)
NONE, OLD = Proof(None), Proof(("/old",))


def lacking(*files: str, unnamed: int = 0) -> Blocks:
    """A report by which these files are missing, and some more."""
    return replace(GOOD, missing=files, missing_files=len(files) + unnamed)


UNSAFE: dict[str, tuple[Blocks | None, Proof, str]] = {
    "no report": (None, NONE, "there is no report of the NameNode yet"),
    "why there is none": (Blocks(asked_us=ASKED_US, why="fsck timed out"), NONE, "fsck timed out"),
    "figures are no report": (
        Blocks(asked_us=ASKED_US, listed=0, too_few=0, only_here=0),
        NONE,
        "HDFS has not checked its",
    ),
    "asked before": (EARLY, NONE, "no newer report of the NameNode on its blocks"),
    "asked at that moment": (EARLY, OLD, "no newer report of the NameNode on its blocks"),
    "at risk": (replace(GOOD, at_risk=("/x",), at_risk_files=1), OLD, "too few replicas on other nodes: /x"),
    "at risk, not named": (replace(GOOD, at_risk_files=2), OLD, "too few replicas on other nodes:"),
    "newly missing": (lacking("/new", "/old"), OLD, "blocks are on no live node: /new"),
    "one more block of a file is missing": (
        lacking("/old (2 blocks)"),
        OLD,
        "blocks are on no live node: /old (2 blocks)",
    ),
    "three more": (
        lacking("/old (5 blocks)"),
        Proof(("/old (2 blocks)",)),
        "blocks are on no live node: /old (5 blocks)",
    ),
    "missing, nobody knows since when": (lacking("/old"), NONE, "is not known"),
    "too many missing": (lacking("/old", unnamed=1), OLD, "too many to know"),
}


@pytest.mark.parametrize("case", sorted(UNSAFE))
def test_why_blocks_are_not_known_to_be_safe(case: str) -> None:
    blocks, proof, expected = UNSAFE[case]
    assert expected in unsafe(blocks, proof, since_us=ASKED_US - 1)


@pytest.mark.parametrize("proof", [NONE, OLD, Proof(())])
def test_a_healthy_report_proves_that_blocks_are_safe(proof: Proof) -> None:
    assert unsafe(GOOD, proof, since_us=ASKED_US - 1) == ""


@pytest.mark.parametrize(
    ("before", "now"),
    [("/old", "/old"), ("/old (3 blocks)", "/old (3 blocks)"), ("/old (3 blocks)", "/old (2 blocks)")],
)
def test_what_was_missing_before_is_no_reason(before: str, now: str) -> None:
    assert unsafe(lacking(now), Proof((before,)), since_us=0) == ""


def test_a_dead_node_is_held_while_the_only_node_with_another_replica_is_silent() -> None:
    """It is not listed with its blocks any more: whether the silent node has died as well is not known."""
    only = block(("quiet", "LIVE"))
    for stored in sorted(UNHEARD):
        sight = Sight(asked_us=ASKED_US, stored=stored, blocks=report(only))
        assert not_proven(sight, OLD, since_us=0) == "no healthy node has /x"
        heard = replace(sight, blocks=report(only, sound=SOUND | {"quiet"}))
        assert not_proven(heard, OLD, since_us=0) == ""


def test_a_node_that_has_left_is_not_held_for_blocks_of_silent_nodes_that_it_has_not() -> None:
    sight = Sight(asked_us=ASKED_US, stored=Stored.LEFT, blocks=report(block(("quiet", "LIVE"))))
    assert not_proven(sight, OLD, since_us=0) == ""


def test_a_dead_node_may_have_had_a_cell_of_a_group_that_is_not_whole() -> None:
    def why(*at: str, is_open: bool = False) -> str:
        cells = [(node, "LIVE") for node in at]
        seen = report(group(*cells, is_open=is_open))
        return not_proven(Sight(asked_us=ASKED_US, stored=Stored.DEAD, blocks=seen), OLD, since_us=0)

    assert why("s1", "s2", "s3") == ""
    assert why("s1", "s2") == why("s1", "s2", "quiet") == "no healthy node has /x"


@pytest.mark.parametrize("stored", [state for state in Stored if state not in (Stored.LEFT, *UNHEARD)])
def test_no_report_proves_anything_of_a_node_on_which_hdfs_counts(stored: Stored) -> None:
    assert not_proven(Sight(asked_us=ASKED_US, stored=stored, blocks=GOOD), OLD, since_us=0) != ""


names = st.sets(st.sampled_from(("/a", "/b", "/c"))).map(lambda drawn: tuple(sorted(drawn)))


@given(
    known=st.booleans(),
    asked_us=st.integers(0, 3),
    since_us=st.integers(0, 3),
    at_risk=names,
    missing=names,
    hidden=st.integers(0, 1),
    before=st.none() | names,
)
def test_only_a_whole_young_report_without_new_losses_is_safe(
    known: bool,
    asked_us: int,
    since_us: int,
    at_risk: tuple[str, ...],
    missing: tuple[str, ...],
    hidden: int,
    before: tuple[str, ...] | None,
) -> None:
    blocks = Blocks(
        asked_us=asked_us,
        known=known,
        at_risk=at_risk,
        at_risk_files=len(at_risk),
        missing=missing,
        missing_files=len(missing) + hidden,
    )
    safe = known and asked_us > since_us and not at_risk and not hidden and set(missing) <= set(before or ())
    assert (unsafe(blocks, Proof(before), since_us=since_us) == "") == safe


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        (None, "no report of the NameNode yet"),
        (Blocks(why="the NameNode is in safe mode"), "the NameNode is in safe mode"),
        (Blocks(open_blocks=2), "2 blocks of open files"),
        (Blocks(listed=5), "reports no counts"),
        (Blocks(listed=5, too_few=1), "reports no counts"),
        (Blocks(listed=5, too_few=0, only_here=0), "not checked its 5 blocks yet"),
        (Blocks(too_few=0, only_here=0), "unknown number of blocks"),
        (Blocks(listed=5, too_few=3, only_here=2), "of its 5 blocks 3 have too few"),
        (Blocks(listed=5, too_few=3, only_here=0), "of its 5 blocks 3 have too few"),
        (Blocks(listed=5, too_few=0, only_here=2), "2 have none in service"),
    ],
)
def test_progress_says_what_is_known_and_never_that_it_is_safe(blocks: Blocks | None, expected: str) -> None:
    assert expected in progress(blocks)


@pytest.mark.parametrize(
    ("blocks", "replication", "expected"),
    [
        (None, 3, ""),
        (Blocks(), 3, ""),
        (Blocks(staying=3), 3, ""),
        (Blocks(staying=2), 3, "the replication is 3, but only 2 DataNodes stay"),
        (Blocks(staying=3, stored_bytes=2000), 3, ""),
        (Blocks(staying=3, stored_bytes=2000, free_bytes=2000), 3, ""),
        (Blocks(staying=3, stored_bytes=2001, free_bytes=2000), 3, "the node stores"),
    ],
)
def test_an_evacuation_that_can_never_end(blocks: Blocks | None, replication: int, expected: str) -> None:
    reason = cannot_end(blocks, replication)
    assert expected in reason
    assert bool(reason) == bool(expected)


def test_a_report_gets_the_counts_of_the_name_node_and_keeps_what_it_says() -> None:
    counts = Blocks(listed=1, too_few=2, only_here=3, open_blocks=4, stored_bytes=5, staying=6, free_bytes=7)
    whole = replace(GOOD, at_risk=("/x",), at_risk_files=1, missing=("/y",), missing_files=1)
    assert with_counts(whole, counts) == replace(
        counts, asked_us=ASKED_US, known=True, at_risk=("/x",), at_risk_files=1, missing=("/y",), missing_files=1
    )


@pytest.mark.parametrize(("policy", "cells"), [("RS-6-3-1024k", 9), ("XOR-2-1-1024k", 3), ("replication", None)])
def test_the_cells_of_a_block_group(policy: str, cells: int | None) -> None:
    assert cells_of(policy) == cells


# The law: nothing that stores data is wiped without a proof.

A, NODE = ClusterId("a"), NodeId("node03")


class Watched:
    """A desk on which anything is said of node03; each wipe of it must have been earned."""

    def __init__(self) -> None:
        self.desk = grown(count=4)
        #: the latest facts about the node that the core had to believe, and in which life it was
        self.latest: tuple[NodeSeen, NodeState] | None = None
        self.done = 0

    def tell(self, act: Callable[[], object], seen: NodeSeen | None = None) -> None:
        """One event, and a look at what it led to."""
        before = self.desk.node(NODE)
        if seen is not None and (seen.generation, seen.cluster) == (before.generation, before.owner):
            self.latest = (seen, before)
        act()
        self.look(before)

    def look(self, before: NodeState) -> None:
        """Each new wipe of the node carries a proof and follows from a safe report of its life, or was given up."""
        effects, self.done = self.desk.world.effects[self.done :], len(self.desk.world.effects)
        wipes = [e for e in effects if isinstance(e, Host) and e.node == NODE and e.role is None]
        assert self.desk.state.clusters[A].life in WITH_MASTERS
        for wipe in wipes:
            if self.desk.node(NODE).discard:
                continue
            assert wipe.proof is not None, wipe
            if before.life is not NodeLife.CLEANING and before.owner is not None:
                self.earned(before)

    def earned(self, before: NodeState) -> None:
        """The latest facts were given in the life that ends now, and are a safe report of that time."""
        assert self.latest is not None
        seen, then = self.latest
        sight = seen.sight
        assert (then.life, then.since_us) == (before.life, before.since_us)
        assert before.life is NodeLife.EVACUATING or before.leaving
        assert sight.stored in (Stored.LEFT, *UNHEARD)
        assert sight.blocks is not None
        assert sight.blocks.known
        assert min(sight.asked_us, sight.blocks.asked_us) >= before.since_us
        assert sight.blocks.at_risk_files == 0
        assert sight.blocks.missing_files == len(sight.blocks.missing)
        assert set(sight.blocks.missing) <= set(self.desk.node(NODE).missing_before or ())


@st.composite
def sights(draw: st.DrawFn, now_us: int) -> Sight:
    """Anything that masters may say, lately or a while ago."""
    ago = st.sampled_from((0, 0, 0, 1_000_000, 60_000_000))
    missing = draw(st.sampled_from(((), (), (), ("/old",), ("/new", "/old"))))
    blocks = Blocks(
        asked_us=max(0, now_us - draw(ago)),
        known=draw(st.sampled_from((True, True, False))),
        has_own=draw(st.booleans()),
        at_risk_files=draw(st.sampled_from((0, 0, 0, 1))),
        missing=missing,
        missing_files=len(missing) + draw(st.sampled_from((0, 0, 0, 1))),
        staying=draw(st.sampled_from((None, 0, 3))),
    )
    return Sight(
        asked_us=max(0, now_us - draw(ago)),
        compute=draw(st.sampled_from(list(Compute))),
        stored=draw(st.sampled_from(list(Stored))),
        blocks=draw(st.sampled_from((blocks, blocks, blocks, None))),
        repeated=draw(st.booleans()),
    )


def say(watched: Watched, draw: st.DrawFn) -> None:
    """Masters say something about the node."""
    desk = watched.desk
    state = desk.node(NODE)
    seen = NodeSeen(
        at_us=desk.now_us,
        cluster=state.owner or A,
        node=NODE,
        generation=max(0, state.generation - draw(st.sampled_from((0, 0, 0, 0, 1)))),
        sight=draw(sights(desk.now_us)),
    )
    watched.tell(lambda: desk.tell(seen), seen)


def leave_on(watched: Watched, draw: st.DrawFn) -> None:
    """Plays the looks at a node that does leave in the end, or dies while it does."""
    desk = watched.desk
    compute, stored, safe = draw(
        st.sampled_from(
            (
                (Compute.LEFT, Stored.IN_SERVICE, False),
                (Compute.LEFT, Stored.LEAVING, False),
                (Compute.LEFT, Stored.LEFT, True),
                (Compute.LOST, Stored.DEAD, False),
                (Compute.LOST, Stored.DEAD, True),
            )
        )
    )
    state = desk.node(NODE)
    blocks = Blocks(asked_us=desk.now_us, known=True, at_risk_files=0 if safe else 1)
    sight = Sight(asked_us=desk.now_us, compute=compute, stored=stored, blocks=blocks)
    seen = NodeSeen(at_us=desk.now_us, cluster=state.owner or A, node=NODE, generation=state.generation, sight=sight)
    watched.tell(lambda: desk.tell(seen), seen)


def answer(watched: Watched, draw: st.DrawFn) -> None:
    """The work on the node ends, as it was asked for, or as nobody did."""
    desk = watched.desk
    conditions = (Condition.SERVING, Condition.HELD, Condition.CLEAN, Condition.FAILED)
    event = NodeObserved(
        at_us=desk.now_us,
        node=NODE,
        generation=desk.node(NODE).generation,
        condition=draw(st.sampled_from(conditions)),
        error="seen",
    )
    watched.tell(lambda: desk.tell(event))


def operate(watched: Watched, draw: st.DrawFn) -> None:
    """Somebody wants the node out, gives its data up, or wants it back; its masters are silent, or answer."""
    desk = watched.desk
    drain = DrainAsked(at_us=desk.now_us, node=NODE, reason="disk")
    acts: Mapping[str, Callable[[], object]] = {
        "drain": lambda: desk.tell(drain),
        "discard": lambda: desk.tell(replace(drain, discard=True)),
        "undrain": lambda: desk.undrain(NODE),
        "silent": lambda: desk.masters("a", "no answer"),
        "answer": lambda: desk.masters("a"),
    }
    watched.tell(acts[draw(st.sampled_from(("drain", "drain", "drain", "discard", "undrain", "silent", "answer")))])


def pass_time(watched: Watched, draw: st.DrawFn) -> None:
    """A timer goes off, or a little time passes."""
    desk = watched.desk
    if draw(st.booleans()):
        desk.now_s += draw(st.sampled_from((0.5, 1, 5)))
        if desk.state.wake_us is None or desk.state.wake_us > desk.now_us:
            return
        watched.tell(lambda: desk.tell(Woke(at_us=desk.now_us)))
    elif desk.state.wake_us is not None and desk.state.wake_us < desk.now_us + 1000 * 1_000_000:
        watched.tell(desk.wake)


@st.composite
def stories(draw: st.DrawFn) -> Watched:
    """Whatever is said of one node, in whatever order; the law is looked at after each event."""
    watched = Watched()
    watched.done = len(watched.desk.world.effects)
    for _ in range(draw(st.integers(5, 60))):
        act = draw(st.sampled_from((say, say, leave_on, leave_on, answer, operate, pass_time, pass_time)))
        act(watched, draw)
    return watched


@pytest.mark.slow
@settings(max_examples=examples(200), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(stories())
def test_nothing_that_stores_is_wiped_without_a_proof(watched: Watched) -> None:
    """Looked at after each event of the story (`Watched.look`); it ends well in the end."""
    assert isinstance(watched.desk, Desk)


@pytest.mark.parametrize(
    ("stored", "silent_s", "former"),
    [
        (Stored.NOT_KNOWN, None, True),
        (Stored.ABSENT, None, True),
        (Stored.DEAD, None, True),
        (Stored.DEAD, 0, True),
        (Stored.OTHER, 0, True),
        (Stored.LEFT, None, True),
        (Stored.LEFT, 10, True),
        (Stored.LEAVING, 9, True),
        (Stored.LEFT, 8, False),
        (Stored.LEAVING, 0, False),
        (Stored.IN_SERVICE, None, False),
        (Stored.IN_SERVICE, 100, False),
    ],
)
def test_what_a_namenode_has_is_the_nodes_own_if_it_was_heard_since(
    stored: Stored, silent_s: int | None, former: bool
) -> None:
    """Silence is told in whole seconds: 9 s may be 9.9. Whatever is not known may be the data of before the wipe."""
    assert may_be_former(stored, silent_s, asked_s=110.0, since_s=100.0) is former
