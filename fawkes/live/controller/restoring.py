"""The look before a restore from a kept copy: what would come back, and what not. Nothing is begun here.

The copy is read on the node that would get the masters, in a folder of its own. Blocks are looked for on the disks of
all members that answer. A block that was not found is not known to be gone: a node that is silent may have it.
"""

from __future__ import annotations

import logging
import tarfile
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import BinaryIO, cast

from fawkes.base.errors import FawkesError, HostError, RefusedError, UserError
from fawkes.core.nodes.salvage import BlockStamp, Fate, NamespaceComparison, Replicas, Salvage
from fawkes.core.values.effects import LookAtMasters
from fawkes.core.values.model import ClusterId, Facts, NodeId, Plain, Role
from fawkes.live.base import limits
from fawkes.live.controller.control import Query
from fawkes.live.edits import edit_log
from fawkes.live.edits.edit_log import Namespace
from fawkes.live.edits.image_xml import ImageReader
from fawkes.live.edits.kept_copy import KeptCopy
from fawkes.live.hadoop.setup import Setup
from fawkes.live.masters.keeping import Keeper
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.nodes.fleet import Fleet
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import restoring as book
from fawkes.playbook import Lease, failure

_log = logging.getLogger(__name__)

#: beginning and ending a segment of edits: what a NameNode adds when it saves its namespace
_OF_THE_MERGE = 2
_STAND_STILL = ("stopped", "runs")


class Restorer:
    """Answers ``GET /restore`` and ``GET /copies``; see `answer` and `copies`."""

    def __init__(
        self,
        ground: Ground,
        clusters: Clusters,
        setup: Setup,
        fleet: Fleet,
        copies: Keeper,
        look: Callable[[LookAtMasters], Facts],
        now: Callable[[], int],
    ) -> None:
        """``look`` takes a fresh look at masters; ``now`` is the controller's time (us)."""
        self._ground = ground
        self._clusters = clusters
        self._setup = setup
        self._fleet = fleet
        self._copies = copies
        self._look = look
        self._now = now
        self._lock = threading.Lock()
        self._busy: set[ClusterId] = set()

    def queries(self) -> dict[str, Query]:
        """Queries for `ControlServer`: ``restore`` (`answer`) and ``copies[?cluster=]`` (`copies`)."""
        return {"restore": self.answer, "copies": self.copies}

    def copies(self, parameters: Mapping[str, str]) -> Plain:
        """A row for each MR-cluster with masters, or the one that is asked for: how old the controller's copy is.

        ``age_us`` None: there is no copy that a NameNode could start from.
        """
        rows: list[Plain] = []
        for cluster in self._clusters.all():
            if parameters.get("cluster") in (None, cluster.id):
                copy = self._copies.newest(cluster.id)
                age_us = None if copy is None else max(0, self._now() - copy.copied_us)
                rows.append({"cluster": cluster.id, "age_us": age_us})
        return rows

    def answer(self, parameters: Mapping[str, str]) -> Plain:
        """The pieces: ``{"doing": TEXT}``, and at last ``{"found": FACTS}``.

        RefusedError while the masters answer, without a copy, for a copy of another MR-cluster, and while somebody
        else asks the same; UserError for a node that cannot have the masters; HostError when that cannot be used.
        """
        cluster = self._clusters.get(ClusterId(parameters.get("cluster", "")))
        if cluster is None:
            raise UserError(f"{parameters.get('cluster', '')!r} is not an MR-cluster with masters", where="cluster")
        to = NodeId(parameters.get("to", ""))
        member = cluster.members.get(to)
        if member is None or member.role is not Role.CORE or not self._ground.nodes[to].may_core:
            hint = f"Its core nodes are {', '.join(cluster.core)}"
            raise UserError(f"{to!r} is not a core node of {cluster.id}", where="to", hint=hint)
        return self._pieces(cluster, to)

    def _pieces(self, cluster: LiveCluster, to: NodeId) -> Iterator[Plain]:
        with self._alone(cluster.id):
            yield {"doing": f"asking the members of {cluster.id} and its masters on {cluster.master}"}
            seen = self._look(LookAtMasters(cluster.id, cluster.version, cluster.master, to))
            _check(cluster, seen)
            facts: dict[str, Plain] = {key: seen.get(key) for key in ("old", "image", "copied_us", "txid", "reached")}
            facts |= {"cluster": cluster.id, "master": cluster.master, "to": to, "now_us": self._now()}
            if seen.get("old") in _STAND_STILL and seen.get("image") is True:
                yield {"found": {**facts, "files": []}}
                return
            copy = self._copy(cluster, seen.get("copy_at"))
            facts["copied_us"] = copy.copied_us
            storing = [n for n, m in sorted(cluster.members.items()) if m.role is not Role.TRANSIENT]
            reached = {*cast("list[NodeId]", seen.get("reached") or []), *_own(cluster, seen)}
            listed = [n for n in storing if n in reached]
            yield {"doing": f"listing the blocks on {len(listed)} of {len(storing)} nodes that store data"}
            replicas, read = self._blocks(cluster, listed, copy.origin)
            yield {"doing": f"reading the copy on {to}"}
            salvage, transaction = self._read(cluster, to, copy, replicas)
            silent: list[Plain] = [n for n in storing if n not in read]
            yield {"found": {**facts, **_rows(salvage), "txid": transaction, "silent": silent}}

    @contextmanager
    def _alone(self, cluster: ClusterId) -> Iterator[None]:
        with self._lock:
            if cluster in self._busy:
                raise RefusedError("somebody else looks at its kept copy at this moment", where=cluster)
            self._busy.add(cluster)
        try:
            yield
        finally:
            with self._lock:
                self._busy.discard(cluster)

    def _copy(self, cluster: LiveCluster, at: Plain) -> KeptCopy:
        """The controller's copy, as its disk has it now; without one the second is fetched from its node ``at``."""
        copy = self._copies.newest(cluster.id)
        if copy is None and isinstance(at, str) and at in cluster.members:
            copy = self._copies.fetch(cluster.id, NodeId(at))
        if copy is None:
            raise RefusedError(
                "there is no kept copy of its masters' data",
                where=cluster.id,
                hint="Nothing was changed. Bring the disk of the masters' node back, or give the MR-cluster up: "
                f"`fawkes release {cluster.id} --discard-data --force`",
            )
        try:
            there = edit_log.origin((copy.files / "VERSION").read_text(errors="replace"))
        except OSError as error:
            raise FawkesError(f"the copy cannot be read ({error.strerror})", where=str(copy.folder)) from error
        if there != copy.origin:
            owner = "nothing that is known" if there is None else f"{there.cluster} (block pool {there.block_pool})"
            raise RefusedError(
                f"the kept copy is of {owner} now, not of {copy.origin.cluster} (block pool {copy.origin.block_pool})",
                where=str(copy.folder),
                hint="No node was changed",
            )
        return copy

    def _blocks(self, cluster: LiveCluster, nodes: list[NodeId], origin: Namespace) -> tuple[Replicas, list[NodeId]]:
        """The replicas on nodes, and the nodes that could be read; RefusedError for blocks of another namespace."""

        def blocks_of(node: NodeId) -> tuple[Replicas, frozenset[str]] | HostError:
            script = book.blocks(self._ground.folders(node, cluster.id), origin.block_pool)
            listed = BlockList(node)
            try:
                result = self._fleet.run(node, script, limits.BLOCK_LIST_S, sink=cast(BinaryIO, listed))
                return listed.end() if result.exit == 0 else HostError(result.stderr.strip()[-200:], host=node)
            except HostError as error:
                return error

        with ThreadPoolExecutor(max(1, len(nodes)), thread_name_prefix="blocks") as threads:
            answers = dict(zip(nodes, threads.map(blocks_of, nodes), strict=True))
        whole: set[BlockStamp] = set()
        begun: set[int] = set()
        for node, each in answers.items():
            if isinstance(each, HostError):
                _log.info("%s", each)
                continue
            replicas, pools = each
            if pools and origin.block_pool not in pools:
                raise RefusedError(
                    f"it has blocks of {', '.join(sorted(pools))}, and the kept copy is of {origin.block_pool}",
                    where=node,
                    hint="The copy is of an earlier MR-cluster of this name. No node was changed",
                )
            whole |= replicas.whole
            begun |= replicas.begun
        return Replicas(whole, begun), [n for n, each in answers.items() if not isinstance(each, HostError)]

    def _read(self, cluster: LiveCluster, to: NodeId, copy: KeptCopy, replicas: Replicas) -> tuple[Salvage, int]:
        """The files of the copy against the replicas, and its last transaction."""
        right = self._ground.lease(to, cluster.id, cluster.members[to].generation)
        merge, viewer = (self._setup.offline_argv(cluster, to, program) for program in ("namenode", "oiv"))
        env = self._setup.environment(cluster, to)
        try:
            with tempfile.TemporaryFile() as packed:
                _pack(copy, packed)
                self._fleet.run(to, book.receive(right), limits.MERGE_S, stdin=packed).check("bringing the copy")
            merged = self._ground.run(to, book.merge(right, merge, env), "reading the copy", within_s=limits.MERGE_S)
            comparison = NamespaceComparison(replicas)
            image = ImageReader(comparison.add)
            script = book.as_xml(right.folders, merged.get("image", ""), viewer, env)
            result = self._fleet.run(to, script, limits.MERGE_S, sink=cast(BinaryIO, image))
            if result.exit != 0:
                raise failure(to, "reading the image", result.exit, result.stderr)
            transaction = image.end().transaction - _OF_THE_MERGE
            return comparison.outcome(image.paths()), transaction
        finally:
            self._drop(to, right)

    def _drop(self, node: NodeId, right: Lease) -> None:
        try:
            self._ground.run(node, book.drop(right), "removing what was read")
        except FawkesError as error:
            _log.warning("the copy that was read stays until the next look: %s", error)


def _check(cluster: LiveCluster, seen: Facts) -> None:
    """RefusedError unless the masters are seen not to answer."""
    old = seen.get("old")
    if old == "answers":
        raise RefusedError(
            "its masters answer, so there is nothing to restore",
            where=cluster.id,
            hint="Nothing was changed. `fawkes move-masters` moves masters that answer",
        )
    if old != "silent" and old not in _STAND_STILL:
        hint = f"Nothing was changed. Try again; `fawkes explain --cluster {cluster.id}` says more"
        raise RefusedError("it is not known whether its masters still run", where=cluster.id, hint=hint)


def _own(cluster: LiveCluster, seen: Facts) -> list[NodeId]:
    """The masters' own node stores data as well; none when it does not answer."""
    return [cluster.master] if seen.get("old") in _STAND_STILL else []


def _pack(copy: KeptCopy, into: BinaryIO) -> None:
    """A tar of the files of a copy, from its begin."""
    try:
        with tarfile.open(fileobj=into, mode="w") as tar:
            for path in sorted(copy.files.iterdir()):
                if path.is_file() and not path.name.endswith(".new"):
                    tar.add(path, arcname=path.name, recursive=False)
    except OSError as error:
        raise FawkesError(f"the copy cannot be read ({error.strerror or error})", where=str(copy.folder)) from error
    into.seek(0)


def _rows(salvage: Salvage) -> dict[str, Plain]:
    """A row for each fate, and the blocks that no file has."""
    rows: list[Plain] = [
        {
            "fate": fate.value,
            "files": share.files,
            "bytes": share.size,
            "named": [
                {"path": file.path, "bytes": file.size, "missing": file.missing, "blocks": file.blocks}
                for file in share.named
            ],
        }
        for fate, share in ((each, salvage.shares[each]) for each in Fate)
    ]
    return {"files": rows, "strangers": salvage.strangers}


# --- The blocks that nodes have on their disks, as `playbooks/restoring.py` lists them, without asking any DataNode


class BlockList:
    """Takes the list of one node, packed by gzip, in pieces. `write` never fails; `end` tells what was wrong."""

    def __init__(self, node: NodeId) -> None:
        self._node = node
        self._unpack = zlib.decompressobj(wbits=31)
        self._rest = b""
        self._whole: set[BlockStamp] = set()
        self._begun: set[int] = set()
        self._pools: set[str] = set()
        self._complete = False
        self._problem = ""

    def write(self, data: bytes) -> int:
        """Take the next bytes."""
        if not self._problem:
            try:
                *lines, self._rest = (self._rest + self._unpack.decompress(data)).split(b"\n")
                for line in lines:
                    self._line(line.decode().split())
            except (zlib.error, ValueError, IndexError) as error:
                self._problem = f"{type(error).__name__}: {error}"
        return len(data)

    def end(self) -> tuple[Replicas, frozenset[str]]:
        """The replicas, and the block pools that the node has; HostError when the list is not whole."""
        if not self._problem and not (self._complete and self._unpack.eof):
            self._problem = "the list ends too early, or a folder could not be read"
        if self._problem:
            raise HostError(f"its blocks could not be listed ({self._problem})", host=self._node)
        return Replicas(self._whole, self._begun), frozenset(self._pools)

    def _line(self, words: list[str]) -> None:
        match words:
            case ["F", number, stamp, size]:
                self._whole.add(BlockStamp(int(number), int(stamp), int(size)))
            case ["B", number]:
                self._begun.add(int(number))
            case ["P", pool]:
                self._pools.add(pool)
            case ["E"]:
                self._complete = True
            case _:
                raise ValueError(f"a line of an unknown form: {' '.join(words)!r}")
