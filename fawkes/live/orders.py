"""Orders to the masters of an MR-cluster: over RPC by way of the master's own host, else by the client on it."""

from __future__ import annotations

import logging
from collections.abc import Callable

from fawkes.live.clusters import LiveCluster
from fawkes.live.ground import Ground
from fawkes.live.hadoop_rpc import Order, RpcError, call
from fawkes.live.rest import Deadline

_ANSWER_S = 10.0
_log = logging.getLogger(__name__)

AddressedOrder = tuple[str, int, Order]
"""Address and port of a master, and what it is told."""


def give(ground: Ground, cluster: LiveCluster, order: AddressedOrder, otherwise: Callable[[], object]) -> None:
    """Give an order through an SSH connection to the master, which the doors take for one of the master's own.

    ``otherwise`` runs the command line on the master, where its sshd forwards nothing or the masters want Kerberos;
    what it raises is raised.
    """
    address, port, what = order
    user = cluster.user_on(ground.nodes[cluster.master])
    try:
        call(address, port, what, user, Deadline.after(_ANSWER_S), ground.through(cluster.master))
    except RpcError as error:
        _log.info("%s: %s; the command line on the master is used instead", cluster.id, error)
        otherwise()
