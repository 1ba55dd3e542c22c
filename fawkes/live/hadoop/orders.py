"""Orders to the masters of an MR-cluster: over RPC by way of the master's own host, else by the client on it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

from fawkes.core.values.model import NodeId
from fawkes.live.base import limits
from fawkes.live.kerberos.keytab import TicketError
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.nodes.ground import Ground
from fawkes.live.wire.hadoop_rpc import Order, RpcError, SaslSession, call
from fawkes.live.wire.rest import Deadline

_log = logging.getLogger(__name__)


class AddressedOrder(NamedTuple):
    """Address and port of a master, and what it is told; ``session`` begins a login with Kerberos."""

    address: str
    port: int
    order: Order
    session: Callable[[], SaslSession] | None = None


def tell(ground: Ground, cluster: LiveCluster, at: NodeId, order: AddressedOrder) -> bytes:
    """Give an order to a master on a node through an SSH connection to that node: the message that answers it.

    RpcError when it is not followed; TicketError when the controller cannot log in.
    """
    address, port, what, login = order
    user, session = cluster.user_on(ground.nodes[at]), None if login is None else login()
    return call(address, port, what, user, Deadline.after(limits.ORDER_S), ground.through(at), session)


def give(ground: Ground, cluster: LiveCluster, order: AddressedOrder, otherwise: Callable[[], object]) -> None:
    """Give an order through an SSH connection to the master, which the doors take for one of the master's own.

    ``otherwise`` runs the command line on the master, where no connection can be opened through it;
    what it raises is raised.
    """
    try:
        tell(ground, cluster, cluster.master, order)
    except (RpcError, TicketError) as error:
        _log.info("%s: %s; the command line on the master is used instead", cluster.id, error)
        otherwise()
