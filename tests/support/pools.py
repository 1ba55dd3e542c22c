"""Small pools, MR-clusters and jobs for tests, and an engine in a simulated world."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from fawkes.base.catalog import Catalog, Kind
from fawkes.base.units import SECOND_US
from fawkes.core.deciding.invariants import broken
from fawkes.core.state.state import State
from fawkes.core.values.decision import Decision, PutCluster
from fawkes.core.values.events import Event, PolicyText, Requested, Started, Submitted
from fawkes.core.values.model import ClusterId, ClusterSpec, ClusterState, Facts, JobId, JobSpec, Node, NodeId, Role
from fawkes.core.values.settings import Discrimination, Settings
from fawkes.engine import Engine
from fawkes.engine.ports import Entry
from fawkes.policy import compile_policy, policy_text
from fawkes.policy.admission import compile_admission
from fawkes.sim.world import SimWorld
from fawkes.store.memory import MemoryStore

POLICIES = Path(__file__).parents[2] / "policies" / "weighting"


def policy(name: str = "td") -> PolicyText:
    """A policy of the paper."""
    path = POLICIES / f"{name}.py"
    return policy_text(name.upper(), str(path), path.read_text())


def settings(**changes: object) -> Settings:
    """The paper's way with a period of 20 s, and no damping."""
    values: dict[str, object] = {
        "preset": "test",
        "period_us": 20 * SECOND_US,
        "sample_every_us": 2 * SECOND_US,
        "tau": 10 / 9,
        "discrimination": Discrimination.RAW,
        "transient_leave_us": 0,
        "transient_core_leave_us": 0,
        "confirmations": 1,
        "settle_after_grow_us": 0,
        "settle_after_shrink_us": 0,
        "max_moves_fraction": None,
        "idle_us": None,
        "spare_masters": False,
    }
    return Settings(**{**values, **changes})  # type: ignore[arg-type]


def nodes(count: int, site: str = "delft") -> tuple[Node, ...]:
    """node01 ... of one site."""
    return tuple(Node(id=NodeId(f"node{i + 1:02d}"), site=site) for i in range(count))


def started(count: int = 10, at_s: float = 0, *, how: Settings | None = None, **facts: object) -> Started:
    """The first event of a run."""
    values: dict[str, object] = {
        "at_us": int(at_s * SECOND_US),
        "version": "test",
        "pool": "pool",
        "epoch": 1,
        "controller": "controller-1",
        "settings": how or settings(),
        "nodes": nodes(count),
        "policy": policy(),
    }
    return Started(**{**values, **facts})  # type: ignore[arg-type]


def admission(name: str) -> PolicyText:
    """The text of an admission policy that came with Fawkes."""
    return bundled(Kind.ADMISSION, name)


def bundled(kind: Kind, name: str) -> PolicyText:
    """The text of a policy that came with Fawkes."""
    found = Catalog().find(kind, name)
    return policy_text(found.title, str(found.path), found.text())


def request(name: str, at_s: float, minimum: int = 2, **facts: object) -> Requested:
    """A request for an MR-cluster."""
    spec = ClusterSpec(id=ClusterId(name), min_nodes=minimum, replication=1, **facts)  # type: ignore[arg-type]
    return Requested(at_us=int(at_s * SECOND_US), spec=spec, by="test", ask=f"request-{name}")


def agreed(name: str, by: str) -> Entry:
    """The step of a ledger in which an MR-cluster was requested by somebody, and agreed to."""
    event = replace(request(name, 0.0), by=by)
    return Entry(1, event, Decision((PutCluster(ClusterState(spec=event.spec)),)))


def submit(name: str, number: int, at_s: float, tasks: int = 10, task_s: float = 10, **facts: object) -> Submitted:
    """A job of sleeping tasks."""
    spec = JobSpec(
        id=JobId(f"{name}-{number}"),
        cluster=ClusterId(name),
        tasks=tasks,
        tasks_estimated=False,
        details={"task_s": task_s},
        **facts,  # type: ignore[arg-type]
    )
    return Submitted(at_us=int(at_s * SECOND_US), spec=spec, by="test", ask=f"submit-{spec.id}")


class Checked(Engine):
    """An engine whose state, and the simulated nodes, are checked after every event."""

    def __init__(self, world: SimWorld, store: MemoryStore | None = None, state: State | None = None) -> None:
        self.state = State() if state is None else state
        self.store = MemoryStore() if store is None else store
        self.world = world
        super().__init__(world, self.store, compile_policy, self.state, load_admission=compile_admission)

    def step(self, event: Event) -> Decision:
        """One turn, then the invariants."""
        decision = super().step(event)
        wrong = broken(self.state) + two_owners(self.world)
        assert not wrong, (event, wrong)
        return decision

    def reasons(self, code: str) -> list[tuple[float, Facts]]:
        """When (in seconds) a reason of this code was given, and its facts."""
        return [
            (entry.event.at_us / SECOND_US, reason.facts)
            for entry in self.store.entries()
            for reason in entry.decision.reasons
            if reason.code == code
        ]

    def last_tick(self) -> Facts:
        """The facts of the latest tick."""
        return self.reasons("tick")[-1][1]


def two_owners(world: SimWorld) -> list[str]:
    """The simulated nodes on which two MR-clusters compute at once."""
    seen: dict[NodeId, ClusterId] = {}
    twice = []
    for cluster in world.clusters.values():
        for node in cluster.nodes:
            if node in seen:
                twice.append(f"{node} works for {seen[node]} and {cluster.id}")
            seen[node] = cluster.id
    return twice


def run(events: Iterable[Event], until_s: float, **world: object) -> Checked:
    """A whole run in a simulated world."""
    simulated = SimWorld(until_us=int(until_s * SECOND_US), **world)  # type: ignore[arg-type]
    simulated.script(events)
    engine = Checked(simulated)
    engine.run()
    return engine


def sizes(view: State) -> dict[str, int]:
    """How many nodes each MR-cluster holds."""
    return {c: len(view.nodes_of(c)) for c in view.clusters}


def roles(view: State, cluster: str) -> dict[Role | None, int]:
    """How many nodes of each role an MR-cluster holds."""
    counts: dict[Role | None, int] = {}
    for node in view.nodes_of(ClusterId(cluster)):
        role = view.nodes[node].role
        counts[role] = counts.get(role, 0) + 1
    return counts
