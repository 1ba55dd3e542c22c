"""A pool whose ledger is lost, as it was found: values, from the nodes and from the copies that are kept there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fawkes.core.values.effects import Member
from fawkes.core.values.model import ClusterSpec, JobSpec, NodeId, Standby
from fawkes.core.values.sight import Launcher


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCluster:
    """The copy of an MR-cluster that is kept on the node of its masters.

    ``loaded``: its data was loaded, so that jobs could run. ``version`` is that of its members. ``standby``: its second
    NameNode and its journal, if it has them.
    """

    spec: ClusterSpec
    master: NodeId
    version: int = 0
    loaded: bool = False
    members: Mapping[NodeId, Member] = field(default_factory=dict)
    standby: Standby | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptJob:
    """The copy of a job's declaration that is kept beside its attempt."""

    spec: JobSpec
    attempt: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundNode:
    """The word of a node about itself.

    ``cluster`` and ``generation`` are those of its lease, empty and 0 where no MR-cluster holds it. ``unknown`` is why
    nothing is known: it does not answer, or its lease is none of this pool. ``folders``: MR-clusters with a folder.
    """

    node: NodeId
    cluster: str = ""
    generation: int = 0
    unknown: str = ""
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCluster:
    """A kept copy, and on which node; ``error`` is why it cannot be read."""

    node: NodeId
    cluster: str
    kept: KeptCluster | None = None
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundJob:
    """An attempt of a job with a folder on the node of the masters, and how its launcher stands.

    ``kept`` is None without a copy that can be read. ``exit`` is how its client has ended.
    """

    cluster: str
    job: str
    attempt: int
    launcher: Launcher = Launcher.NOT_KNOWN
    exit: int | None = None
    kept: KeptJob | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """Everything that was found, and who adopts the pool."""

    by: str = ""
    nodes: tuple[FoundNode, ...] = ()
    clusters: tuple[FoundCluster, ...] = ()
    jobs: tuple[FoundJob, ...] = ()
