"""Copies of the masters' data, all the time: to the controller's state folder, and on from there to another core node.

Facts alone: how old a copy may be, and what follows when copying does not work, is the core's to judge.
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from fawkes.core.events import CopySeen
from fawkes.core.model import ClusterId, NodeId
from fawkes.errors import FawkesError
from fawkes.live import kept_copy
from fawkes.live.clusters import MOST_CLUSTERS, Clusters, LiveCluster
from fawkes.live.copying import Copier
from fawkes.live.fleet import Fleet
from fawkes.live.ground import Ground
from fawkes.live.kept_copy import CopyFolder, KeepError, KeptCopy
from fawkes.live.mailbox import Mailbox
from fawkes.live.placing import Placing
from fawkes.live.second_copy import SecondCopy, Snapshot
from fawkes.playbook import Lease

_log = logging.getLogger(__name__)


class _Kept:
    """What is remembered of one MR-cluster's copies."""

    def __init__(self) -> None:
        #: the controller's copy; whoever uses it holds `lock`
        self.copy: CopyFolder | None = None
        self.second: SecondCopy | None = None
        self.lock = threading.Lock()
        self.second_lock = threading.Lock()
        #: the node whose data the copy was compared with in this run
        self.compared: NodeId | None = None
        self.holds = 0
        self.problems: dict[str, str] = {}
        self.told: str | None = None


class Keeper:
    """Keeps the copies of all MR-clusters. `round` returns at once, and no MR-cluster waits for another one's nodes."""

    def __init__(self, ground: Ground, clusters: Clusters, fleet: Fleet, mailbox: Mailbox, folder: Path) -> None:
        """``folder`` is the one of the controller's state in which each MR-cluster's copy has a folder."""
        self._ground = ground
        self._clusters = clusters
        self._fleet = fleet
        self._mailbox = mailbox
        self._folder = folder
        self._lock = threading.Lock()
        self._known: dict[ClusterId, _Kept] = {}
        self._copier = Copier(ground, fleet, mailbox.clock.now_us)
        self._placing = Placing(ground, fleet)
        self._threads = ThreadPoolExecutor(max_workers=2 * MOST_CLUSTERS, thread_name_prefix="keep")

    def round(self) -> None:
        """Copy what is new of each MR-cluster that is ready; one whose last round goes on is left alone."""
        for cluster in self._clusters.all():
            if cluster.master in cluster.members:
                self._threads.submit(self._logged, self._round, cluster)

    def newest(self, cluster: ClusterId) -> KeptCopy | None:
        """The controller's copy; None: there is none of this MR-cluster that a NameNode could start from."""
        kept = self._of(cluster)
        try:
            with kept.lock:
                return self._copy(cluster, kept).copy()
        except KeepError as error:
            _log.warning("%s", error)
            return None

    def top_up(self, cluster: ClusterId, old: NodeId) -> KeptCopy:
        """The controller's copy with all that the masters on ``old`` have; they must be stopped, or frozen.

        FawkesError when the node does not answer, or does not have the data of this MR-cluster.
        """
        kept = self._of(cluster)
        with kept.lock:
            folder = self._copy(cluster, kept)
            brought = self._copier.bring(folder, cluster, old, compare=True)
            folder.note(brought.at_us, changed=True)
            copy = folder.copy()
        if copy is None:
            raise KeepError("transactions are missing in the data of its masters", where=cluster)
        return copy

    def place(self, copy: KeptCopy, node: NodeId, lease: Lease) -> None:
        """Put a copy into the folders of the NameNode and the ResourceManager of another node; safe to repeat.

        What lies there is set aside. RefusedError while a NameNode runs there, or when the node has blocks of another
        MR-cluster; HostError when it cannot be written.
        """
        with self._of(ClusterId(lease.cluster)).lock:
            self._placing.place(copy, node, lease)

    def second(self, cluster: ClusterId, node: NodeId) -> int | None:
        """Up to when (us) the second copy on a node has everything; None: there is none of this MR-cluster.

        HostError when the node does not answer.
        """
        kept = self._of(cluster)
        with kept.lock:
            self._copy(cluster, kept)
        assert kept.second is not None
        return kept.second.copied_us(node, cluster)

    def fetch(self, cluster: ClusterId, node: NodeId) -> KeptCopy:
        """The second copy on a node becomes the controller's, whose own is set aside; for a state folder that was lost.

        KeepError when there is none of this MR-cluster, or it is not whole; HostError when the node does not answer.
        """
        kept, fetched = self._of(cluster), self._folder / f".{cluster}.fetched"
        with kept.lock:
            copy = self._copy(cluster, kept)
            assert kept.second is not None
            kept.second.fetch(node, cluster, fetched)
            found = CopyFolder(fetched, copy.cluster_id).copy()
            if found is None:
                shutil.rmtree(fetched, ignore_errors=True)
                raise KeepError(f"there is no whole second copy of {cluster}", where=node)
            copy.replace(fetched)
            kept.copy = kept.compared = None
            taken = self._copy(cluster, kept).copy()
        if taken is None:
            raise KeepError(f"the second copy of {cluster} is not whole", where=node)
        return taken

    @contextmanager
    def held(self, cluster: ClusterId) -> Iterator[None]:
        """No rounds meanwhile: while masters move, two nodes have the data of a NameNode."""
        kept = self._of(cluster)
        with self._lock:
            kept.holds += 1
        try:
            # A round that is under way ends first.
            with kept.lock:
                kept.compared = None
            yield
        finally:
            with self._lock:
                kept.holds -= 1

    def remove(self, cluster: ClusterId) -> None:
        """The MR-cluster is gone for good: nobody needs its copy."""
        kept = self._of(cluster)
        with kept.lock:
            kept.copy = None
            kept_copy.remove(self._folder / cluster)
        with self._lock:
            self._known.pop(cluster, None)

    def clear(self, gone: Callable[[ClusterId], bool]) -> None:
        """Remove copies that an earlier run left behind; ``gone`` says whether an MR-cluster is gone for good."""
        for path in self._folder.glob("[!.]*"):
            if gone(ClusterId(path.name.removesuffix(kept_copy.BEFORE))):
                shutil.rmtree(path, ignore_errors=True)

    def close(self) -> None:
        """Copy nothing any more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _of(self, cluster: ClusterId) -> _Kept:
        with self._lock:
            return self._known.setdefault(cluster, _Kept())

    def _copy(self, cluster: ClusterId, kept: _Kept) -> CopyFolder:
        """The controller's copy, taken up from the disk the first time."""
        if kept.copy is None:
            kept.copy = CopyFolder(self._folder / cluster, f"{self._ground.identity.pool}-{cluster}")
            kept.second = SecondCopy(kept.copy, self._ground, self._fleet)
        return kept.copy

    def _logged(self, do: Callable[[LiveCluster], None], cluster: LiveCluster) -> None:
        try:
            do(cluster)
        except Exception:
            _log.exception("a defect while keeping the data of %s", cluster.id)

    def _round(self, cluster: LiveCluster) -> None:
        kept = self._of(cluster.id)
        if kept.holds or not kept.lock.acquire(blocking=False):
            return
        snapshot = None
        try:
            folder = self._copy(cluster.id, kept)
            if not cluster.ready:
                # Its NameNode is yet to be formatted: what there is belongs to an earlier one of this name.
                folder.set_aside()
                return
            snapshot = self._bring(cluster, kept, folder)
            problem = ""
        except FawkesError as error:
            problem = str(error)
        finally:
            kept.lock.release()
        self._tell(cluster.id, kept, "copy", problem)
        if snapshot is not None and cluster.copy_on is not None:
            self._threads.submit(self._logged, lambda one: self._push(one, kept, snapshot), cluster)
        elif cluster.copy_on is None:
            self._tell(cluster.id, kept, "second", "")

    def _bring(self, cluster: LiveCluster, kept: _Kept, folder: CopyFolder) -> Snapshot | None:
        master = cluster.master
        brought = self._copier.bring(folder, cluster.id, master, compare=kept.compared != master)
        kept.compared = master
        if not brought.running:
            # What lies there may be what another NameNode has continued elsewhere.
            raise KeepError("the NameNode is not running, so there is nothing new to copy", where=master)
        folder.note(brought.at_us, changed=brought.changed)
        return Snapshot.of(folder)

    def _push(self, cluster: LiveCluster, kept: _Kept, snapshot: Snapshot) -> None:
        node, second = cluster.copy_on, kept.second
        if node is None or second is None or node not in cluster.members:
            return
        if not kept.second_lock.acquire(blocking=False):
            return
        try:
            second.push(snapshot, node, self._ground.lease(node, cluster.id, cluster.members[node].generation))
            problem = ""
        except FawkesError as error:
            problem = f"the second copy: {error}"
        finally:
            kept.second_lock.release()
        self._tell(cluster.id, kept, "second", problem)

    def _tell(self, cluster: ClusterId, kept: _Kept, which: str, problem: str) -> None:
        """Post how copying works, when that is news."""
        with self._lock:
            kept.problems[which] = problem
            error = "; ".join(filter(None, kept.problems.values()))
            news = kept.told is None or bool(kept.told) != bool(error)
            kept.told = error
        if news:
            _log.info("%s: copies of the masters' data: %s", cluster, error or "work")
            self._mailbox.tell(lambda at: CopySeen(at_us=at, cluster=cluster, error=error))
