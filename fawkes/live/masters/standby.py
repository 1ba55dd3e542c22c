"""Eyes on the second NameNode of each MR-cluster and on its journal. What follows is decided in `core.standby`."""

from __future__ import annotations

import logging
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

from fawkes.base.units import SECOND_US
from fawkes.core.values.events import StandbySeen
from fawkes.core.values.model import ClusterId, NodeId
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.hadoop import ha
from fawkes.live.hadoop.ha import NameNodePair
from fawkes.live.nodes.clusters import MOST_CLUSTERS, Clusters, LiveCluster
from fawkes.live.wire.rest import OwnFaultError, UnreadableError

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class LatestEdit:
    """The last transaction of the first NameNode, and when: that says for how long the second has been behind."""

    marks: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=1000))

    def note(self, now_s: float, txid: int) -> None:
        """The first one has come to this transaction."""
        if not self.marks or txid > self.marks[-1][1]:
            self.marks.append((now_s, txid))

    def behind_s(self, now_s: float, txid: int) -> float:
        """The time for which the first one has had something that comes after this transaction."""
        while self.marks and self.marks[0][1] <= txid:
            self.marks.popleft()
        return now_s - self.marks[0][0] if self.marks else 0.0


@dataclass(slots=True)
class _Eye:
    """The looks at one MR-cluster; ``reported`` is what was told last, without its words."""

    reported: tuple[NodeId, bool, frozenset[tuple[str, NodeId]]] | None = None
    course: LatestEdit = field(default_factory=LatestEdit)
    look: Future[None] | None = None


class StandbyWatch:
    """Looks at all MR-clusters side by side; one look at a time for each.

    A second NameNode that has been behind the first one for more than ``behind_us`` is not ready; 0: it always is.
    """

    def __init__(self, clusters: Clusters, pair: NameNodePair, mailbox: Mailbox, *, behind_us: int) -> None:
        self._clusters = clusters
        self._pair = pair
        self._mailbox = mailbox
        self._behind_s = behind_us / SECOND_US
        self._threads = ThreadPoolExecutor(max_workers=MOST_CLUSTERS, thread_name_prefix="standby")
        self._eyes: dict[ClusterId, _Eye] = {}

    def round(self) -> None:
        """Begin a look at each MR-cluster with a second NameNode whose last look has ended."""
        known = {c.id: c for c in self._clusters.all() if c.ready and c.second is not None}
        for gone in set(self._eyes) - set(known):
            del self._eyes[gone]
        for cluster in known.values():
            eye = self._eyes.setdefault(cluster.id, _Eye())
            if self._clusters.moving(cluster.id) is None and (eye.look is None or eye.look.done()):
                eye.look = self._threads.submit(self._look, cluster, eye)

    def close(self) -> None:
        """Begin no more looks."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _look(self, cluster: LiveCluster, eye: _Eye) -> None:
        try:
            if cluster.second is not None:
                self._look_at(cluster, cluster.second, eye)
        except OwnFaultError as error:
            # Nothing is known of those that could not be asked: what was told before stands.
            _log.debug("%s: its second NameNode could not be asked: %s", cluster.id, error)
        except Exception:
            _log.exception("a defect while looking at the second NameNode of %s", cluster.id)

    def _look_at(self, cluster: LiveCluster, second: NodeId, eye: _Eye) -> None:
        journal = self._pair.journal(cluster, cluster.journal)
        away = {
            ("JournalNode", at): _no_answer(seen) for at, seen in journal.items() if isinstance(seen, UnreadableError)
        }
        fault = self._fault(cluster, second, eye.course)
        ready = not fault and 2 * (len(journal) - len(away)) > len(journal)
        problems = {("second NameNode", second): fault, **away} if fault else away
        now = self._clusters.get(cluster.id)
        if now is None or now.standby is None or now.second != second or self._clusters.moving(cluster.id) is not None:
            # Something else is wanted by now: this is no answer to it.
            return
        essence = (second, ready, frozenset(problems))
        if essence != eye.reported:
            eye.reported = essence
            error = "; ".join(f"the {part} on {node} {how}" for (part, node), how in problems.items())
            _log.info("%s: its second NameNode %s: %s", cluster.id, "is ready" if ready else "is not ready", error)
            self._mailbox.tell(
                lambda at: StandbySeen(at_us=at, cluster=cluster.id, node=second, ready=ready, error=error)
            )

    def _fault(self, cluster: LiveCluster, second: NodeId, course: LatestEdit) -> str:
        """The fault of the second NameNode; empty when it is a standby that follows the first one."""
        first: ha.NameNode | None = None
        with suppress(UnreadableError):
            first = self._pair.namenode(cluster, cluster.master)
            course.note(time.monotonic(), first.txid)
        try:
            seen = self._pair.namenode(cluster, second)
        except OwnFaultError:
            raise
        except UnreadableError as error:
            return _no_answer(error)
        if seen.state != ha.STANDBY:
            return f"says that it is {seen.state}"
        if not seen.follows(first or seen):
            return "does not know yet where blocks are"
        behind_s = course.behind_s(time.monotonic(), seen.txid)
        return f"is {behind_s:.0f} s behind the first one" if self._behind_s and behind_s > self._behind_s else ""


def _no_answer(error: UnreadableError) -> str:
    """The words for a daemon of unknown standing: one whose doors are closed, or that still starts, does answer."""
    if error.status is None:
        return f"does not answer ({error.why})"
    return f"answers, but does not report its state ({error.why})"
