"""A pool whose ledger is lost: which MR-clusters go on. Nothing is free, stopped or wiped that is not known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.core.deciding.adopting import outcome
from fawkes.core.deciding.invariants import broken, unsound
from fawkes.core.deciding.pool import decide
from fawkes.core.state.state import State, evolve
from fawkes.core.values.adopted import Adopted, FoundCluster, FoundJob, FoundNode, KeptCluster, KeptJob
from fawkes.core.values.decision import Change, Decision, PutJob
from fawkes.core.values.effects import Deploy, Goal, Host, Load, Member, Save, StartJob
from fawkes.core.values.events import Condition, Event, Started
from fawkes.core.values.model import (
    ClusterId,
    ClusterLife,
    ClusterSpec,
    JobId,
    JobLife,
    JobSpec,
    NodeId,
    NodeLife,
    Promise,
    Role,
    Standby,
)
from fawkes.core.values.sight import AppLife, AppSeen, Launcher
from fawkes.policy import compile_policy
from fawkes.store.record import event_of, loads, text_of
from tests.support.desk import Desk
from tests.support.pools import policy, settings, started

N = [NodeId(f"node{i:02d}") for i in range(1, 7)]
A, B = ClusterId("a"), ClusterId("b")
KEPT = KeptCluster(
    spec=ClusterSpec(id=A, min_nodes=2, replication=1),
    master=N[0],
    version=9,
    loaded=True,
    members={
        N[0]: Member(Goal.SERVING, Role.CORE, 4),
        N[1]: Member(Goal.SERVING, Role.CORE, 1),
        N[2]: Member(Goal.EVACUATING, Role.TRANSIENT_CORE, 2),
    },
)
NODES = (
    FoundNode(node=N[0], cluster="a", generation=4, folders=("a",)),
    FoundNode(node=N[1], cluster="a", generation=1, folders=("a",)),
    FoundNode(node=N[2], cluster="a", generation=2, folders=("a",)),
    FoundNode(node=N[3]),
    FoundNode(node=N[4], unknown="it does not answer"),
    FoundNode(node=N[5], cluster="b", generation=3, folders=("b",)),
)
FOUND = Adopted(by="ann", nodes=NODES, clusters=(FoundCluster(node=N[0], cluster="a", kept=KEPT),))


def job(
    name: str, attempt: int = 1, launcher: Launcher = Launcher.RUNNING, *, known: bool = True, **facts: int
) -> FoundJob:
    spec = JobSpec(id=JobId(name), cluster=A, retries=1, reference_us=10**6, deadline_us=10**9)
    kept = KeptJob(spec=spec, attempt=attempt) if known else None
    return FoundJob(cluster="a", job=name, attempt=attempt, launcher=launcher, kept=kept, **facts)


class Taken(Desk):
    """A desk whose first event is an adoption."""

    def __init__(self, adopted: Adopted) -> None:
        self.found = adopted
        super().__init__(6)

    def tell(self, event: Event) -> Decision:
        """Its first event is the adoption."""
        return super().tell(replace(event, adopted=self.found) if isinstance(event, Started) else event)


def test_an_mr_cluster_goes_on_with_its_members_and_all_else_is_held_out_or_free() -> None:
    desk = Taken(FOUND)
    assert desk.state.clusters[A].life is ClusterLife.RUNNING
    assert [desk.node(n).life for n in N] == [
        NodeLife.SERVING, NodeLife.SERVING, NodeLife.EVACUATING, NodeLife.FREE, NodeLife.OUT, NodeLife.OUT,
    ]  # fmt: skip
    assert [desk.node(n).generation for n in N] == [4, 1, 2, 0, 0, 3]
    assert "does not answer" in desk.node(N[4]).keep_out
    assert "held by b" in desk.node(N[5]).keep_out
    (document,) = desk.members()
    assert (document.cluster, document.version, set(document.members)) == (A, 10, set(N[:3]))
    assert {n: m for n, m in document.members.items() if n != N[2]} == {n: KEPT.members[n] for n in N[:2]}
    assert document.members[N[2]].goal is Goal.EVACUATING


@pytest.mark.parametrize("order", [1, -1])
def test_the_latest_copy_says_where_the_masters_are(order: int) -> None:
    """The node of the masters before has an older one, when it could not be reached while they moved."""
    moved = replace(KEPT, master=N[1], version=12)
    copies = (FoundCluster(node=N[0], cluster="a", kept=KEPT), FoundCluster(node=N[1], cluster="a", kept=moved))
    desk = Taken(replace(FOUND, clusters=copies[::order]))
    assert (desk.state.clusters[A].master, desk.state.clusters[A].version) == (N[1], 13)


def test_a_second_name_node_is_adopted_with_its_journal_and_must_show_again_that_it_follows() -> None:
    standby = Standby(journal=(N[0], N[1], N[3]), node=N[1], ready=True)
    spec = replace(KEPT.spec, min_nodes=3, masters=Promise.STANDBY)
    members = {**KEPT.members, N[3]: Member(Goal.SERVING, Role.CORE, 1)}
    kept = replace(KEPT, spec=spec, standby=standby, members=members)
    nodes = (*NODES[:3], FoundNode(node=N[3], cluster="a", generation=1, folders=("a",)), *NODES[4:])
    desk = Taken(replace(FOUND, nodes=nodes, clusters=(FoundCluster(node=N[0], cluster="a", kept=kept),)))
    assert desk.state.clusters[A].standby == replace(standby, ready=False)
    (document,) = desk.members()
    assert document.standby == replace(standby, ready=False)


def test_nothing_is_begun_stopped_or_wiped_by_it() -> None:
    desk = Taken(replace(FOUND, jobs=(job("a-1"),)))
    assert not [effect for effect in desk.last.effects if isinstance(effect, (Host, Deploy, Load, Save))]
    assert [effect.job for effect in desk.latest(StartJob)] == ["a-1"]


def test_a_member_that_does_not_answer_stays_a_member_because_the_masters_would_forget_its_data() -> None:
    nodes = (NODES[0], FoundNode(node=N[1], unknown="it does not answer"), *NODES[2:])
    desk = Taken(replace(FOUND, nodes=nodes))
    assert (desk.node(N[1]).life, desk.node(N[1]).owner, desk.node(N[1]).generation) == (NodeLife.SERVING, A, 1)


def test_a_member_that_answers_and_is_no_member_any_more_is_what_its_lease_says() -> None:
    nodes = (*NODES[:2], FoundNode(node=N[2]), *NODES[3:])
    desk = Taken(replace(FOUND, nodes=nodes))
    assert (desk.node(N[2]).life, desk.node(N[2]).owner) == (NodeLife.FREE, None)


def _with_goals(goals: dict[NodeId, Goal], took_over: FoundNode) -> Adopted:
    """A pool in which some core nodes had another goal, and what the node says that was a third core node."""
    members = {N[0]: Member(Goal.SERVING, Role.CORE, 4), N[1]: Member(Goal.SERVING, Role.CORE, 1)}
    members = {name: replace(member, goal=goals.get(name, member.goal)) for name, member in members.items()}
    kept = replace(KEPT, members=members | {took_over.node: Member(Goal.SERVING, Role.CORE, 3)})
    nodes = (NODES[0], NODES[1], took_over, *NODES[3:])
    return replace(FOUND, nodes=nodes, clusters=(FoundCluster(node=N[0], cluster="a", kept=kept),))


@pytest.mark.parametrize(
    ("goals", "took_over", "lives"),
    [
        ({N[1]: Goal.EVACUATING}, FoundNode(node=N[2], cluster="a", generation=3), NodeLife.EVACUATING),
        ({N[1]: Goal.EVACUATING}, FoundNode(node=N[2], cluster="b", generation=3), NodeLife.SERVING),
        ({N[1]: Goal.DRAINING}, FoundNode(node=N[2]), NodeLife.SERVING),
        ({N[0]: Goal.EVACUATING}, FoundNode(node=N[2], cluster="a", generation=3), NodeLife.SERVING),
        ({N[0]: Goal.DRAINING, N[1]: Goal.DRAINING}, FoundNode(node=N[2]), NodeLife.SERVING),
    ],
    ids=["another serves", "another's", "free", "the masters' node", "all"],
)
def test_a_core_node_that_was_leaving_serves_again_where_no_other_took_over(
    goals: dict[NodeId, Goal], took_over: FoundNode, lives: NodeLife
) -> None:
    desk = Taken(_with_goals(goals, took_over))
    assert {desk.node(name).life for name in goals} == {lives}
    assert desk.node(N[0]).life is NodeLife.SERVING
    assert broken(desk.state) == []


@pytest.mark.parametrize(
    ("copy", "why"),
    [
        (None, "no node that answers has its kept copy"),
        (FoundCluster(node=N[0], cluster="a", error="is not JSON"), "cannot be read: is not JSON"),
        (FoundCluster(node=N[0], cluster="a", kept=replace(KEPT, loaded=False)), "still being deployed or loaded"),
        (FoundCluster(node=N[0], cluster="a", kept=replace(KEPT, master=N[1])), "belongs to another"),
        (
            FoundCluster(
                node=N[0], cluster="a", kept=replace(KEPT, members={N[0]: Member(Goal.SERVING, Role.CORE, 3)})
            ),
            "an earlier MR-cluster of this name",
        ),
        (
            FoundCluster(
                node=N[0], cluster="a", kept=replace(KEPT, members={N[0]: Member(Goal.SERVING, Role.TRANSIENT, 4)})
            ),
            "on a node that is no core node",
        ),
    ],
)
def test_an_mr_cluster_of_which_too_little_is_known_is_left_alone(copy: FoundCluster | None, why: str) -> None:
    adopted = replace(FOUND, clusters=() if copy is None else (copy,))
    desk = Taken(adopted)
    assert not desk.state.clusters
    assert why in outcome(adopted).left["a"]
    assert {desk.node(n).life for n in N} - {NodeLife.FREE} == {NodeLife.OUT}
    assert [n for n in N if desk.node(n).life is NodeLife.FREE] == [N[3]]
    assert not desk.latest(Host)


def test_a_folder_that_nobody_holds_makes_no_free_node() -> None:
    desk = Taken(Adopted(nodes=(FoundNode(node=N[0], folders=("old",)),)))
    assert "the folder of old" in desk.node(N[0]).keep_out


def test_jobs_go_on_exactly_once_and_their_ids_stay_taken() -> None:
    jobs = (
        job("runs", 2),
        job("runs", 1, Launcher.FINISHED, exit=1),
        job("done", 1, Launcher.FINISHED, exit=0),
        job("failed", 1, Launcher.FINISHED, exit=3),
        job("strange", 1, Launcher.FINISHED, exit=1, known=False),
    )
    desk = Taken(replace(FOUND, jobs=jobs))
    assert {name: state.attempt for name, state in desk.state.jobs.items()} == {JobId("runs"): 2, JobId("failed"): 1}
    assert all(desk.state.had_job(A, JobId(name)) for name in ("runs", "done", "failed", "strange"))
    desk.attempt("runs", 2, launcher=Launcher.RUNNING, applications=(AppSeen(id="application_1", life=AppLife.LIVE),))
    assert not desk.starts()
    desk.attempt(
        "failed", 1, launcher=Launcher.FINISHED, exit=3, applications=(AppSeen(id="application_2", life=AppLife.LIVE),)
    )
    assert "failed" in desk.state.jobs
    desk.attempt("failed", 1, launcher=Launcher.FINISHED, exit=3, applications=())
    assert "retry" in desk.codes()
    ended = AppSeen(id="application_1", life=AppLife.SUCCEEDED, started_us=1, finished_us=5)
    desk.attempt("runs", 2, launcher=Launcher.FINISHED, exit=0, applications=(ended,))
    assert "job-succeeded" in desk.codes()
    last = {change.state.id: change.state for change in changes(desk) if isinstance(change, PutJob)}
    for name in ("runs", "done", "strange"):
        state = last[JobId(name)]
        assert (state.wait_us, state.run_us, state.slowdown, state.met) == (None, None, None, None), "nobody knows"


@pytest.mark.parametrize(
    ("launcher", "exit_", "life"),
    [
        (Launcher.RUNNING, None, JobLife.RUNNING),
        (Launcher.NOT_KNOWN, None, JobLife.RUNNING),
        (Launcher.FINISHED, 0, JobLife.SUCCEEDED),
        (Launcher.FINISHED, 1, JobLife.FAILED),
        (Launcher.LOST, None, JobLife.FAILED),
    ],
)
def test_a_job_without_its_declaration_is_what_its_client_is(
    launcher: Launcher, exit_: int | None, life: JobLife
) -> None:
    """One that runs guards its MR-cluster from a release."""
    found = FoundJob(cluster="a", job="x", attempt=2, launcher=launcher, exit=exit_)
    desk = Taken(replace(FOUND, jobs=(found,)))
    (last,) = [change.state for change in changes(desk) if isinstance(change, PutJob)]
    assert last.life is life
    assert [effect.attempt for effect in desk.effects(StartJob)] == ([2] if life is JobLife.RUNNING else [])


def changes(desk: Desk) -> list[Change]:
    """All changes since the adoption."""
    return [change for entry in desk.store.entries() for change in entry.decision.changes]


def test_an_undrained_node_serves_again_and_a_node_that_was_leaving_leaves() -> None:
    desk = Taken(FOUND)
    desk.see(N[2], Condition.EVACUATED)
    assert desk.node(N[2]).life is NodeLife.CLEANING


def test_a_member_that_the_inventory_forgot_is_named() -> None:
    assert outcome(replace(FOUND, nodes=(NODES[0], *NODES[2:]))).strangers == (N[1],)


def test_an_adoption_is_one_event_that_is_stored_and_decided_again() -> None:
    desk = Taken(replace(FOUND, jobs=(job("a-1"), job("x", known=False))))
    (entry,) = desk.store.entries()
    assert event_of(loads(text_of(entry.event))) == entry.event
    assert desk.decided_otherwise() == []


def found_nodes(name: NodeId) -> st.SearchStrategy[FoundNode]:
    return st.builds(
        FoundNode,
        node=st.just(name),
        cluster=st.sampled_from(["", "a", "b"]),
        generation=st.integers(1, 4),
        unknown=st.sampled_from(["", "", "it does not answer"]),
        folders=st.sampled_from([(), ("a",), ("b",)]),
    )


COPIES = st.lists(
    st.builds(
        FoundCluster,
        node=st.sampled_from(N),
        cluster=st.sampled_from(["a", "b"]),
        kept=st.none()
        | st.builds(
            KeptCluster,
            spec=st.sampled_from([ClusterSpec(id=A, min_nodes=1), ClusterSpec(id=B, min_nodes=1)]),
            master=st.sampled_from(N),
            version=st.integers(0, 9),
            loaded=st.booleans(),
            members=st.dictionaries(
                st.sampled_from(N),
                st.builds(Member, st.sampled_from(Goal), st.sampled_from(Role), st.integers(1, 4)),
            ),
        ),
    ),
    max_size=3,
)


@pytest.mark.slow
@given(st.tuples(*map(found_nodes, N)), COPIES)
def test_whatever_is_found_the_state_is_sound_and_only_known_nodes_are_free(
    nodes: tuple[FoundNode, ...], copies: list[FoundCluster]
) -> None:
    adopted = Adopted(nodes=nodes, clusters=tuple(copies))
    event = replace(started(6), adopted=adopted)
    state = State()
    decision = decide(state, event, compile_policy(policy(), settings()))
    assert unsound(state, decision) == []
    evolve(state, 0, decision.changes)
    assert broken(state) == []
    for node in nodes:
        if state.nodes[node.node].life is NodeLife.FREE:
            assert (node.unknown, node.cluster, node.folders) == ("", "", ())
    assert not [effect for effect in decision.effects if isinstance(effect, (Deploy, Load, Save))]
