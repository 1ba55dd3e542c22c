"""Copies of the masters' data, all the time: to the controller's state folder, and on from there to another core node.

Facts alone: how old a copy may be, and what follows when copying does not work, is the core's to judge.
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fawkes.base.errors import FawkesError, RefusedError
from fawkes.core.clusters.keeping import KeepRules, is_news
from fawkes.core.values.events import CopySeen
from fawkes.core.values.model import ClusterId, NodeId
from fawkes.live.base import limits
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.clusters.given import GivenNotes
from fawkes.live.data.copying import Copier
from fawkes.live.data.second_copy import SecondCopy, Snapshot
from fawkes.live.edits import edit_log, kept_copy
from fawkes.live.edits.kept_copy import CopyFolder, KeepError, KeptCopy, archive_of, md5_of
from fawkes.live.hadoop.setup import Setup
from fawkes.live.nodes.clusters import MOST_CLUSTERS, Clusters, LiveCluster
from fawkes.live.nodes.fleet import Fleet
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import kept as book
from fawkes.playbook import Lease

_log = logging.getLogger(__name__)


class _Kept:
    """The copies of one MR-cluster, as they are remembered.

    A round that hangs on a node holds ``lock`` until its deadline: for who cannot wait for that there is `Keeper.held`.
    """

    def __init__(self, copy: CopyFolder, second: SecondCopy) -> None:
        self.copy = copy
        self.second = second
        self.lock = threading.Lock()
        self.second_lock = threading.Lock()
        #: the node whose data the copy was compared with in this run
        self.compared: NodeId | None = None


@dataclass(slots=True)
class _CopyNews:
    """The last news of the copies of an MR-cluster and its time, and the fault of each of them now."""

    error: str | None = None
    at_us: int = 0
    problems: dict[str, str] = field(default_factory=dict)


class Keeper:
    """Keeps the copies of all MR-clusters. `round` returns at once, and no MR-cluster waits for another one's nodes."""

    def __init__(
        self,
        ground: Ground,
        clusters: Clusters,
        fleet: Fleet,
        mailbox: Mailbox,
        folder: Path,
        setup: Setup | None = None,
        rules: KeepRules | None = None,
    ) -> None:
        """``folder`` is the one of the controller's state in which each MR-cluster's copy has a folder.

        With ``setup`` the NameNode gets new images. These and the second copy are made when ``rules`` say so.
        """
        self._setup = setup
        self._rules = rules or KeepRules()
        self._image_tried: dict[ClusterId, int] = {}
        self._ground = ground
        self._clusters = clusters
        self._fleet = fleet
        self._mailbox = mailbox
        self._folder = folder
        self.given = GivenNotes(folder)
        self._lock = threading.Lock()
        self._known: dict[ClusterId, _Kept] = {}
        self._reported: dict[ClusterId, _CopyNews] = {}
        self._holds: Counter[ClusterId] = Counter()
        self._closed = False
        self._copier = Copier(ground, fleet, mailbox.clock.now_us)
        self._threads = ThreadPoolExecutor(max_workers=2 * MOST_CLUSTERS, thread_name_prefix="keep")

    def round(self) -> None:
        """Copy what is new of each MR-cluster that is ready; one whose last round goes on is left alone."""
        for cluster in self._clusters.all():
            if cluster.master in cluster.members:
                self._begin(self._round, cluster)

    def newest(self, cluster: ClusterId) -> KeptCopy | None:
        """The controller's copy; None: there is none of this MR-cluster that a NameNode could start from.

        Never waits for a node.
        """
        try:
            return self._of(cluster).copy.copy()
        except KeepError as error:
            _log.warning("%s", error)
            return None

    def top_up(self, cluster: ClusterId, old: NodeId) -> KeptCopy:
        """The controller's copy with all that the masters on ``old`` have; they must be stopped, or frozen.

        HostError when the node does not answer. KeepError when it does not have the data of this MR-cluster, or what it
        has does not continue the copy. The copy stays as it was then.
        """
        with self.held(cluster) as kept:
            brought = self._copier.bring(kept.copy, cluster, old, compare=True, afresh=False)
            kept.copy.note(brought.at_us, changed=True)
            copy = kept.copy.copy()
        if copy is None:
            raise KeepError("transactions are missing in the data of its masters", where=cluster)
        return copy

    def place(self, copy: KeptCopy, node: NodeId, lease: Lease) -> None:
        """Put a copy into the folders of the NameNode and the ResourceManager of another node; safe to repeat.

        What lies there is set aside. RefusedError while a NameNode runs there, or when the node has blocks of another
        MR-cluster; HostError when it cannot be written.
        """
        with self.held(ClusterId(lease.cluster)):
            self._place(copy, node, lease)

    def second(self, cluster: ClusterId, node: NodeId) -> int | None:
        """Up to when (us) the second copy on a node has everything; None: there is none of this MR-cluster.

        HostError when the node does not answer.
        """
        return self._of(cluster).second.copied_us(node, cluster)

    def fetch(self, cluster: ClusterId, node: NodeId) -> KeptCopy:
        """The second copy on a node becomes the controller's, whose own is set aside; for a state folder that was lost.

        KeepError when there is none of this MR-cluster, or it is not whole; HostError when the node does not answer.
        """
        fetched = self._folder / f".{cluster}{kept_copy.FETCHED}"
        with self.held(cluster) as kept:
            kept.second.fetch(node, cluster, fetched)
            if CopyFolder(fetched, kept.copy.cluster_id).copy() is None:
                shutil.rmtree(fetched, ignore_errors=True)
                raise KeepError(f"there is no whole second copy of {cluster}", where=node)
            kept.copy.replace(fetched)
            with self._lock:
                del self._known[cluster]
            taken = self._of(cluster).copy.copy()
        if taken is None:
            raise KeepError(f"the second copy of {cluster} is not whole", where=node)
        return taken

    @contextmanager
    def held(self, cluster: ClusterId) -> Iterator[_Kept]:
        """No rounds meanwhile: while masters move, two nodes have the data of a NameNode.

        A round that is under way, and may hang on a node, is not waited for: it writes nothing any more.
        """
        before = self._of(cluster)
        with self._lock:
            self._holds[cluster] += 1
            kept = self._known[cluster] = self._kept(before.copy.give_up())
        try:
            yield kept
        finally:
            with self._lock:
                self._holds[cluster] -= 1

    def remove(self, cluster: ClusterId) -> None:
        """The MR-cluster is gone for good: nobody needs its copy."""
        with self.held(cluster) as kept, self._lock:
            kept.copy.give_up()
            self.given.remove(cluster)
            kept_copy.remove(self._folder / cluster)
            self._known.pop(cluster, None)
            self._reported.pop(cluster, None)

    def clear(self, needed: Callable[[ClusterId], bool]) -> None:
        """Remove the copies of MR-clusters for which ``needed`` is false, whichever run has made them."""
        for cluster in sorted(kept_copy.clusters_in(self._folder) | self.given.clusters()):
            if not needed(cluster):
                self.remove(cluster)

    def close(self) -> None:
        """Copy nothing any more."""
        with self._lock:
            self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _of(self, cluster: ClusterId) -> _Kept:
        """The copies of an MR-cluster, taken up from the disk the first time."""
        with self._lock:
            if cluster not in self._known:
                name = f"{self._ground.identity.pool}-{cluster}"
                self._known[cluster] = self._kept(CopyFolder(self._folder / cluster, name))
            return self._known[cluster]

    def _kept(self, copy: CopyFolder) -> _Kept:
        return _Kept(copy, SecondCopy(copy, self._ground, self._fleet))

    def _begin(self, do: Callable[[LiveCluster], None], cluster: LiveCluster) -> None:
        def logged() -> None:
            try:
                do(cluster)
            except Exception:
                _log.exception("a defect while keeping the data of %s", cluster.id)

        with self._lock:
            if not self._closed:
                self._threads.submit(logged)

    def _round(self, cluster: LiveCluster) -> None:
        if self._holds[cluster.id]:
            return
        try:
            kept = self._of(cluster.id)
        except KeepError as error:
            self._tell(cluster.id, "copy", str(error))
            return
        # After the copy was taken up: one that retires meanwhile gives it up.
        if self._clusters.get(cluster.id) is None or not kept.lock.acquire(blocking=False):
            return
        snapshot, problem = None, ""
        try:
            if not cluster.ready:
                # Its NameNode is yet to be formatted: what there is belongs to an earlier one of this name.
                kept.copy.set_aside()
                return
            snapshot = self._bring(cluster, kept)
        except FawkesError as error:
            problem = str(error)
        finally:
            kept.lock.release()
        if self._known.get(cluster.id) is kept:
            self._tell(cluster.id, "copy", problem)
            self._go_on(cluster, kept, snapshot)

    def _go_on(self, cluster: LiveCluster, kept: _Kept, snapshot: Snapshot | None) -> None:
        """Begin the second copy or a new image when it is due, once the controller's copy is up to date."""
        if cluster.copy_on is None:
            self._tell(cluster.id, "second", "")
        elif snapshot is not None and self._rules.second_due(snapshot.copied_us, kept.second.noted_us):
            self._begin(lambda cluster: self._push(cluster, kept, snapshot), cluster)
        # A second NameNode makes images by itself, and Hadoop takes none from anybody else then.
        if self._setup is not None and cluster.standby is None and self._image_due(cluster, kept):
            self._begin(self._checkpoint, cluster)

    def _image_due(self, cluster: LiveCluster, kept: _Kept) -> bool:
        """True if to try now to make a new image; the attempt is noted."""
        at_us = self._mailbox.clock.now_us()
        with self._lock:
            due = self._rules.image_due(kept.copy.edits_bytes(), at_us, self._image_tried.get(cluster.id))
            if due := due and (cluster.copy_on or cluster.master) in cluster.members:
                self._image_tried[cluster.id] = at_us
        return due

    def _bring(self, cluster: LiveCluster, kept: _Kept) -> Snapshot | None:
        master, folder = cluster.master, kept.copy
        brought = self._copier.bring(folder, cluster.id, master, compare=kept.compared != master)
        kept.compared = master
        if not brought.running:
            # What lies there may be what another NameNode has continued elsewhere.
            raise KeepError("the NameNode is not running, so there is nothing new to copy", where=master)
        folder.note(brought.at_us, changed=brought.changed)
        return Snapshot.of(folder)

    def _push(self, cluster: LiveCluster, kept: _Kept, snapshot: Snapshot) -> None:
        node, second = cluster.copy_on, kept.second
        if node is None or node not in cluster.members:
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
        if self._known.get(cluster.id) is kept:
            self._tell(cluster.id, "second", problem)

    def _checkpoint(self, cluster: LiveCluster) -> None:
        """Have a new image made, where its memory is not the masters' if there is another core node."""
        setup, node = self._setup, cluster.copy_on or cluster.master
        if setup is None:
            return
        try:
            lease = self._ground.lease(node, cluster.id, cluster.members[node].generation)
            argv, env = setup.checkpoint_argv(cluster, node), setup.environment(cluster, node)
            self._ground.run(node, book.checkpoint(lease, argv, env), "making an image", within_s=limits.CHECKPOINT_S)
            _log.info("%s: an image was made for its NameNode on %s", cluster.id, node)
        except FawkesError as error:
            _log.warning("%s: no new image for its NameNode: %s", cluster.id, error)

    def _tell(self, cluster: ClusterId, which: str, problem: str) -> None:
        """Post how copying works, when that is news."""
        with self._lock:
            reported = self._reported.setdefault(cluster, _CopyNews())
            reported.problems[which] = problem
            error = "; ".join(filter(None, reported.problems.values()))
            at_us = self._mailbox.clock.now_us()
            news = is_news(reported.error, error, at_us - reported.at_us)
            if news:
                reported.error, reported.at_us = error, at_us
        if news:
            level = logging.WARNING if error else logging.INFO
            _log.log(level, "%s: copies of the masters' data: %s", cluster, error or "they work")
            self._mailbox.tell(lambda at: CopySeen(at_us=at, cluster=cluster, error=error))

    # --- a copy into the folders of the NameNode and the ResourceManager of another node, whole or not at all

    def _place(self, copy: KeptCopy, node: NodeId, lease: Lease) -> None:
        facts = self._ground.run(node, book.before_placing(lease.folders), "looking at the folder of the NameNode")
        if facts.get("placed") == copy.mark():
            return
        pools = set(facts.all("pool"))
        if pools and copy.origin.block_pool not in pools:
            raise RefusedError(
                f"its DataNode has blocks of {', '.join(sorted(pools))}, and the copy is of {copy.origin.block_pool}",
                where=node,
                hint="The copy belongs to another MR-cluster. Nothing was written to this node",
            )
        try:
            self._put(copy, node, lease)
        except OSError as error:
            raise KeepError(f"the copy cannot be read ({error.strerror or error})", where=str(copy.folder)) from error

    def _put(self, copy: KeptCopy, node: NodeId, lease: Lease) -> None:
        names = copy.names()
        segments = edit_log.segments(names)
        image = edit_log.image_name(copy.image)
        checksum = (copy.files / f"{image}.md5").read_text()
        # The image was compared with its checksum file when it came, and may be large.
        sums = {each.name: md5_of(copy.files / each.name) for each in segments} | {image: checksum.partition(" ")[0]}
        texts = {
            "VERSION": (copy.files / "VERSION").read_text(),
            # The one of the masters may speak of a segment that was begun after the copy.
            "seen_txid": f"{segments[-1].first if segments else copy.image}\n",
            f"{image}.md5": checksum,
        }
        state = archive_of(copy.state)
        facts = self._ground.run(
            node, book.stage(lease, texts, sums, state), "preparing the copy", within_s=limits.PLACE_S
        )
        own = set(facts.all("own"))
        for name in names:
            if name not in own:
                with (copy.files / name).open("rb") as file:
                    path = lease.folders.nn.with_name(f"{lease.folders.nn.name}.placing") / "current" / name
                    self._fleet.put(node, file, path, mode=0o600, lease=lease, deadline_s=limits.IMAGE_S)
        sent = {name: md5 for name, md5 in sums.items() if name not in own}
        self._ground.run(node, book.place(lease, sent, copy.mark()), "placing the copy", within_s=limits.PLACE_S)
