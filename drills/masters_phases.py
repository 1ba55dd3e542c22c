"""What an MR-cluster does when its masters are lost: how each phase of a drill is brought about, and when it begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from drills.loss import CLUSTER, First, LossPlan, Phase
from drills.masters_facts import OwnApplication, all_digests
from drills.plan import JobPlan
from drills.real import job_text
from fawkes.core.values.model import ClusterLife, JobLife, NodeId, NodeLife, Role
from tests.support.site import RealSite

_SORT = """
id = "{id}"
retries = 2
kind = "jar"
jar = "examples"
args = [
    "sort", "-r", "1",
    "-inFormat", "org.apache.hadoop.mapreduce.lib.input.KeyValueTextInputFormat",
    "-outFormat", "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat",
    "-outKey", "org.apache.hadoop.io.Text", "-outValue", "org.apache.hadoop.io.Text",
    "/records", "/output/{{id}}",
]
"""
#: what lies on a node that is to evacuate: as many blocks of 1 MiB
_STORED = 24
_BLOCK = 1 << 20
_FOREVER_S = 100_000
_TASKS = 1000
#: a moment for the next copies
_COPIED = 8


@dataclass(slots=True)
class Reached:
    """A phase that is about to begin: ``reach`` brings it about. ``before`` is what HDFS had before the loss.

    Hosts that are ``off`` by then have lost their power alone.
    """

    reach: Callable[[], None]
    before: dict[str, Any] = field(default_factory=dict)
    own: OwnApplication | None = None
    off: list[NodeId] = field(default_factory=list)


def begin(plan: LossPlan, site: RealSite, stack: ExitStack) -> Reached:
    """Bring the MR-cluster to where the phase can begin; what the phase needs ends with the stack."""
    phase, found = plan.loss.phase, Reached(lambda: None)
    if phase is Phase.LOAD:
        _load(site)
        return found
    _up(site)
    if phase is Phase.JOBS:
        found.own = OwnApplication(site, f"own-{plan.seed}")
        found.reach = lambda: _jobs(plan, site, stack, found.own)
    elif phase is Phase.GROW:
        found.reach = lambda: _grow(plan, site, stack)
    elif phase is Phase.EVACUATION:
        leaving = _stored(plan, site, stack)
        found.reach = lambda: _evacuation(site, stack, leaving)
    elif phase is Phase.FAILOVER:
        found.reach = lambda: _failover(plan, site, found.off)
    else:
        _something_to_save(plan, site)
        found.reach = lambda: _save(site)
    found.before = all_digests(site, "/output")
    return found


def _load(site: RealSite) -> None:
    site.ledger.catch_up()
    cluster = site.ledger.clusters.get(CLUSTER)
    if cluster is not None and cluster.life is not ClusterLife.GONE:
        site.fawkes("release", CLUSTER, "--discard-data", "--yes")
        site.until_life(ClusterLife.GONE, CLUSTER)
    site.fawkes("request", CLUSTER)
    _until_loads(site)


def _until_loads(site: RealSite) -> None:
    site.until("the load", lambda: site.ledger.clusters[CLUSTER].life in (ClusterLife.LOADING, ClusterLife.RUNNING))


def _up(site: RealSite) -> None:
    """Running, with a second NameNode that follows where it has one, and copies."""
    site.ledger.catch_up()
    cluster = site.ledger.clusters.get(CLUSTER)
    if cluster is None or cluster.life is ClusterLife.GONE:
        site.fawkes("request", CLUSTER)
    site.until_life(ClusterLife.RUNNING, CLUSTER)
    site.until_settled()

    def whole() -> bool:
        standby = site.ledger.clusters[CLUSTER].standby
        return standby is None or standby.ready

    site.until("a second NameNode that follows", whole)
    site.until("a copy", lambda: "a second copy goes to" in site.fawkes("status", CLUSTER))


def _jobs(plan: LossPlan, site: RealSite, stack: ExitStack, own: OwnApplication | None) -> None:
    """A Wordcount, a Sort and a user's own application compute."""
    assert own is not None
    sort = f"sort-{plan.seed}"
    site.write(f"jobs/{sort}.toml", _SORT.format(id=sort))
    names = [*(job.name for job in plan.story.jobs), sort]
    for name in names:
        site.fawkes("submit", CLUSTER, site.root / "jobs" / f"{name}.toml")
    stack.enter_context(own.running())

    def at_work() -> bool:
        own.look()
        return own.computes and all(site.applications(CLUSTER, name) for name in names)

    site.until("three applications", at_work)


@contextmanager
def _demand(plan: LossPlan, site: RealSite) -> Iterator[None]:
    """A long queue while the block lasts; its scripts have retries, because their clients may be lost with masters."""
    waiting = [f"waits-{plan.seed}-{number}" for number in range(2)]
    ballast = f"ballast-{plan.seed}"
    rows = [JobPlan(name=name, cluster=CLUSTER, at_s=0, run_s=_FOREVER_S, tasks=1, retries=9) for name in waiting]
    rows.append(JobPlan(name=ballast, cluster=CLUSTER, at_s=0, run_s=1, tasks=_TASKS, retries=9))
    for row in rows:
        site.fawkes("submit", CLUSTER, site.write(f"jobs/{row.name}.toml", job_text(row)))
    try:
        yield
    finally:
        site.fawkes("cancel", ballast, *reversed(waiting), "--wait")


def _grow(plan: LossPlan, site: RealSite, stack: ExitStack) -> None:
    stack.enter_context(_demand(plan, site))

    def joins() -> bool:
        rows = site.nodes_of(CLUSTER)
        return any(n.role is Role.TRANSIENT_CORE and n.life in (NodeLife.JOINING, NodeLife.SERVING) for n in rows)

    site.until("a node that joins", joins)


def _stored(plan: LossPlan, site: RealSite, stack: ExitStack) -> str:
    """A transient-core node that stores blocks."""
    stack.enter_context(_demand(plan, site))
    site.until("a transient-core node", lambda: site.serving(CLUSTER, Role.TRANSIENT_CORE))
    node = site.serving(CLUSTER, Role.TRANSIENT_CORE)[0]
    place = f"{site.hosts[node]}:9864"
    site.hdfs(CLUSTER, "write", f"/output/stored-{plan.seed}", place, str(_STORED * _BLOCK), "2")
    return node


def _evacuation(site: RealSite, stack: ExitStack, leaving: str) -> None:
    site.fawkes("drain", leaving, "--reason", "drill")
    stack.callback(_undrain, site, leaving)
    site.until("the evacuation", lambda: site.node(leaving).life not in (NodeLife.SERVING, NodeLife.DRAINING))


def _undrain(site: RealSite, node: str) -> None:
    site.until("the node to be out of service", lambda: site.node(node).life is NodeLife.OUT)
    site.fawkes("undrain", node)


def _failover(plan: LossPlan, site: RealSite, off: list[NodeId]) -> None:
    """The masters move; from the decision on, the ledger has them on the new node."""
    began, old = site.now(), site.ledger.clusters[CLUSTER].master
    assert old is not None
    if plan.loss.first is First.POWER:
        site.lab.kill(old)
        off.append(old)
    else:
        site.fawkes("move-masters", CLUSTER, "--now")
    site.until("the failover before", lambda: site.ledger.reasons("masters-move", after=began))


def _something_to_save(plan: LossPlan, site: RealSite) -> None:
    """The output of a Wordcount, and files of users."""
    names = [job.name for job in plan.story.jobs]
    for name in names:
        site.fawkes("submit", CLUSTER, site.root / "jobs" / f"{name}.toml")
    for job in site.until_ended(*names):
        assert job.life is JobLife.SUCCEEDED, f"{job.id}: {job.why}"
    place = f"{site.hosts[site.serving(CLUSTER, Role.CORE)[0]]}:9864"
    site.hdfs(CLUSTER, "write", f"/output/stored-{plan.seed}", place, str(_STORED * _BLOCK), "2")
    began = site.now()
    site.until("some more steps", lambda: site.now() > began + _COPIED)


def _save(site: RealSite) -> None:
    site.fawkes("release", CLUSTER, "--yes")
    after = (ClusterLife.SAVING, ClusterLife.RETIRING, ClusterLife.GONE)
    site.until("the save", lambda: site.ledger.clusters[CLUSTER].life in after)
