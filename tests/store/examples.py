"""Steps of a small ledger: two starts, an MR-cluster, a job, moves, ticks, samples."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fawkes.core.state.state import NO_TICK
from fawkes.core.values import events
from fawkes.core.values.decision import (
    AddSample,
    Change,
    Decision,
    DropPending,
    PutCluster,
    PutJob,
    PutNode,
    PutPause,
    PutPending,
    PutTick,
)
from fawkes.core.values.effects import WakeAt
from fawkes.core.values.model import (
    ClusterId,
    ClusterLife,
    ClusterSpec,
    ClusterState,
    JobId,
    JobLife,
    JobSpec,
    JobState,
    Node,
    NodeId,
    NodeLife,
    NodeState,
    Reading,
    Reason,
    Role,
    Sample,
)
from fawkes.core.values.settings import Settings
from fawkes.store.schema import FORMAT
from fawkes.store.sqlite import LEDGER_FILE, Ledger

SECOND = 1_000_000
NODES = tuple(Node(id=NodeId(f"node{i:02d}"), site="lab") for i in (1, 2, 3))
ALPHA = ClusterId("alpha")
SPEC = ClusterSpec(id=ALPHA, min_nodes=1)
JOB = JobSpec(id=JobId("alpha-1"), cluster=ALPHA, reference_us=10 * SECOND)

Step = tuple[events.Event, Decision]


def started(at_us: int, epoch: int) -> events.Started:
    return events.Started(
        at_us=at_us,
        version="0.1.0",
        pool="lab",
        epoch=epoch,
        controller="head:1",
        settings=Settings(),
        nodes=NODES,
        policy=events.PolicyText("TD", "builtin", "text", "0" * 64),
    )


def node(index: int, life: NodeLife, at_us: int, why: str, role: Role = Role.TRANSIENT) -> PutNode:
    owner = None if life is NodeLife.FREE else ALPHA
    reason = Reason(why, {"node": NODES[index].id, "cluster": ALPHA})
    return PutNode(
        NodeState(
            node=NODES[index],
            life=life,
            owner=owner,
            role=role if owner else None,
            since_us=at_us,
            why=reason,
        )
    )


def tick(number: int, at_us: int) -> PutTick:
    return replace(NO_TICK, tick=number, at_us=at_us, targets={ALPHA: 2}, weights={ALPHA: 1.0}, reconfigurations=number)


def sample(at_us: int, waiting: int) -> AddSample:
    return AddSample(ALPHA, Sample(at_us=at_us, jobs_waiting=waiting), 0, waiting, {}, {})


def job(life: JobLife, finished_us: int | None = None) -> PutJob:
    at_us = 4 * SECOND
    return PutJob(JobState(spec=JOB, life=life, submitted_us=at_us, started_us=at_us, finished_us=finished_us))


def _step(event: events.Event, *changes: Change, reasons: tuple[Reason, ...] = ()) -> Step:
    effects = tuple(WakeAt(change.deadline_us) for change in changes if isinstance(change, PutPending))
    return event, Decision(changes, effects, reasons)


def python(script: str, *given: object, before: tuple[str, ...] = (), **extra: Any) -> subprocess.Popen[str]:
    """A program in Python that runs beside a test, by another program if one is named."""
    command = [*before, sys.executable, "-c", textwrap.dedent(script), *map(str, given)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **extra)


_WRITES = """
    import sys
    from pathlib import Path
    from fawkes.store.sqlite import Ledger
    from tests.store.examples import steps
    ledger = Ledger(Path(sys.argv[1]), block=int(sys.argv[2]))
    while True:
        for event, decision in steps():
            print(ledger.append(event, decision), flush=True)
"""


def written_until_killed(folder: Path, count: int, block: int) -> int:
    """The last step that another process acknowledged, which was killed after so many or some more."""
    with python(_WRITES, folder, block) as writer:
        assert writer.stdout is not None
        for _ in range(count):
            last = writer.stdout.readline()
        writer.kill()
        rest = [line for line in writer.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    return int([last, *rest][-1])


def steps() -> list[Step]:
    """Eight steps; each is one second after the one before."""
    s = SECOND
    grow = Reason("grow", {"cluster": ALPHA, "node": "node02", "target": 2})
    many = Reason("admitted", {"cluster": ALPHA, "nodes": ("node01", "node03")})
    return [
        _step(started(s, 1), *(node(i, NodeLife.FREE, s, "new") for i in range(3))),
        _step(
            events.Requested(at_us=2 * s, spec=SPEC, by="ann"),
            PutCluster(ClusterState(spec=SPEC, life=ClusterLife.DEPLOYING, requested_us=2 * s)),
            node(0, NodeLife.JOINING, 2 * s, "admitted", Role.CORE),
            PutPending("cluster:alpha", 1, 60 * s),
            reasons=(many,),
        ),
        _step(
            events.Woke(at_us=3 * s),
            DropPending("cluster:alpha"),
            PutCluster(ClusterState(spec=SPEC, life=ClusterLife.RUNNING)),
        ),
        _step(events.Submitted(at_us=4 * s, spec=JOB), job(JobLife.RUNNING)),
        _step(
            events.Sampled(
                at_us=5 * s, readings=(Reading(cluster=ALPHA, jobs_waiting=0, node_bytes={NODES[1].id: 7}),)
            ),
            sample(5 * s, 3),
            sample(5 * s, 0),
            tick(1, 5 * s),
            node(1, NodeLife.JOINING, 5 * s, "grow"),
            reasons=(Reason("tick", {"tick": 1}), grow),
        ),
        _step(events.PauseAsked(at_us=6 * s, reason="a visit"), PutPause("a visit")),
        _step(
            started(7 * s, 2),
            PutPending("tick", 1, 9 * s),
            DropPending("tick"),
            PutPending("tick", 2, 10 * s),
        ),
        _step(
            events.Woke(at_us=8 * s),
            job(JobLife.SUCCEEDED, 8 * s),
            tick(2, 8 * s),
            reasons=(Reason("least-data", {"role": Role.TRANSIENT}),),
        ),
    ]


def write(path: Path) -> None:
    """A ledger with these steps, the first three in a block, and a snapshot after step 4, as one file.

    `test_schema` keeps one of each format.
    """
    with TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder), block=3)
        for event, decision in steps():
            ledger.append(event, decision)
        ledger.snapshot(4, {"after": 4})
        ledger.close()
        shutil.copy(Path(folder) / LEDGER_FILE, path)


if __name__ == "__main__":
    write(Path(__file__).with_name(f"ledger-v{FORMAT}.sqlite"))
