"""Parts of the live world that a test plays itself: nodes whose scripts it ends, a clock that it sets, own hands."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Self

from fawkes.base.errors import FawkesError
from fawkes.config.clusters.details import ClusterDetails, JobDetails
from fawkes.config.nodes.inventory import InventoryNode
from fawkes.core.values.effects import Goal, Member, StartJob
from fawkes.core.values.model import ClusterId, ClusterSpec, NodeId, Role
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.base.timers import Clock
from fawkes.live.controller.world import Hands, LiveWorld
from fawkes.live.hadoop.doors import LIST
from fawkes.live.hadoop.setup import Setup
from fawkes.live.kerberos.keytab import TicketError
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.nodes.ground import ControllerIdentity, Ground
from fawkes.live.nodes.upload import Command, Upload
from fawkes.live.wire.hadoop_rpc import SaslSession
from fawkes.live.wire.masters import MasterAddresses
from fawkes.live.wire.rest import Key
from fawkes.playbook import Facts, Script
from playbooks.hadoop import Daemon
from tests.support.local_nodes import LocalFleet, node_of


def live_cluster(
    name: str,
    master: NodeId,
    members: Mapping[NodeId, Member] | None = None,
    details: ClusterDetails | None = None,
    **standing: Any,
) -> LiveCluster:
    """An MR-cluster, of its masters' node alone where no members are given."""
    details = details or ClusterDetails()
    spec = ClusterSpec(id=ClusterId(name), min_nodes=1, replication=1, details=details.plain())
    return LiveCluster(spec, details, master, core(master) if members is None else members, **standing)


def core(*nodes: NodeId) -> dict[NodeId, Member]:
    """Core nodes that serve."""
    return {node: Member(Goal.SERVING, Role.CORE, 1) for node in nodes}


class PlayedGround(Ground):
    """Nodes whose scripts a test plays in `played`; their leases, folders and addresses are real."""

    def __init__(self, *nodes: str | InventoryNode, **facts: Any) -> None:
        facts = {"work_dir": "/srv/fawkes", **facts}
        known = [node_of(node, Path("/")) if isinstance(node, str) else node for node in nodes]
        known = [replace(node, **facts) for node in known]
        super().__init__(known, ControllerIdentity("pool", 1, "controller"), LocalFleet([]), command_s=60, threads=1)

    def run(
        self, node: NodeId, script: Script, doing: str, *, within_s: float | None = None, fine: Collection[int] = ()
    ) -> Facts:
        return self.played(node, script, doing)

    def played(self, node: NodeId, script: Script, doing: str) -> Facts:
        """The end of a script; it did nothing."""
        return Facts([])


class NoTicket:
    """The login of a controller whose KDC is away."""

    key, fingerprint = "the-key", ""

    def header(self) -> str:
        raise TicketError("the KDC gave no ticket: Cannot contact any KDC", where="keytabs/c-1.keytab")


class PlayedSetup(Setup):
    """The set-up of an MR-cluster whose masters answer at ``url``; it has no files and no daemons."""

    url = "http://127.0.0.1:1"
    #: how the controller shows who it is
    key: Key = ""
    no_keytab = False
    #: the tickets of the controller are good, and nobody gets a new one
    no_kdc = False

    def __init__(self) -> None:
        """Without releases and doors."""

    def masters(self, cluster: LiveCluster) -> MasterAddresses:
        return MasterAddresses(resource_manager=self.url, namenode=self.url, user="root", key=self.key)

    def check(self, cluster: LiveCluster, nodes: Sequence[NodeId]) -> None:
        if self.no_kdc:
            raise TicketError("the KDC gave no ticket: Cannot contact any KDC", where="keytabs/c-1.keytab")

    def make_sound(self, cluster: LiveCluster, nodes: Mapping[NodeId, int]) -> dict[NodeId, tuple[str, ...]]:
        return {}

    def java_home(self, cluster: LiveCluster, node: NodeId) -> str:
        return "/usr"

    def files(self, cluster: LiveCluster, node: NodeId, role: Role) -> dict[str, str | bytes]:
        return {LIST: self.doors_list(cluster)}

    def doors_list(self, cluster: LiveCluster) -> str:
        return "".join(f"{node}\n" for node in sorted(cluster.members) if node not in cluster.shut_out)

    def daemons(self, cluster: LiveCluster, node: NodeId, role: Role) -> list[Daemon]:
        return []

    def environment(self, cluster: LiveCluster, node: NodeId) -> dict[str, str]:
        return {}

    def settings(self, cluster: LiveCluster) -> dict[str, dict[str, str]]:
        return {"mapred-site": {"yarn.app.mapreduce.am.staging-dir": "/staging"}, "yarn-site": {}}

    def session(self, cluster: LiveCluster) -> SaslSession | None:
        return None

    def address(self, cluster: LiveCluster) -> str:
        return cluster.master

    def _login(self, cluster: LiveCluster) -> None:
        """Without Kerberos there is none."""

    def refresh_argv(self, cluster: LiveCluster, which: str) -> list[str]:
        return ["/bin/true", which]

    def job_command(self, cluster: LiveCluster, effect: StartJob, details: JobDetails) -> Command:
        return Command(["true"], {}, {})


#: RpcResponseHeaderProto with its lengths: callId 0, status SUCCESS
CARRIED_OUT = b"\0\0\0\x05\x04\x08\0\x10\0"


class Call:
    """One call over Hadoop RPC: ``order`` gets what was sent, and gives the answer."""

    def __init__(self, order: Callable[[bytes], bytes]) -> None:
        self._order, self._left = order, b""

    def sendall(self, data: bytes) -> None:
        self._left = self._order(data)

    def recv(self, nbytes: int) -> bytes:
        piece, self._left = self._left[:nbytes], self._left[nbytes:]
        return piece

    def settimeout(self, timeout: float | None) -> None:
        """It answers at once."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left open."""


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
