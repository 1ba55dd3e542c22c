"""Are the blocks of a node safe elsewhere? Tables and laws of the proof; nothing that stores is wiped without one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fawkes.core.effects import Host
from fawkes.core.events import Condition, DrainAsked, NodeObserved, NodeSeen, UndrainAsked, Woke
from fawkes.core.lifecycle import WITH_MASTERS
from fawkes.core.model import ClusterId, NodeId, NodeLife, NodeState
from fawkes.core.proof import (
    NAMED,
    BlockSeen,
    Proof,
    cannot_end,
    cells_of,
    missing_blocks,
    missing_name,
    not_proven,
    progress,
    reports,
    unsafe,
    with_counts,
)
from fawkes.core.sight import UNHEARD, Blocks, Compute, Sight, Stored
from tests.support.desk import Desk, grown

ASKED_US = 1000
SOUND = frozenset({"s1", "s2", "s3"})
#: states in which a report names a replica, and those in which it can be read
READABLE = ("LIVE", "DECOMMISSIONING", "DECOMMISSIONED", "ENTERING MAINTENANCE", "IN MAINTENANCE", "STALE_NODE")
STATES = (*READABLE, "CORRUPT")


def block(*replicas: tuple[str, str], file: str = "/x", is_open: bool = False, wanted: int = 1) -> BlockSeen:
    return BlockSeen(file, is_open, wanted, replicas)


def report(*blocks: BlockSeen, sound: frozenset[str] = SOUND) -> Blocks:
    """What a report says of the node at ``gone``."""
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
}


@pytest.mark.parametrize("case", sorted(TABLE))
def test_a_block_and_what_it_says_of_a_node(case: str) -> None:
    one, at_risk, missing = TABLE[case]
    name = "/x (open)" if one.is_open else "/x"
    found = report(one)
    assert (found.known, found.asked_us) == (True, ASKED_US)
    assert (found.at_risk, found.at_risk_files) == (((name,), 1) if at_risk else ((), 0))
    assert (found.missing, found.missing_files) == ((("/x",), 1) if missing else ((), 0))


def test_without_any_sound_node_a_block_is_at_risk() -> None:
    assert report(block(HERE, ("s1", "LIVE")), sound=frozenset()).at_risk == ("/x",)


def test_a_node_that_leaves_is_not_its_own_replica() -> None:
    assert report(block(("gone", "LIVE")), sound=SOUND | {"gone"}).at_risk == ("/x",)


def test_two_that_leave_do_not_count_on_each_other() -> None:
    one = block(("g1", "DECOMMISSIONING"), ("g2", "DECOMMISSIONING"), wanted=1)
    found = reports([one], ["g1", "g2"], SOUND, ASKED_US)
    assert {at: blocks.at_risk for at, blocks in found.items()} == {"g1": ("/x",), "g2": ("/x",)}


def test_names_are_cut_and_counted() -> None:
    blocks = [block(HERE, file=f"/f{i:04d}") for i in range(NAMED + 5) for _ in range(2)]
    found = report(*blocks)
    assert (len(found.at_risk), found.at_risk_files) == (NAMED, NAMED + 5)
    assert found.at_risk[0] == "/f0000"


@st.composite
def blocks_seen(draw: st.DrawFn) -> BlockSeen:
    """A block with replicas on any of a few nodes, in any state."""
    at = draw(st.lists(st.sampled_from(("gone", "s1", "s2", "s3", "quiet")), max_size=4, unique=True))
    replicas = tuple((node, draw(st.sampled_from(STATES))) for node in at)
    return BlockSeen(draw(st.sampled_from(("/a", "/b", "/c"))), draw(st.booleans()), draw(st.integers(1, 4)), replicas)


@given(st.lists(blocks_seen(), max_size=8))
def test_a_report_is_what_counting_by_hand_gives(seen: list[BlockSeen]) -> None:
    """A second formulation: a file is safe when each of its blocks here has enough whole copies on sound nodes."""
    found = report(*seen)
    risky: set[str] = set()
    unheard: set[str] = set()
    missing: list[str] = []
    for one in seen:
        where = dict(one.replicas)
        if "gone" in where:
            copies = [node for node in SOUND if where.get(node) == "LIVE"]
            enough = 1 if one.is_open else min(one.replication, 3)
            if len(copies) < enough:
                risky.add(f"{one.file} (open)" if one.is_open else one.file)
        if set(READABLE).isdisjoint(where.values()):
            missing.append(one.file)
        elif not [node for node in SOUND if where.get(node) == "LIVE"]:
            unheard.add(one.file)
    assert set(found.at_risk) == risky
    assert dict(map(missing_blocks, found.missing)) == Counter(missing)
    assert set(found.unheard) == unheard
    # Blocks of a file follow each other in a report; here they need not, so that a file may count twice.
    assert (found.at_risk_files > 0) == bool(risky)
    assert (found.missing_files > 0) == bool(missing)


@given(st.lists(blocks_seen(), max_size=8), st.sampled_from(sorted(SOUND)))
def test_more_sound_nodes_of_which_nothing_is_known_never_make_a_node_safer_by_themselves(
    seen: list[BlockSeen], away: str
) -> None:
    """A replica that ceases to count never clears a file of one that wants one replica."""
    single = [replace(one, replication=1) for one in seen]
    before, after = report(*single), report(*single, sound=SOUND - {away})
    assert set(before.at_risk) <= set(after.at_risk)


GOOD = Blocks(asked_us=ASKED_US, known=True)
NONE, OLD = Proof(None), Proof(("/old",))
UNSAFE: dict[str, tuple[Blocks | None, Proof, str]] = {
    "no report": (None, NONE, "has not been asked yet"),
    "why there is none": (Blocks(asked_us=ASKED_US, why="fsck timed out"), NONE, "fsck timed out"),
    "figures are no report": (Blocks(asked_us=ASKED_US, listed=0, too_few=0, only_here=0), NONE, "not looked through"),
    "asked before": (replace(GOOD, asked_us=ASKED_US - 1), NONE, "has not been asked about its blocks since"),
    "asked at that moment": (replace(GOOD, asked_us=ASKED_US - 1), OLD, "has not been asked about its blocks since"),
    "at risk": (replace(GOOD, at_risk=("/x",), at_risk_files=1), OLD, "too few replicas elsewhere of /x"),
    "at risk, not named": (replace(GOOD, at_risk_files=2), OLD, "2 more"),
    "newly missing": (
        replace(GOOD, missing=("/new", "/old"), missing_files=2),
        OLD,
        "/new",
    ),
    "missing, nobody knows since when": (replace(GOOD, missing=("/old",), missing_files=1), NONE, "is not known"),
    "more blocks of a file are missing": (
        replace(GOOD, missing=("/old (3 blocks)",), missing_files=1),
        Proof(("/old (2 blocks)",)),
        "/old (3 blocks)",
    ),
    "too many missing": (replace(GOOD, missing=("/old",), missing_files=2), OLD, "too many to tell"),
}


@pytest.mark.parametrize("case", sorted(UNSAFE))
def test_why_blocks_are_not_known_to_be_safe(case: str) -> None:
    blocks, proof, expected = UNSAFE[case]
    assert expected in unsafe(blocks, proof, since_us=ASKED_US - 1)


@pytest.mark.parametrize("proof", [NONE, OLD, Proof(())])
def test_a_healthy_report_proves_that_blocks_are_safe(proof: Proof) -> None:
    assert unsafe(GOOD, proof, since_us=ASKED_US - 1) == ""


def test_what_was_missing_before_is_no_reason() -> None:
    assert unsafe(replace(GOOD, missing=("/old",), missing_files=1), OLD, since_us=0) == ""


def test_as_many_missing_blocks_of_a_file_as_before_are_no_news() -> None:
    for missing in ("/old", "/old (2 blocks)"):
        blocks = replace(GOOD, missing=(missing,), missing_files=1)
        assert unsafe(blocks, Proof(("/old (2 blocks)",)), since_us=0) == ""


@given(st.text(), st.integers(1, 10**6))
def test_a_file_and_its_missing_blocks_are_read_from_its_name(file: str, blocks: int) -> None:
    assume(missing_blocks(file)[0] == file)
    assert missing_blocks(missing_name(file, blocks)) == (file, blocks)


@pytest.mark.parametrize("stored", list(Stored))
@pytest.mark.parametrize("unheard", [0, 1])
def test_by_which_state_of_its_data_node_a_healthy_report_proves_anything(stored: Stored, unheard: int) -> None:
    """A dead node is not listed any more; nodes that are listed and not heard from may have died with it."""
    sight = Sight(asked_us=ASKED_US, stored=stored, blocks=replace(GOOD, unheard_files=unheard))
    proven = stored is Stored.LEFT or (stored in UNHEARD and not unheard)
    assert (not_proven(sight, NONE, since_us=ASKED_US - 1) == "") == proven


@pytest.mark.parametrize("stored", list(Stored))
def test_no_state_of_its_data_node_proves_anything_without_a_report(stored: Stored) -> None:
    for blocks in (None, Blocks(asked_us=ASKED_US, why="fsck timed out"), replace(GOOD, asked_us=0)):
        assert not_proven(Sight(asked_us=ASKED_US, stored=stored, blocks=blocks), NONE, since_us=1)


names = st.sets(st.sampled_from(("/a", "/b", "/c"))).map(lambda found: tuple(sorted(found)))


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
        (None, "not been asked yet"),
        (Blocks(why="the NameNode is in safe mode"), "the NameNode is in safe mode"),
        (Blocks(open_blocks=2), "2 blocks of open files"),
        (Blocks(listed=5), "gives no figures"),
        (Blocks(listed=5, too_few=1), "gives no figures"),
        (Blocks(listed=5, too_few=0, only_here=0), "not looked through its 5 blocks yet"),
        (Blocks(too_few=0, only_here=0), "unknown number of blocks"),
        (Blocks(listed=5, too_few=3, only_here=2), "of its 5 blocks 3 have too few"),
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
        (Blocks(staying=2), 3, "2 DataNodes stay for 3 replicas"),
        (Blocks(staying=3, stored_bytes=2000), 3, ""),
        (Blocks(staying=3, stored_bytes=2000, free_bytes=2000), 3, ""),
        (Blocks(staying=3, stored_bytes=2001, free_bytes=2000), 3, "lie on it"),
    ],
)
def test_an_evacuation_that_can_never_end(blocks: Blocks | None, replication: int, expected: str) -> None:
    found = cannot_end(blocks, replication)
    assert expected in found
    assert bool(found) == bool(expected)


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
        assert sight.stored is Stored.LEFT or not sight.blocks.unheard_files


@st.composite
def sights(draw: st.DrawFn, now_us: int) -> Sight:
    """Anything that masters may say, lately or a while ago."""
    ago = st.sampled_from((0, 0, 0, 1_000_000, 60_000_000))
    missing = draw(st.sampled_from(((), (), (), ("/old",), ("/new", "/old"))))
    blocks = Blocks(
        asked_us=max(0, now_us - draw(ago)),
        known=draw(st.sampled_from((True, True, False))),
        at_risk_files=draw(st.sampled_from((0, 0, 0, 1))),
        missing=missing,
        missing_files=len(missing) + draw(st.sampled_from((0, 0, 0, 1))),
        unheard_files=draw(st.sampled_from((0, 0, 0, 1))),
        staying=draw(st.sampled_from((None, 0, 3))),
    )
    return Sight(
        asked_us=max(0, now_us - draw(ago)),
        compute=draw(st.sampled_from(list(Compute))),
        stored=draw(st.sampled_from(list(Stored))),
        blocks=draw(st.sampled_from((blocks, blocks, blocks, None))),
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
    """What is said of a node that does leave in the end, or dies while it does."""
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
        "undrain": lambda: desk.tell(UndrainAsked(at_us=desk.now_us, node=NODE)),
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
@settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(stories())
def test_nothing_that_stores_is_wiped_without_a_proof(watched: Watched) -> None:
    """Looked at after each event of the story (`Watched.look`); it ends well in the end."""
    assert isinstance(watched.desk, Desk)
