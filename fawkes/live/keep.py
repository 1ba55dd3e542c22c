"""Logs of a MR-cluster on a node, kept by the controller before the node is wiped."""

from __future__ import annotations

from pathlib import Path

from fawkes.core.effects import Host
from fawkes.live.fleet import Fleet
from fawkes.live.ground import Ground
from fawkes.live.playbooks import node

#: before compression; a daemon's log of many days is cut, the newest files come first
LIMIT_BYTES = 64_000_000
_WITHIN_S = 60.0


class LogKeeper:
    """Writes ``FOLDER/CLUSTER/NODE.GENERATION.tar.gz``, whole or not at all."""

    def __init__(self, ground: Ground, fleet: Fleet, folder: Path) -> None:
        self._ground = ground
        self._fleet = fleet
        self._folder = folder

    def keep(self, effect: Host) -> None:
        """Fetch the logs of one node; FawkesError when that cannot be done. Once for each generation."""
        target = self._folder / effect.cluster / f"{effect.node}.{effect.generation}.tar.gz"
        if target.exists():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        half = target.with_suffix(".half")
        script = node.collect_logs(self._ground.folders(effect.node, effect.cluster), limit_bytes=LIMIT_BYTES)
        with half.open("wb") as sink:
            result = self._fleet.run(effect.node, script, _WITHIN_S, sink=sink)
        if result.exit == 0:
            half.replace(target)
        else:
            half.unlink()
