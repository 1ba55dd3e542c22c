"""Parts of the live world that a test plays itself: nodes whose scripts it ends, a clock that it sets, own hands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from fawkes.base.errors import FawkesError
from fawkes.config.nodes.inventory import InventoryNode
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.base.timers import Clock
from fawkes.live.controller.world import Hands, LiveWorld
from fawkes.live.hadoop.setup import Setup
from fawkes.live.nodes.clusters import Clusters
from fawkes.live.nodes.ground import Ground, Identity
from fawkes.live.nodes.upload import Upload
from tests.support.local_nodes import LocalFleet, node_of


class PlayedGround(Ground):
    """Nodes whose scripts a test ends in a `run` of its own; their leases, folders and addresses are real."""

    def __init__(self, *nodes: str | InventoryNode, **facts: Any) -> None:
        facts = {"work_dir": "/srv/fawkes", **facts}
        known = [node_of(node, Path("/")) if isinstance(node, str) else node for node in nodes]
        known = [replace(node, **facts) for node in known]
        super().__init__(known, Identity("pool", 1, "controller"), LocalFleet([]), command_s=60, threads=1)


class SetClock(Clock):
    """A clock that shows ``now``, in microseconds; nobody sets the machine's."""

    def __init__(self, now: int = 0) -> None:
        self.now = now

    def now_us(self) -> int:
        return self.now

    def step(self) -> None:
        """It was not set."""


class NoUpload(Upload):
    """Attempts that need no files."""

    def __init__(self) -> None:
        """Without a fleet."""

    def job_files(self, *_: object, **__: object) -> None:
        """Nothing is brought."""


def bare_setup(ground: Ground, shell: Any = None, **more: Any) -> Setup:
    """A set-up without releases and doors, for tests that ask for neither."""
    nothing: Any = None
    return Setup(ground, shell, nothing, nothing, **more)


def world_of(
    *,
    mailbox: Mailbox | None = None,
    ground: Ground | None = None,
    clusters: Clusters | None = None,
    refused: Callable[[FawkesError], None] = lambda error: None,
) -> LiveWorld:
    """A world without hands; `give_hands` gives it those that a test needs."""
    return LiveWorld(
        mailbox or Mailbox(Clock(0)),
        ground or PlayedGround(),
        clusters or Clusters(),
        threads=8,
        reply=lambda effect: None,
        ended=lambda by: None,
        refused=refused,
    )


def give_hands(world: LiveWorld, **hands: Any) -> None:
    """Give a world these hands alone, by the names of `Hands`."""
    world._hands = Hands(**{**dict.fromkeys(field.name for field in fields(Hands)), **hands})
