"""HDFS without writes, for the last step of a save: what clients hold open is closed before, and then nothing changes.

A file that is open when HDFS goes into safe mode stays open, and nobody can say what is in it. So the leases of those
below the outputs are recovered before: what HDFS has acknowledged to a client is in its file then, and the client
cannot write on. A client may come in between: then HDFS takes writes once more, for its file to be closed as well.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from fawkes.base.errors import FawkesError
from fawkes.base.units import SECOND_US, show_duration
from fawkes.core.values.model import Plain
from fawkes.core.values.proof import NAMED
from fawkes.live.base import limits
from fawkes.live.data.left_open import LeftOpen, OpenFile
from fawkes.live.data.loading import StoppedError
from fawkes.live.data.saved import Unsaved
from fawkes.live.hadoop.ha import NameNode, NameNodePair
from fawkes.live.hadoop.orders import give
from fawkes.live.hadoop.setup import Setup
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import hadoop
from fawkes.live.wire.rest import Deadline, UnreadableError
from fawkes.live.wire.webhdfs import Hdfs

_log = logging.getLogger(__name__)
_FREEZE, _THAW = "hdfs-freeze", "hdfs-thaw"


class NoWrites:
    """Keeps writes away from HDFS while ``outputs`` are saved, and knows which of their files were closed for that.

    Files get ``close_us`` to be closed each time; 0: they are left as they are. ``writers`` are the files that earlier
    tries found open, by path: HDFS names no client any more once it has begun to close one.
    """

    def __init__(
        self,
        ground: Ground,
        setup: Setup,
        cluster: LiveCluster,
        outputs: Sequence[str],
        *,
        close_us: int,
        writers: dict[str, OpenFile],
        stopping: threading.Event,
        current: Callable[[], bool],
        waits: Callable[[str], None],
    ) -> None:
        """``current``: nobody wants something else meanwhile; ``waits`` is told what the save waits for."""
        self._ground, self._setup, self._cluster = ground, setup, cluster
        self._outputs = outputs
        self._close_us = close_us
        self._writers = writers
        self._stopping = stopping
        self._current = current
        self._waits = waits
        self._left_open = LeftOpen(ground, setup, cluster)
        self._pair = NameNodePair(ground, setup)
        #: a controller that was killed may have left HDFS without writes
        self._takes_writes = False
        self._closing: dict[str, OpenFile] = {}
        self._left: dict[str, OpenFile] = {}
        self._refused: Mapping[str, str] = {}
        self._frozen: NameNode | None = None
        self._looked_s = -math.inf

    def close(self) -> None:
        """Close what is open, while HDFS takes writes; it may last too long, and others may come."""
        self._close(Deadline.after(self._close_us / SECOND_US))

    def waits_for_outputs(self) -> None:
        """The save waits for nothing but the bytes of the outputs."""
        self._waits("nothing of its outputs moves")

    def look(self) -> None:
        """See what is open at this moment, for `is_open`."""
        self._opened()

    def is_open(self, path: str) -> bool:
        """True if a file was open at the last look: nobody need ask a DataNode for it, which may not answer."""
        return path in self._left

    def begin(self) -> None:
        """HDFS takes no writes from now on, and none of the files is open, or it has lasted too long to close some.

        FawkesError when something else lets HDFS take writes again.
        """
        deadline = Deadline.after(self._close_us / SECOND_US)
        while True:
            self._close(deadline)
            self._order(_FREEZE)
            self._takes_writes = False
            if not self._opened() or deadline.left() <= 0:
                break
        self._frozen = self._look()
        if self._frozen.safe:
            raise self._written()

    def end(self) -> None:
        """Let HDFS take writes again; where that fails, the next try of the save begins without them all the same."""
        self._frozen = None
        try:
            self.allow()
        except FawkesError as error:
            _log.warning("%s: HDFS may still refuse writes: %s", self._cluster.id, error)

    def allow(self) -> None:
        """HDFS takes writes from now on."""
        self._order(_THAW)
        self._takes_writes = True

    def check(self) -> None:
        """FawkesError when HDFS took writes since the beginning, or does not say."""
        self._looked_s = time.monotonic()
        now = self._look()
        if self._frozen is not None and (now.safe or now.txid != self._frozen.txid):
            raise self._written()

    def watch(self) -> None:
        """FawkesError once HDFS is seen to take writes, however long a save takes."""
        if self._frozen is not None and time.monotonic() - self._looked_s >= limits.STILL_EVERY_S:
            try:
                self.check()
            except UnreadableError as error:
                # The end needs an answer; a NameNode that is busy may owe one until then.
                _log.info("%s: %s", self._cluster.id, error)

    def closed(self) -> dict[str, dict[str, Plain]]:
        """The files that were closed, by path: ``path``, ``bytes``, ``client`` and ``host``.

        ``bytes`` is None where it is not known, as of a file that was removed, and of all files but the first.
        """
        masters = self._setup.masters(self._cluster)
        hdfs = Hdfs.of(masters, patience_s=limits.ANSWER_S, deadline=Deadline.after(limits.ANSWER_S))
        files = [file for path, file in sorted(self._closing.items()) if path not in self._left]
        return {
            file.path: {
                "path": file.path,
                "bytes": _size(hdfs, file.path) if number < NAMED else None,
                "client": file.writer,
                "host": self._host(file),
            }
            for number, file in enumerate(files)
        }

    def named(self, unsaved: Unsaved) -> Unsaved:
        """The same, with the client of a file that could not be closed."""
        file = self._left.get(unsaved.path)
        if file is None:
            return unsaved
        who = f"{file.writer} on {self._host(file)}" if file.writer else f"a client on {self._host(file)} that is gone"
        why = self._refused.get(file.path, "")
        within = show_duration(self._close_us)
        more = f": {why}" if why else ""
        return Unsaved(file.path, f"is still open for {who}, and HDFS did not close it within {within}{more}")

    def _close(self, deadline: Deadline) -> None:
        asked_s: dict[str, float] = {}
        while opened := self._opened():
            now_s = time.monotonic()
            due = [f for path, f in opened.items() if now_s - asked_s.get(path, -math.inf) >= limits.CLOSE_AGAIN_S]
            if due:
                if not self._takes_writes:
                    self.allow()
                self._refused = {**self._refused, **self._left_open.close(due)}
                asked_s.update((file.path, now_s) for file in due)
                self._closing |= {file.path: file for file in due}
            if self._stopping.is_set() or not self._current():
                raise StoppedError("the save was stopped", where=self._cluster.id)
            if deadline.left() <= 0:
                return
            path, file = next(iter(opened.items()))
            self._waits(f"HDFS has not closed {path} of a client on {self._host(file)}")
            self._stopping.wait(limits.LOOK_EVERY_S)
        self.waits_for_outputs()

    def _opened(self) -> dict[str, OpenFile]:
        """The open files below the outputs; those of a NameNode that does not list them have no checksum later on."""
        if not self._close_us:
            return {}
        try:
            files = [file for output in self._outputs for file in self._left_open.below(output)]
        except FawkesError as error:
            _log.warning("%s: open files are not known: %s", self._cluster.id, error)
            # None of them is said to be closed.
            self._left = dict(self._closing)
            return {}
        self._writers.update((file.path, file) for file in files if file.writer)
        self._left = {file.path: self._writers.get(file.path, file) for file in files}
        return self._left

    def _look(self) -> NameNode:
        return self._pair.namenode(self._cluster, self._cluster.master)

    def _written(self) -> FawkesError:
        return FawkesError(
            "something else than Fawkes let HDFS take writes while its outputs were compared",
            where=self._cluster.id,
            hint="End what sends `hdfs dfsadmin -safemode leave`; the next attempt compares them again",
        )

    def _host(self, file: OpenFile) -> str:
        return self._setup.masters(self._cluster).name(file.host)

    def _order(self, which: str) -> None:
        """Tell the NameNode whether it takes writes."""
        cluster, master = self._cluster, self._cluster.master

        def by_client() -> None:
            right = self._ground.lease(master, cluster.id, cluster.members[master].generation)
            commands = {which: self._setup.refresh_argv(cluster, which)}
            script = hadoop.order(right, commands, self._setup.environment(cluster, master))
            self._ground.run(master, script, "telling HDFS whether it takes writes")

        give(self._ground, cluster, self._setup.order(cluster, which), by_client)


def _size(hdfs: Hdfs, path: str) -> int | None:
    try:
        status = hdfs.status(path)
    except FawkesError:
        return None
    return None if status is None else status.size
