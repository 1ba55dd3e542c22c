"""Daemons of an MR-cluster that do not run, by the word of their own node."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from fawkes.base.errors import FawkesError
from fawkes.core.values.model import NodeId
from fawkes.live.base import limits
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import moving

_log = logging.getLogger(__name__)


def gone(ground: Ground, cluster: LiveCluster, at: NodeId, daemons: Sequence[str]) -> tuple[str, ...] | None:
    """Those of the daemons that do not run on a node; None when it does not answer within `limits.GONE_S`.

    None as well where another node answers at its address.
    """
    right = ground.lease(at, cluster.id, cluster.members[at].generation)
    try:
        facts = ground.run(at, moving.running(right, daemons), "looking for daemons", within_s=limits.GONE_S)
    except FawkesError as error:
        _log.info("%s: %s", at, error)
        return None
    if other := facts.get("other"):
        _log.warning("%s answers at the address of %s: correct the inventory", other, at)
        return None
    there = facts.under("process")
    return tuple(name for name in daemons if name not in there)
