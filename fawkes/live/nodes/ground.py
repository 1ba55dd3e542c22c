"""The base of every part of the live world: the pool's nodes, the right to change them, and a way to run scripts."""

from __future__ import annotations

import logging
import os
import re
import socket
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol

from fawkes.base.errors import FawkesError, HostError, NodeRefusedError
from fawkes.config.files.nodeset import fold
from fawkes.config.nodes.inventory import InventoryNode
from fawkes.core.values.model import ClusterId, NodeId
from fawkes.live.nodes.playbooks import lease as book
from fawkes.live.nodes.ssh import Result
from fawkes.live.wire.hadoop_rpc import Connect, Connection
from fawkes.playbook import Facts, Folders, Lease, Script, failure, read_facts
from fawkes.store.private import user_name

_log = logging.getLogger(__name__)
_LONGEST_NAME = 40
_OF_ANOTHER = re.compile(r"belongs to node (\S+)$")


class Shell(Protocol):
    """Runs scripts on nodes; `live.ssh.Fleet` is the real one."""

    def run(self, node: str, script: Script, deadline_s: float) -> Result:
        """The end of the script; HostError or DeadlineError when it could not be run to its end."""

    def connect(self, node: str, address: str, port: int, limit_s: float) -> Connection:
        """A connection that the node opens for us; OSError when it does not."""


@dataclass(frozen=True, slots=True)
class ControllerIdentity:
    """The identity of this controller: nodes refuse an older epoch, and another controller of the same one."""

    pool: str
    epoch: int
    controller: str


def new_controller() -> str:
    """An id that no controller has had: host, process, user, chance; `report.words.facts.controller_name` reads it."""
    host, user = _plain(socket.gethostname()) or "host", _plain(user_name(os.geteuid())) or "user"
    return f"{host}.{os.getpid()}.{user}.{uuid.uuid4().hex[:12]}"


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:_LONGEST_NAME]


class _Nodes(dict[NodeId, InventoryNode]):
    """Nodes by id; one that nobody can say how to reach is an error that names it."""

    def __missing__(self, node: NodeId) -> InventoryNode:
        hint = "Put it back into inventory.toml until `fawkes nodes` shows that it is empty"
        raise HostError("neither the inventory nor the ledger has its address", host=node, hint=hint)


def no_group(facts: Facts) -> str | None:
    """Reason why a node has no control group, by the facts of a script; "" if it has one, None if they do not say."""
    if "group" not in facts:
        return None
    return "" if facts["group"] == "yes" else facts.get("group.why") or "it did not say why"


class Ground:
    """The nodes of the pool and how scripts get there; ``names`` are all names and addresses of the nodes.

    ``threads`` is how many nodes one call of `run_on` reaches at once.
    """

    def __init__(
        self,
        nodes: Iterable[InventoryNode],
        identity: ControllerIdentity,
        shell: Shell,
        *,
        command_s: float,
        threads: int,
    ) -> None:
        self.nodes: Mapping[NodeId, InventoryNode] = _Nodes()
        self.names: Mapping[str, NodeId] = {}
        self.know(nodes)
        self.identity = identity
        self.shell = shell
        #: where the work folder of a node lies, as the ledger has it; empty: not known
        self.place_of: Callable[[NodeId], str] = lambda node: ""
        #: the starts of the ledger, for a node whose lease was not seen to be that of one of them (`Lease.starts`)
        self.starts_for: Callable[[NodeId], str] = lambda node: ""
        self.command_s = command_s
        self._most = threads

    def know(self, nodes: Iterable[InventoryNode]) -> None:
        """Takes these for the nodes of the pool from now on."""
        # Whole new tables: other threads may go through the old ones at this moment.
        self.nodes = _Nodes({NodeId(node.name): node for node in nodes})
        self.names = {
            key: node for node, facts in self.nodes.items() for key in (node, facts.address, facts.data_address)
        }

    def lease(self, node: NodeId, cluster: ClusterId, generation: int) -> Lease:
        """The right of this controller to change a node for an MR-cluster."""
        return Lease(
            node=node,
            work_dir=PurePosixPath(self.nodes[node].work_dir),
            pool=self.identity.pool,
            cluster=cluster,
            generation=generation,
            epoch=self.identity.epoch,
            controller=self.identity.controller,
            place=self.place_of(node),
            starts=self.starts_for(node),
        )

    def folders(self, node: NodeId, cluster: ClusterId) -> Folders:
        """The place where the things of an MR-cluster lie on a node."""
        return Folders(work_dir=PurePosixPath(self.nodes[node].work_dir), cluster=cluster)

    def through(self, node: NodeId) -> Connect:
        """Opens connections by way of a node: a door that knows the node's address lets them in."""

        def connect(address: str, port: int, limit_s: float, /) -> Connection:
            return self.shell.connect(node, address, port, limit_s)

        return connect

    def run(
        self, node: NodeId, script: Script, doing: str, *, within_s: float | None = None, fine: Collection[int] = ()
    ) -> Facts:
        """The facts of a script that ended with 0 or a ``fine`` exit code.

        FawkesError for any other: the node, what was being done, and why it failed.
        """
        result = self.shell.run(node, script, within_s or self.command_s)
        if result.exit != 0 and result.exit not in fine:
            _log.info("%s: %s ended with %s: %s", node, doing, result.exit, result.stderr.strip()[-2000:])
            raise self._named(failure(node, doing, result.exit, result.stderr))
        return read_facts(result.stdout)

    def _named(self, error: FawkesError) -> FawkesError:
        """The error, with other advice where the lease that was found names another node of the inventory."""
        other = _OF_ANOTHER.search(error.what)
        if isinstance(error, NodeRefusedError) and other is not None and other[1] in self.nodes:
            both = fold([error.host, other[1]])
            error.hint = f"Check the addresses in inventory.toml: `fawkes check '{both}'`. Nothing was changed there"
        return error

    def look(self, node: NodeId, script: Script, *, within_s: float | None = None) -> tuple[Facts, Result]:
        """The facts of a script that only looks, whatever its exit code."""
        result = self.shell.run(node, script, within_s or self.command_s)
        return read_facts(result.stdout), result

    def run_on(
        self,
        scripts: Mapping[NodeId, Script],
        doing: str,
        *,
        within_s: float | None = None,
        fine: Collection[int] = (),
    ) -> dict[NodeId, Facts | FawkesError]:
        """Run a script of its own on each node, so many at once; facts, or why not, for each."""

        def run(node: NodeId) -> Facts | FawkesError:
            try:
                return self.run(node, scripts[node], doing, within_s=within_s, fine=fine)
            except FawkesError as error:
                return error

        # Threads of its own: hosts that hang for one MR-cluster must not keep those of another waiting.
        most = max(1, min(self._most, len(scripts)))
        with ThreadPoolExecutor(max_workers=most, thread_name_prefix="fan") as threads:
            return dict(zip(scripts, threads.map(run, scripts), strict=True))

    def all_well(self, outcomes: Mapping[NodeId, Facts | FawkesError]) -> dict[NodeId, Facts]:
        """The facts of every node; the first error, by node, when one failed."""
        for _, outcome in sorted(outcomes.items()):
            if isinstance(outcome, FawkesError):
                raise outcome
        return {node: outcome for node, outcome in outcomes.items() if isinstance(outcome, Facts)}

    def holders(self, cluster: str, generations: Mapping[NodeId, int]) -> set[NodeId]:
        """Those nodes that the MR-cluster holds already, in these generations; FawkesError if one does not say."""
        shows = {node: book.show(PurePosixPath(self.nodes[node].work_dir)) for node in generations}
        leases = self.all_well(self.run_on(shows, "asking who holds it"))
        names = ("lease.pool", "lease.cluster", "lease.generation")
        right = {node: (self.identity.pool, cluster, str(generation)) for node, generation in generations.items()}
        return {node for node, facts in leases.items() if tuple(facts.get(name) for name in names) == right[node]}

    def addresses(self, nodes: Iterable[NodeId]) -> list[str]:
        """The addresses on which Hadoop speaks, sorted."""
        return sorted(self.nodes[node].data_address for node in nodes)
