"""Edits that a NameNode has on its own disk, whatever its journal has: only from that it can begin a new journal."""

from __future__ import annotations

from dataclasses import dataclass

from fawkes.core.values.model import ClusterId, NodeId
from fawkes.live.edits import edit_log
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import standby


@dataclass(frozen=True, slots=True)
class OwnEdits:
    """``journal`` is the one in the NameNode's configuration, empty without one. ``whole``: an image is there, and no
    change between it and the newest one is missing.
    """

    journal: str
    whole: bool

    @property
    def fact(self) -> str:
        """The fact for `effects.LookAtMasters`."""
        return "whole" if self.whole else "gap"


def own_edits(ground: Ground, node: NodeId, cluster: ClusterId) -> OwnEdits:
    """The edits on the node of a NameNode; HostError when it does not answer."""
    facts = ground.run(node, standby.own_edits(ground.folders(node, cluster)), "looking at the edits of a NameNode")
    return OwnEdits(facts.get("edits", ""), edit_log.needed(facts.under("file")) is not None)
