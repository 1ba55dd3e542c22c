"""A second NameNode and its journal are brought up while the masters go on; `core.standby` decides where.

Everything may be repeated. Nothing is formatted, and nothing is deleted: what is in the way is set aside.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from fawkes.base.errors import FawkesError, HostError
from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import ArmStandby
from fawkes.core.values.model import Facts, NodeId
from fawkes.live.base import limits
from fawkes.live.hadoop import ha
from fawkes.live.hadoop.doors import LIST, keep_newest
from fawkes.live.hadoop.ha import JournalNode
from fawkes.live.hadoop.hadoop_ha import nameservice
from fawkes.live.masters.change import Change
from fawkes.live.masters.succession import Means
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.nodes.playbooks import hadoop, lease
from fawkes.live.nodes.playbooks import standby as book
from fawkes.live.wire.rest import OwnFaultError, UnreadableError
from fawkes.playbook import Exit, Folders
from fawkes.playbook import Facts as NodeFacts

_log = logging.getLogger(__name__)


class Arming(Change):
    """One try to bring up what should be there."""

    def __init__(self, means: Means, effect: ArmStandby, cluster: LiveCluster, current: Callable[[], bool]) -> None:
        super().__init__(means, replace(cluster, master=effect.master, standby=effect.standby), current)
        self._effect = effect
        self._name = nameservice(cluster.id)

    def do(self) -> Facts | None:
        """One try; the nodes of the journal that answer. None: a newer goal came."""
        effect, cluster = self._effect, self._cluster
        second = effect.standby.node
        if second is None:
            raise FawkesError("no node was named for its second NameNode", where=cluster.id)
        if self._means.clusters.moving(cluster.id) is not None:
            raise FawkesError("its masters are being moved", where=cluster.id)
        self._need_active()
        if not self._follows(second):
            # Another one is stopped for it, and without a login it would be found unable to go on with what it has.
            self._need_login(second)
        self._means.clusters.arm(cluster.id, effect.standby)
        self._end_others(second)
        if not self._bring_up_journal() or not self._bring_up_second(second):
            return None
        return {"journal": list(self._pair.answering(cluster, effect.standby.journal))}

    def _need_active(self) -> None:
        """FawkesError unless the first NameNode works: the second one begins with what that one has."""
        state = self._pair.state(self._cluster, self._effect.master)
        if state != ha.ACTIVE:
            said = "does not answer" if state is None else f"says that it is {state}"
            raise FawkesError(f"its NameNode {said}, so no second one is brought up", where=self._cluster.id)
        others = [at for at in self._effect.standby.journal if at != self._effect.master]
        if any(self._pair.state(self._cluster, at) == ha.ACTIVE for at in others):
            # Two say so: the one that was shut out of the journal cannot do this.
            self._pair.roll(self._cluster, self._effect.master)

    def _end_others(self, second: NodeId) -> None:
        """Stop a second NameNode on another node of the journal; its folder stays, for it may be needed again."""
        others = [at for at in self._effect.standby.journal if at not in (self._effect.master, second)]
        reached = self._means.reached(self._cluster, others)
        scripts = {at: book.stop(self._right(at), ["namenode"]) for at in reached}
        self._run_on_all(scripts, "stopping another NameNode")

    # -- the journal

    def _bring_up_journal(self) -> bool:
        """Bring up the parts of the journal that are away, where their nodes are reached; False when overtaken.

        FawkesError when fewer than most of them answer at the end.
        """
        journal, cluster = self._effect.standby.journal, self._cluster
        away = self._away(journal)
        reached = self._take(away)
        begun = [at for at in reached if self._begin_journal_node(at)]
        if not self._until(begun, "journalnode", lambda: not set(begun) & set(self._away(begun))):
            return False
        if begun:
            # They take part in what is written from the next segment on.
            self._pair.roll(cluster, self._effect.master)
        if 2 * len(away := self._away(journal)) >= len(journal):
            raise FawkesError(f"most of its journal does not answer: {', '.join(away)}", where=cluster.id)
        return True

    def _tidy_journal(self) -> None:
        """Parts of the journal that list no segments, because one of them is there twice, list them again."""
        reached = self._means.reached(self._cluster, self._effect.standby.journal)
        scripts = {at: book.tidy_journal(self._right(at), self._name) for at in reached}
        for at, outcome in self._ground.run_on(scripts, "tidying the journal", within_s=limits.STEP_S).items():
            if isinstance(outcome, FawkesError):
                _log.warning("%s: %s", at, outcome)
            elif "aside" in outcome:
                _log.info("%s: its journal had a segment twice", at)

    def _away(self, nodes: Iterable[NodeId]) -> list[NodeId]:
        seen = self._pair.journal(self._cluster, nodes)
        return [at for at, journal in seen.items() if not isinstance(journal, JournalNode)]

    def _begin_journal_node(self, at: NodeId) -> bool:
        """Start a JournalNode; one without a journal gets the files of another part first. False: it cannot be yet."""
        self._prepare(at)
        if "journal" not in self._look(at) and not self._fill(at):
            return False
        self._start(at, "journalnode")
        return True

    def _fill(self, at: NodeId) -> bool:
        """Give an empty part of the journal what it is known by; the edits come from the other parts by themselves.

        What was acknowledged is on most parts of the journal, and this one has lost it. So it may count again only
        when all others have taken what is written now: a segment that begins with all of them shows that.
        """
        cluster = self._cluster
        others = [other for other in self._effect.standby.journal if other != at]
        if away := self._away(others):
            _log.warning("%s: %s has lost its journal, and %s does not answer", cluster.id, at, ", ".join(away))
            return False
        self._pair.roll(cluster, self._effect.master)
        if not self._follow_soon(others, self._pair.namenode(cluster, self._effect.master).txid):
            _log.warning("%s: %s has lost its journal, and not all others have everything", cluster.id, at)
            return False
        source = max(others, key=lambda n: (n == self._effect.master, n))
        facts = self._run(source, book.journal_files(self._folders(source), self._name), "reading the journal")
        files = {name: base64.b64decode(text) for name, text in facts.under("file").items()}
        if "VERSION" not in files:
            raise HostError("it has no journal that another part could begin with", host=source)
        self._run(at, book.begin_journal(self._right(at), self._name, files), "beginning the journal", limits.STEP_S)
        return True

    def _follow_soon(self, nodes: Collection[NodeId], txid: int) -> bool:
        """True if all these parts of the journal come to a transaction within some seconds."""

        def all_have() -> bool:
            seen = self._pair.journal(self._cluster, nodes).values()
            return all(isinstance(part, JournalNode) and (part.txid or 0) >= txid for part in seen)

        return any(all_have() for _ in self._looks(limits.FIGURES_S))

    # -- the second NameNode

    def _bring_up_second(self, second: NodeId) -> bool:
        """Bring the second NameNode up until it follows; False when overtaken.

        One that has an image of this namespace begins with it. If it cannot go on from there, that is set aside.
        """
        if self._follows(second):
            return True
        if not self._take([second]):
            raise HostError("it does not answer, so it cannot have the second NameNode", host=second)
        self._prepare(second)
        # Newer ones may have come meanwhile.
        self._write_members(second, self._effect.version, (Exit.SUPERSEDED,))
        if self._begin_with_its_own(second):
            try:
                within_s = self._effect.follow_us / SECOND_US
                return self._until([second], "namenode", lambda: self._follows(second), within_s)
            except HostError as error:
                _log.warning("%s: its second NameNode begins anew: %s", self._cluster.id, error)
        self._run(second, book.set_aside(self._right(second)), "setting a NameNode's folder aside", limits.STEP_S)
        self._tidy_journal()
        argv = self._setup.bootstrap_argv(self._cluster, second)
        env = self._setup.environment(self._cluster, second)
        self._run(
            second, hadoop.bootstrap_namenode(self._right(second), argv, env), "bringing the image", limits.IMAGE_S
        )
        self._start(second, "namenode")
        return self._until([second], "namenode", lambda: self._follows(second))

    def _begin_with_its_own(self, second: NodeId) -> bool:
        """Start the second NameNode with the image that it has; False when it has none of this namespace."""
        own, first = self._look(second).get("nn"), self._look(self._effect.master).get("nn")
        if own is None or first is None or _namespace(own) != _namespace(first):
            return False
        if self._pair.state(self._cluster, second) == ha.ACTIVE:
            # It was shut out of the journal, and does not know it yet.
            self._stop_namenode(second)
        self._start(second, "namenode")
        return True

    def _follows(self, second: NodeId, first: NodeId | None = None) -> bool:
        """True if it is a standby that has what the first one had a moment ago, and knows where blocks are."""
        try:
            before = self._pair.namenode(self._cluster, first or self._effect.master)
            follower = self._pair.namenode(self._cluster, second)
        except OwnFaultError:
            raise
        except UnreadableError as error:
            _log.debug("%s: %s", self._cluster.id, error)
            return False
        return follower.follows(before) and follower.txid >= before.txid

    # -- nodes

    def _look(self, at: NodeId) -> NodeFacts:
        """The VERSION of a NameNode's folder (``nn``) and of a journal (``journal``) on a node, where they are."""
        return self._run(at, book.look(self._folders(at), self._name), "looking at the journal")

    def _take(self, nodes: Collection[NodeId]) -> list[NodeId]:
        """The nodes that answer and take orders of this controller; the lease of one may be gone with its disk."""
        outcomes = self._ground.run_on(
            {at: lease.take(self._right(at)) for at in nodes}, "taking the node", within_s=limits.LOOK_S
        )
        for at, outcome in outcomes.items():
            if isinstance(outcome, FawkesError):
                _log.info("%s: %s", at, outcome)
        return [at for at, outcome in outcomes.items() if not isinstance(outcome, FawkesError)]

    def _prepare(self, at: NodeId) -> None:
        """Folders and configuration of a node whose disk may be empty."""
        self._make_folders(at)
        right, files = self._right(at), self._setup.files(self._cluster, at, self._cluster.members[at].role)
        self._run(at, hadoop.configure(right, files), "configuring")
        keep_newest(
            str(files[LIST]),
            lambda: self._setup.doors_list(self._means.clusters.get(self._cluster.id) or self._cluster),
            lambda text: self._run(at, hadoop.write_doors(right, text), "opening its doors"),
        )

    def _start(self, at: NodeId, daemon: str) -> None:
        self._run(at, self._starts([at], [daemon])[at], f"starting the {daemon}")

    def _stop_namenode(self, at: NodeId) -> None:
        self._need_login(at)
        self._run(at, book.stop(self._right(at), ["namenode"]), "stopping a NameNode", limits.STEP_S)

    def _folders(self, at: NodeId) -> Folders:
        return self._ground.folders(at, self._cluster.id)


def _namespace(version: str) -> dict[bytes, bytes]:
    """The namespace that a VERSION (in base64) is of; no two formats have the same."""
    rows = (line.partition(b"=") for line in base64.b64decode(version).splitlines())
    return {key: value for key, _, value in rows if key in (b"clusterID", b"namespaceID", b"blockpoolID")}
