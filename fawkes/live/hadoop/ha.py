"""NameNodes and JournalNodes of an MR-cluster with a second NameNode: their state, and orders for them.

Answers come over HTTP, orders go over RPC by way of the node that gets them, which its doors let in.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from fawkes.core.values.model import NodeId
from fawkes.live.base import limits
from fawkes.live.hadoop.hadoop_ha import nameservice
from fawkes.live.hadoop.ports import Ports
from fawkes.live.hadoop.setup import Setup
from fawkes.live.kerberos.keytab import TicketError
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.nodes.ground import Ground
from fawkes.live.wire.hadoop_rpc import BECOME_ACTIVE, BECOME_STANDBY, REPORT_BLOCKS, ROLL_EDITS, Order, RpcError, call
from fawkes.live.wire.rest import Deadline, OwnFaultError, UnreadableError, count, get_json

_log = logging.getLogger(__name__)
ACTIVE, STANDBY = "active", "standby"
_NAMENODE = "Hadoop:service=NameNode,name=NameNode*"
_JOURNAL = "Hadoop:service=JournalNode,name=Journal*"


@dataclass(frozen=True, slots=True)
class NameNode:
    """``state`` is what it says that it is, ``txid`` its last transaction; ``safe``: it is out of safe mode.

    ``datanodes`` counts those that it hears from. A NameNode without any files is out of safe mode before it knows one.
    """

    state: str
    txid: int
    safe: bool
    datanodes: int = 0

    def follows(self, first: NameNode) -> bool:
        """True if it is a standby that knows where blocks are: from most of the DataNodes that the first one knows."""
        return self.state == STANDBY and self.safe and 2 * self.datanodes >= first.datanodes


@dataclass(frozen=True, slots=True)
class JournalNode:
    """``txid`` is the last transaction that was written to it some seconds ago; None before it was asked for any."""

    txid: int | None


class NameNodePair:
    """Both NameNodes of MR-clusters, and their journals."""

    def __init__(self, ground: Ground, setup: Setup) -> None:
        self._ground = ground
        self._setup = setup

    def namenode(self, cluster: LiveCluster, at: NodeId, deadline: Deadline | None = None) -> NameNode:
        """The NameNode on a node at this moment; UnreadableError when there is none, or it does not say."""
        url = self._setup.masters(replace(cluster, master=at)).namenode
        beans = self._beans(cluster, url, _NAMENODE, deadline)
        info = beans.get("NameNodeInfo", {})
        state, txid = beans.get("NameNodeStatus", {}).get("State"), _last_transaction(info)
        if txid is None or not isinstance(state, str):
            raise UnreadableError(url, "the NameNode does not say what it is")
        datanodes = len(_document(info.get("LiveNodes")))
        return NameNode(state, txid, info.get("Safemode") == "", datanodes)

    def state(self, cluster: LiveCluster, at: NodeId, deadline: Deadline | None = None) -> str | None:
        """The state that the NameNode on a node reports of itself; None where it reports none.

        OwnFaultError where it could not be asked.
        """
        try:
            return self.namenode(cluster, at, deadline).state
        except OwnFaultError:
            raise
        except UnreadableError as error:
            _log.info("%s: the NameNode on %s: %s", cluster.id, at, error)
            return None

    def journal_node(self, cluster: LiveCluster, at: NodeId) -> JournalNode:
        """The JournalNode on a node; UnreadableError when there is none, or it has no journal of the MR-cluster."""
        url, name = self._setup.journal_url(cluster, at), nameservice(cluster.id)
        beans = self._beans(cluster, url, _JOURNAL, None)
        known = _document(beans.get("JournalNodeInfo", {}).get("JournalsStatus")).get(name)
        if not isinstance(known, Mapping) or str(known.get("Formatted")).lower() != "true":
            raise UnreadableError(url, "it has no journal")
        return JournalNode(count(beans.get(f"Journal-{name}", {}).get("LastWrittenTxId")))

    def journal(self, cluster: LiveCluster, nodes: Iterable[NodeId]) -> dict[NodeId, JournalNode | UnreadableError]:
        """The JournalNodes on nodes, asked side by side; why not, for each that does not answer.

        OwnFaultError where one could not be asked.
        """

        def ask(at: NodeId) -> JournalNode | UnreadableError:
            try:
                return self.journal_node(cluster, at)
            except OwnFaultError:
                raise
            except UnreadableError as error:
                return error

        names = sorted(nodes)
        with ThreadPoolExecutor(max(1, len(names)), thread_name_prefix="journal") as threads:
            return dict(zip(names, threads.map(ask, names), strict=True))

    def answering(self, cluster: LiveCluster, nodes: Iterable[NodeId]) -> list[NodeId]:
        """The nodes of the journal that answer, sorted."""
        return [at for at, seen in self.journal(cluster, nodes).items() if isinstance(seen, JournalNode)]

    @staticmethod
    def follows(second: Mapping[str, object], journal: Collection[NodeId]) -> bool:
        """True if the NameNode that was looked at is a standby, and most of the journal answers."""
        answering = second.get("journal")
        return second.get("standby") == STANDBY and isinstance(answering, list) and 2 * len(answering) > len(journal)

    def become_active(self, cluster: LiveCluster, at: NodeId) -> None:
        """The NameNode on a node takes the journal over, and writes from now on; again does no harm.

        RpcError when it refuses, or most of the journal does not answer.
        """
        self._tell(cluster, at, Ports().namenode, BECOME_ACTIVE)

    def become_standby(self, cluster: LiveCluster, at: NodeId) -> None:
        """The NameNode on a node writes no more; RpcError when it does not answer."""
        self._tell(cluster, at, Ports().namenode, BECOME_STANDBY)

    def roll(self, cluster: LiveCluster, at: NodeId) -> None:
        """The NameNode on a node begins a new segment of edits: most of the journal has taken it, or it is an RpcError.

        JournalNodes that came back take part from then on.
        """
        self._tell(cluster, at, Ports().namenode, ROLL_EDITS)

    def resource_manager_active(self, cluster: LiveCluster, at: NodeId) -> None:
        """The ResourceManager on a node recovers what it knows, and works; RpcError when it cannot."""
        self._tell(cluster, at, Ports().admin, BECOME_ACTIVE)

    def report_blocks(self, cluster: LiveCluster, nodes: Iterable[NodeId]) -> None:
        """DataNodes list their blocks to a NameNode that has just become active.

        It takes no replica for sure before, and the next list would come hours later. What fails is logged.
        """
        for at in nodes:
            try:
                self._tell(cluster, at, Ports().datanode_ipc, REPORT_BLOCKS)
            except RpcError as error:
                _log.warning("%s: the DataNode on %s lists its blocks later: %s", cluster.id, at, error)

    def _tell(self, cluster: LiveCluster, at: NodeId, port: int, order: Order) -> None:
        node = self._ground.nodes[at]
        user, through = cluster.user_on(node), self._ground.through(at)
        try:
            session = self._setup.session(cluster)
        except TicketError as error:
            raise RpcError(str(error)) from error
        call(node.data_address, port, order, user, Deadline.after(limits.CHANGE_S), through, session)

    def _beans(
        self, cluster: LiveCluster, url: str, query: str, deadline: Deadline | None
    ) -> dict[str, Mapping[str, object]]:
        key = self._setup.masters(cluster).key
        document = get_json(f"{url}/jmx?qry={query}", deadline or Deadline.after(limits.ANSWER_S), key=key)
        rows = document.get("beans") if isinstance(document, Mapping) else None
        if not isinstance(rows, list):
            raise UnreadableError(url, "the answer has no figures")
        named = [row for row in rows if isinstance(row, Mapping)]
        return {str(row.get("name", "")).rpartition("name=")[2]: row for row in named}


def _last_transaction(info: Mapping[str, object]) -> int | None:
    """The last transaction that a NameNode has written, or a standby has read; the figure is text within a text."""
    text = _document(info.get("JournalTransactionInfo")).get("LastAppliedOrWrittenTxId")
    return int(text) if isinstance(text, str) and text.isdigit() else None


def _document(text: object) -> Mapping[str, object]:
    """A JSON object within a text; empty where there is none."""
    try:
        document = json.loads(str(text))
    except ValueError:
        return {}
    return document if isinstance(document, Mapping) else {}
