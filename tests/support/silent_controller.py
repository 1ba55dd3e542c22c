"""A controller in a process of its own whose hands do nothing; its engine, ledger, timers and socket are the real ones.

MR-clusters stay in the stage in which a test has put them, so that a test can kill, stop or cut it there.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from fawkes.base.errors import FawkesError
from fawkes.base.units import SECOND_US
from fawkes.cli.asking.client import Client
from fawkes.config.site.site import Site
from fawkes.core.state.state import State, evolve
from fawkes.core.values.effects import Effect, Reply, Survey
from fawkes.core.values.events import Done
from fawkes.engine import Engine
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.base.timers import Clock
from fawkes.live.controller.answers import answers
from fawkes.live.controller.control import ControlServer
from fawkes.live.controller.endpoint import SOCKET
from fawkes.live.controller.world import LiveWorld
from fawkes.live.nodes.clusters import Clusters
from fawkes.offline.runs.folder import copied
from fawkes.policy import compile_policy
from fawkes.store.remembered import remembered
from fawkes.store.sqlite import LEDGER_FILE, Ledger, LedgerReader
from tests.support.desk import Desk
from tests.support.pools import settings, started

LIMIT_S = 60.0
#: hours are over before a stage is: no stage of these tests ends by its own time
_PATIENT = dict.fromkeys(("deploy_us", "transfer_us", "clean_us", "membership_us", "join_us"), 36_000 * SECOND_US)


def desk(count: int = 4) -> Desk:
    """A pool at the time of this machine, for a test to bring to a stage."""
    state = State()
    evolve(state, time.time_ns() // 1000, ())
    return Desk(count, how=settings(**_PATIENT), state=state)


@dataclass
class Controller:
    """The process, and the ways in which it goes away."""

    folder: Path
    process: ForkServerProcess

    @property
    def pid(self) -> int:
        """The number of its process."""
        assert self.process.pid is not None
        return self.process.pid

    def kill(self) -> None:
        """End it as a power failure would."""
        self.process.kill()
        self.process.join()

    def pause(self) -> None:
        """Stop all of its threads, until `go_on`."""
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it go on."""
        os.kill(self.pid, signal.SIGCONT)

    def cut(self) -> None:
        """Take its socket away."""
        (self.folder / SOCKET).unlink()

    def fill(self) -> None:
        """Its ledger finds no room any more: neither the file nor the log beside it can grow."""
        size = max(os.stat(file).st_size for file in self.folder.glob(f"{LEDGER_FILE}*"))
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        # Something is to be stored: without that nobody notices.
        with suppress(FawkesError):
            Client(Site(self.folder.parent), timeout_s=1.0).post("pause", {"reason": "a test"})

    def steps(self) -> int:
        """How many steps its ledger has."""
        with closing(LedgerReader(self.folder)) as ledger:
            return ledger.last_seq()


@contextmanager
def controller(site: Path, ready: Desk | None = None) -> Iterator[Controller]:
    """A running one for a site folder, which goes on where ``ready`` is; killed at the end."""
    folder = site / "state"
    if ready is not None:
        shutil.rmtree(folder, ignore_errors=True)
        copied(ready.store, folder)
    # Forked from a process that has imported all: to import it for each takes more than all else.
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    ready_here, ready_there = context.Pipe(duplex=False)
    process = context.Process(target=main, args=(folder, ready_there))
    process.start()
    ready_there.close()
    there = Controller(folder, process)
    try:
        assert ready_here.recv() is True
        yield there
    finally:
        there.kill()
        ready_here.close()


@contextmanager
def once(condition: Callable[[], bool], act: Callable[[], None]) -> Iterator[None]:
    """Does something beside a test as soon as a condition holds; the test fails if that was never."""
    done = threading.Event()

    def watch() -> None:
        until = time.monotonic() + LIMIT_S
        while time.monotonic() < until:
            if condition():
                act()
                done.set()
                return
            time.sleep(0.02)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    yield
    thread.join(LIMIT_S)
    assert done.is_set(), "it never came to that"


class _World(LiveWorld):
    """Surveys find nothing; all else is never reached."""

    def start(self, goals: Iterable[Effect]) -> None:
        effects = list(goals)
        super().start(effects)
        for effect in effects:
            if isinstance(effect, Survey):
                self.mailbox.tell(_nothing(effect))


def _nothing(effect: Survey) -> Callable[[int], Done]:
    facts: dict[str, Any] = {"undeclared": [], "applications": []}
    return lambda at_us: Done(at_us=at_us, effect=effect.key, version=effect.version, facts=facts)


def main(folder: Path, ready: Connection) -> None:
    """Control until somebody ends it; ``ready`` hears when it has begun."""
    # The limit of a test comes as an error of the write, not as the end of the process.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    ledger = Ledger(folder, durable=False)
    state, _ = remembered(ledger)
    mailbox = Mailbox(Clock(state.now_us))
    servers: list[ControlServer] = []

    def reply(effect: Reply) -> None:
        for server in servers:
            server.reply(effect)

    world = _World(
        mailbox,
        None,  # type: ignore[arg-type]
        Clusters(),
        threads=2,
        reply=reply,
        ended=lambda by: mailbox.end(),
        refused=print,
    )
    queries = {
        **answers(state, lambda: LedgerReader(folder)),
        "ledger": lambda _: world.ledger_row(),
        "at-stake": lambda _: [],
    }
    servers.append(ControlServer(folder, mailbox.post, queries, mailbox.clock.now_us, stop=lambda by: mailbox.end()))
    engine = Engine(world, ledger, compile_policy, state)
    epoch = state.rules.epoch + 1 if state.rules is not None else 1
    at_s = mailbox.clock.now_us() / SECOND_US
    name = f"head.{os.getpid()}.0123456789ab"
    engine.offer(started(4, at_s, epoch=epoch, controller=name, how=settings(**_PATIENT), steady_us=0))
    ledger.beat()
    world.every("alive", SECOND_US, ledger.beat)
    ready.send(True)
    engine.run()
    servers[0].close()
    world.close()
    ledger.close()
