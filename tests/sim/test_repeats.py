"""The same script gives the same records, byte for byte, in another process and with another hash seed too."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from functools import cache

import pytest

from fawkes import engine
from fawkes.base.units import SECOND_US
from fawkes.core.fairness.weights import Measure
from fawkes.core.values.effects import Host
from fawkes.core.values.events import DrainAsked, Event, ReleaseAsked, Started
from fawkes.core.values.model import ClusterId, Node, NodeId, Role
from fawkes.engine.ports import Entry
from fawkes.policy import compile_policy
from fawkes.sim.world import SimWorld
from fawkes.store.record import decision_of, dumps, event_of, loads, text_of, to_plain
from tests.support.pools import Checked, policy, request, settings, started, submit


def script() -> list[Event]:
    """Several sites, several of everything at the same moment: what order there is must come from a rule."""
    pool = tuple(Node(id=NodeId(f"node{i:02d}"), site=("delft", "leiden", "utrecht")[i % 3]) for i in range(20))
    events: list[Event] = [started(nodes=pool, how=settings(growth=Role.TRANSIENT_CORE), policy=policy("td"))]
    for name in "dabc":
        events.append(request(name, 1))
        events += [submit(name, n, 2, tasks=9 if name == "a" else 30, task_s=7, retries=1) for n in range(4)]
    events += [DrainAsked(at_us=50 * SECOND_US, node=node.id, reason="x") for node in pool[12:15]]
    events.append(request("e", 61, 5))
    events.append(ReleaseAsked(at_us=130 * SECOND_US, cluster=ClusterId("b"), force=True))
    return events


def play() -> Checked:
    world = SimWorld(until_us=300 * SECOND_US)
    world.script(script())
    for node in ("node03", "node04", "node05"):
        world.lose(NodeId(node), 75 * SECOND_US)
    run = Checked(world)
    run.run()
    return run


@cache
def played() -> Checked:
    """The same once for all tests that only read it."""
    return play()


def text(run: Checked) -> str:
    return "\n".join(
        dumps({"event": to_plain(entry.event), "decision": to_plain(entry.decision)}) for entry in run.store.entries()
    )


def digest() -> str:
    return hashlib.sha256(text(played()).encode()).hexdigest()


@pytest.mark.slow
def test_a_script_gives_the_same_records_twice() -> None:
    assert text(play()) == text(played())


@pytest.mark.slow
def test_a_script_gives_the_same_records_with_another_hash_seed() -> None:
    mine = digest()
    for seed in ("1", "2"):
        code = "from tests.sim.test_repeats import digest; print(digest())"
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == mine


@pytest.mark.slow
def test_the_script_does_enough_to_notice() -> None:
    run = played()
    codes = {reason.code for entry in run.store.entries() for reason in entry.decision.reasons}
    assert {"grow", "shrink", "shrink-to-admit", "node-lost", "evacuated", "out-of-service", "gone"} <= codes
    hosts = [effect for entry in run.store.entries() for effect in entry.decision.effects if isinstance(effect, Host)]
    assert len(hosts) > 30


def through_text(run: Checked) -> list[Entry]:
    """The entries as a ledger gives them back: events from text, keys of mappings sorted."""
    return [Entry(entry.seq, event_of(loads(text_of(entry.event))), entry.decision) for entry in run.store.entries()]


@pytest.mark.slow
def test_events_that_were_written_and_read_decide_the_same() -> None:
    assert list(engine.replay(through_text(played()), compile_policy)) == []


@pytest.mark.slow
def test_decisions_that_were_written_and_read_are_written_the_same() -> None:
    """A number that is read as another one, or as another kind of number, would decide otherwise after a restart."""
    texts = [text_of(entry.decision) for entry in played().store.entries()]
    assert [text_of(decision_of(loads(written))) for written in texts] == texts


@pytest.mark.slow
def test_a_replay_finds_what_another_version_decides_otherwise() -> None:
    run = played()

    def other(text: object, how: object) -> Measure:
        return lambda window, memory: (1.0, None)

    differences = list(engine.replay(run.store.entries(), other))
    assert differences
    first = differences[0]
    assert first.stored != first.now
    assert type(first.event).__name__ == "Woke"
    # It goes on from what was decided then, so that one difference is not all that follows from it.
    ticks = sum(type(entry.event).__name__ == "Woke" for entry in run.store.entries())
    assert len(differences) <= ticks


def test_a_replay_needs_a_start() -> None:
    from fawkes.base.errors import BrokenError

    entries = [entry for entry in played().store.entries() if not isinstance(entry.event, Started)]
    with pytest.raises(BrokenError, match="comes before the first start"):
        list(engine.replay(entries, compile_policy))
