"""Lists of members: who gets a new one, in which order, and what happens when a worker is not reached."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from fawkes.base.errors import FawkesError, HostError
from fawkes.core.values.effects import Goal, Member, Membership
from fawkes.core.values.model import ClusterId, NodeId, Role, Standby
from fawkes.live.clusters.membership import MembershipKeeper
from fawkes.live.hadoop.orders import AddressedOrder
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.wire.hadoop_rpc import Order
from fawkes.live.wire.masters import DEAD, LEFT, StorageNode
from fawkes.live.wire.rest import UnreadableError
from fawkes.playbook import Facts, Script
from tests.live.played import CARRIED_OUT, Call, PlayedGround, PlayedSetup, core, live_cluster

C = ClusterId("c")
MASTER, WORKER, NEW = NodeId("node01"), NodeId("node02"), NodeId("node03")
WRITING = "writing whose connections are taken"
KEEPING = "keeping a copy of the MR-cluster"


class Place(PlayedGround, PlayedSetup):
    """The parts of Ground and Setup that are used; ``did`` is what was done where."""

    def __init__(self) -> None:
        super().__init__(MASTER, WORKER, NEW, user="root")
        self.nodes = {at: replace(node, data_address=f"10.0.0.{at[-1]}") for at, node in self.nodes.items()}
        self.did: list[tuple[str, str]] = []
        self.away: set[NodeId] = set()
        self.slow_s: dict[NodeId, float] = {}
        self._lock = threading.Lock()
        self.answers = False
        self.ordered: list[tuple[NodeId, str]] = []
        #: whose connections a node takes, as it was told last
        self.takes: dict[NodeId, set[NodeId]] = {}
        #: happens while a script is on its way to a node
        self.meanwhile: dict[NodeId, Callable[[], None]] = {}
        #: what the NameNode shows of its DataNodes; None: it does not answer
        self.shows: dict[str, StorageNode] | None = {}

    def played(self, node: NodeId, script: Script, doing: str) -> Facts:
        if node in self.away:
            raise HostError("does not answer", host=node)
        if (meanwhile := self.meanwhile.pop(node, None)) is not None:
            meanwhile()
        with self._lock:
            self.did.append((doing, node))
            if doing in (WRITING, "configuring"):
                self.takes[node] = {other for other, at in self.nodes.items() if f"{at.data_address}\n" in script.text}
        return Facts([])

    def run_on(
        self,
        scripts: Mapping[NodeId, Script],
        doing: str,
        *,
        within_s: float | None = None,
        fine: Collection[int] = (),
    ) -> dict[NodeId, Facts | FawkesError]:
        limit_s = within_s or 300
        late = {node for node in scripts if self.slow_s.get(node, 0) > limit_s}
        errors = {node: HostError(f"no answer within {limit_s:g} s", host=node) for node in late}
        in_time = {node: script for node, script in scripts.items() if node not in late}
        return {**super().run_on(in_time, doing, within_s=within_s, fine=fine), **errors}

    def through(self, node: NodeId) -> Any:
        def connect(*place: object) -> Any:
            if self.answers:
                return Call(ordered)
            raise ConnectionError("forwarding is prohibited")

        def ordered(data: bytes) -> bytes:
            methods = ("hdfs-policy", "yarn-policy", "hdfs", "yarn")
            self.ordered.append((node, next(name for name in methods if name.encode() in data)))
            return CARRIED_OUT

        return connect

    def masters(self, cluster: LiveCluster) -> Any:
        return self

    def order(self, cluster: LiveCluster, which: str) -> Any:
        return AddressedOrder("10.0.0.1", 8020, Order("p", which))

    def policy(self, cluster: LiveCluster) -> str:
        return self.doors_list(cluster)

    def doors_list(self, cluster: LiveCluster) -> str:
        return "".join(
            f"{self.nodes[node].data_address}\n" for node in sorted(cluster.members.keys() - cluster.shut_out)
        )

    def workers(self) -> list[str]:
        """The workers that got a list since the last time."""
        workers = [node for doing, node in self.did if doing == WRITING and node != MASTER]
        self.did.clear()
        return sorted(workers)


def effect(version: int, *nodes: NodeId) -> Membership:
    return Membership(C, version, core(*nodes))


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The time and the NameNode of the keeper; masters answer at once."""
    clock = SimpleNamespace(now_s=1000.0)

    def storage(place: Place, _: object) -> Any:
        if place.shows is None:
            raise UnreadableError("http://10.0.0.1", "does not answer")
        return SimpleNamespace(nodes=place.shows)

    monkeypatch.setattr("fawkes.live.clusters.membership.masters.storage", storage)
    monkeypatch.setattr("fawkes.live.clusters.membership.time", SimpleNamespace(monotonic=lambda: clock.now_s))
    return clock


@pytest.fixture
def place() -> Place:
    return Place()


@pytest.fixture
def keep(place: Place) -> MembershipKeeper:
    """The keeper of one MR-cluster, whose members have all served when the test begins."""
    clusters = Clusters()
    clusters._put(live_cluster(C, MASTER, core(MASTER, WORKER)))
    keep = MembershipKeeper(place, clusters, place, workers_s=10)
    keep._former.trust(C, [(node, 1) for node in (MASTER, WORKER)])
    return keep


def test_every_worker_gets_a_list_that_has_changed_and_the_masters_are_told_last(
    keep: MembershipKeeper, place: Place
) -> None:
    facts = keep.apply(effect(2, MASTER, WORKER, NEW))
    assert facts == {"refreshed": ["doors", "policy", "hdfs", "yarn"]}
    at_master = [doing for doing, node in place.did if node == MASTER]
    assert at_master == [KEEPING, WRITING, "writing the members", *["refreshing the members"] * 4]
    assert place.workers() == [WORKER, NEW]


def test_a_change_of_roles_alone_opens_no_door(keep: MembershipKeeper, place: Place) -> None:
    keep.apply(effect(2, MASTER, WORKER))
    place.did.clear()
    changed = effect(3, MASTER, WORKER)
    leaving = {**changed.members, WORKER: Member(Goal.DRAINING, Role.CORE, 1, leave_us=0)}
    assert keep.apply(replace(changed, members=leaving)) == {"refreshed": ["yarn"]}
    assert place.workers() == []


def test_a_worker_that_is_away_holds_up_no_master_and_is_told_when_it_is_back(
    keep: MembershipKeeper, place: Place
) -> None:
    place.away = {WORKER}
    with pytest.raises(FawkesError, match="node02: it did not get the new list of addresses"):
        keep.apply(effect(2, MASTER, WORKER, NEW))
    assert ("writing the members", MASTER) in place.did
    place.did.clear()
    place.away = set()
    assert keep.apply(effect(2, MASTER, WORKER, NEW)) == {"refreshed": ["doors"]}
    assert place.workers() == [WORKER, NEW]
    assert keep.apply(effect(2, MASTER, WORKER, NEW)) == {"refreshed": []}


def test_a_worker_has_as_much_time_as_the_site_gives_it(keep: MembershipKeeper, place: Place) -> None:
    place.slow_s = {WORKER: 11.0}
    with pytest.raises(FawkesError, match="no answer within 10 s"):
        keep.apply(effect(2, MASTER, WORKER))
    assert place.workers() == []
    place.slow_s = {WORKER: 9.0}
    keep.apply(effect(2, MASTER, WORKER))
    assert place.workers() == [WORKER]


def test_a_controller_that_starts_gives_the_nodes_of_running_mr_clusters_what_their_doors_need(
    keep: MembershipKeeper, place: Place
) -> None:
    keep.equip()
    assert place.did == []
    keep._clusters.mark(C, ready=True)
    place.away = {WORKER}
    keep.equip()
    assert place.did == [("configuring", MASTER)]


@pytest.mark.slow
def test_a_controller_that_starts_does_not_undo_a_change_of_members(keep: MembershipKeeper, place: Place) -> None:
    """Else masters turn a node away that has joined meanwhile, until the next change of members: for ever, perhaps."""
    place.answers = True
    keep._clusters.mark(C, ready=True)
    joins = threading.Thread(target=lambda: keep.apply(effect(2, MASTER, WORKER, NEW)))

    def begin_to_join() -> None:
        joins.start()
        joins.join(0.2)

    place.meanwhile[MASTER] = begin_to_join
    keep.equip()
    joins.join()
    assert place.takes == {node: {MASTER, WORKER, NEW} for node in (MASTER, WORKER, NEW)}


def test_whoever_looked_before_a_change_of_members_does_not_undo_it(
    keep: MembershipKeeper, place: Place, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.answers = True
    place.shows = {WORKER: former(3)}
    members = {**effect(2, MASTER).members, WORKER: Member(Goal.SERVING, Role.CORE, 2)}
    keep.apply(replace(effect(2), members=members))
    assert leaving(keep) == ["10.0.0.2"]
    clock.now_s, place.shows = 1005.0, {WORKER: StorageNode("", LEFT, silent_s=0)}
    look = keep._clusters.get

    def look_and_be_overtaken(cluster: ClusterId) -> LiveCluster | None:
        known = look(cluster)
        monkeypatch.setattr(keep._clusters, "get", look)
        keep.apply(replace(effect(3), members={**members, NEW: Member(Goal.SERVING, Role.CORE, 1)}))
        return known

    monkeypatch.setattr(keep._clusters, "get", look_and_be_overtaken)
    keep.take_back()
    assert place.takes == {node: {MASTER, WORKER, NEW} for node in (MASTER, WORKER, NEW)}


@pytest.fixture
def change() -> Membership:
    """The next list of the MR-cluster, whose second NameNode is on `WORKER`."""
    standby = Standby(journal=(MASTER, WORKER, NEW), node=WORKER)
    return replace(effect(2, MASTER, WORKER, NEW), standby=standby)


def test_the_second_namenode_reads_the_same_lists_before_a_new_datanode_asks_it(
    keep: MembershipKeeper, change: Membership, place: Place
) -> None:
    place.answers = True
    keep.apply(change)
    second = [at for at, (doing, node) in enumerate(place.did) if (doing, node) == ("writing the members", WORKER)]
    first = [at for at, (doing, node) in enumerate(place.did) if (doing, node) == ("writing the members", MASTER)]
    assert second < first
    assert [order for order in place.ordered if order[0] == WORKER] == [(WORKER, "hdfs-policy"), (WORKER, "hdfs")]
    assert place.workers() == [WORKER, NEW], "it has its list with its configuration, and only once"


def test_a_second_namenode_that_does_not_answer_holds_nobody_up_and_is_told_later(
    keep: MembershipKeeper, change: Membership, place: Place
) -> None:
    place.answers = True
    place.slow_s = {WORKER: 11.0}
    assert keep.apply(change) == {"refreshed": ["doors", "policy", "hdfs", "yarn"]}
    assert ("writing the members", MASTER) in place.did
    keep.catch_up()
    assert WORKER not in {node for _, node in place.did}
    place.slow_s = {}
    keep.catch_up()
    assert ("writing the members", WORKER) in place.did
    place.did.clear()
    keep.catch_up()
    assert place.did == [], "once is enough"


@pytest.mark.parametrize(("writer", "at", "rounds"), [("apply", NEW, 1), ("equip", MASTER, 1), ("catch_up", WORKER, 2)])
def test_a_node_that_is_let_in_while_an_older_list_is_written_is_not_shut_out_again(
    keep: MembershipKeeper, change: Membership, place: Place, writer: str, at: NodeId, rounds: int
) -> None:
    """It opens the doors itself; the older list comes after that, and nobody would look again."""
    place.answers = True
    keep.apply(change)
    keep._clusters.mark(C, ready=True)
    keep._clusters.end_move(C, MASTER, {NEW})
    everyone = {MASTER, WORKER, NEW}

    def let_in() -> None:
        keep._clusters.let_in(C, NEW)
        place.takes = {node: set(everyone) for node in everyone}

    if writer == "catch_up":
        place.slow_s = {WORKER: 11.0}
        keep.apply(replace(change, version=3))
        place.slow_s = {}
    place.meanwhile[at] = let_in
    for _ in range(rounds):
        if writer == "apply":
            keep.apply(replace(change, version=4))
        else:
            getattr(keep, writer)()
    assert place.takes == dict.fromkeys(everyone, everyone)


@pytest.mark.parametrize("silent", [MASTER, NEW])
def test_doors_that_could_not_be_opened_are_opened_later(keep: MembershipKeeper, place: Place, silent: NodeId) -> None:
    """The node starts its daemons once: masters that go on turning it away would never be told again."""
    place.answers = True
    keep._clusters.mark(C, ready=True)
    keep.apply(effect(2, MASTER, WORKER, NEW))
    keep._clusters.end_move(C, MASTER, {WORKER})
    keep.open_doors(C)
    assert WORKER not in place.takes[MASTER] | place.takes[NEW]
    assert keep._clusters.let_in(C, WORKER)
    place.away.add(silent)
    keep.open_doors(C)
    keep.catch_up()
    assert WORKER not in place.takes[silent]
    place.away.clear()
    keep.catch_up()
    assert all(WORKER in place.takes[node] for node in (MASTER, WORKER, NEW))
    place.did.clear()
    keep.catch_up()
    assert place.did == [], "once is enough"


def test_masters_that_hang_hold_up_no_lists_but_their_own(keep: MembershipKeeper, place: Place) -> None:
    place.answers = True
    keep._clusters.mark(C, ready=True)
    keep._clusters._put(live_cluster("d", NEW, ready=True))
    other_told = threading.Event()
    in_time: list[bool] = []
    place.meanwhile = {NEW: other_told.set, MASTER: lambda: in_time.append(other_told.wait(20))}
    keep.catch_up()
    assert in_time == [True]


def leaving(keep: MembershipKeeper) -> list[str]:
    """The DataNodes that the masters were told to keep out of service."""
    return keep._sent[C]["dfs.exclude"].split()


def test_a_member_that_joins_with_data_serves_hdfs_once_its_own_datanode_was_heard(
    keep: MembershipKeeper, place: Place, clock: SimpleNamespace
) -> None:
    """Before that HDFS may count what was wiped, and delete real replicas as too many."""
    place.answers = True
    keep.apply(effect(2, MASTER, WORKER, NEW))
    assert leaving(keep) == ["10.0.0.3"]
    assert "10.0.0.3" in keep._sent[C]["dfs.include"], "else its DataNode would be turned away"
    # The former DataNode, of 3 s ago; then the last that was heard of it; then it has gone.
    for now_s, seen in ((1000.5, former(3)), (1002.0, former(2)), (1003.0, StorageNode("", DEAD)), (1004.0, None)):
        clock.now_s, place.shows = now_s, {} if seen is None else {NEW: seen}
        keep.take_back()
        assert leaving(keep) == ["10.0.0.3"]
    clock.now_s, place.shows = 1005.0, {NEW: StorageNode("", LEFT, silent_s=0)}
    place.ordered.clear()
    keep.take_back()
    assert (leaving(keep), place.ordered) == ([], [(MASTER, "hdfs")])
    place.ordered.clear()
    keep.take_back()
    assert place.ordered == [], "once is enough"


def former(silent_s: int) -> StorageNode:
    return StorageNode("", LEFT, silent_s=silent_s)


def test_a_member_that_goes_on_serving_is_never_taken_out_of_service(keep: MembershipKeeper, place: Place) -> None:
    """Also while its NameNode, which starts again, shows none of its DataNodes, or says nothing."""
    place.shows = None
    keep.apply(replace(effect(2, MASTER, WORKER), afresh=True))
    assert leaving(keep) == []
    changed = effect(3, MASTER, WORKER)
    members = {**changed.members, WORKER: Member(Goal.EVACUATING, Role.CORE, 1)}
    keep.apply(replace(changed, members=members))
    assert leaving(keep) == ["10.0.0.2"]
    keep.apply(effect(4, MASTER, WORKER))
    assert leaving(keep) == [], "it stays after all, with its data"
    again = {**changed.members, WORKER: Member(Goal.SERVING, Role.CORE, 2)}
    with pytest.raises(UnreadableError, match="does not answer"):
        keep.apply(replace(changed, version=5, members=again))
    place.shows = {}
    keep.apply(replace(changed, version=5, members=again))
    assert leaving(keep) == ["10.0.0.2"], "it was wiped in between"


def test_who_computes_alone_joins_at_once(keep: MembershipKeeper, place: Place) -> None:
    place.shows = None
    change = effect(2, MASTER, WORKER)
    keep.apply(replace(change, members={**change.members, NEW: Member(Goal.SERVING, Role.TRANSIENT, 1)}))
    assert leaving(keep) == []
