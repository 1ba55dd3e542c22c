"""One move of masters: the data of the old ones, or the kept copy, is brought to the new node.

The point of no return is the mark in the NameNode's folder of the new node, written right before its NameNode starts.
"""

from __future__ import annotations

import logging
import mmap
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from fawkes.base.errors import FawkesError, HostError, SiteError
from fawkes.core.jobs.displaced import NEWEST
from fawkes.core.values.effects import MoveMasters
from fawkes.core.values.model import Facts, NodeId, Plain
from fawkes.live.base import limits
from fawkes.live.clusters.given import Given
from fawkes.live.edits import edit_log, stamps
from fawkes.live.edits.kept_copy import KeptCopy, MastersDataError
from fawkes.live.edits.stamps import leap_of
from fawkes.live.eyes import history
from fawkes.live.eyes.measure import is_ours
from fawkes.live.jobs import half_done
from fawkes.live.masters.handover import Handover
from fawkes.live.masters.lost_writes import find, named
from fawkes.live.masters.succession import GoneError, MastersStanding, Means, StayError, UntouchedError
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.nodes.playbooks import hadoop
from fawkes.live.nodes.playbooks import moving as book
from fawkes.live.nodes.playbooks import standby as pair
from fawkes.live.wire import masters
from fawkes.live.wire.masters import MasterAddresses, YarnApplication
from fawkes.live.wire.rest import Deadline
from fawkes.live.wire.webhdfs import Hdfs

_log = logging.getLogger(__name__)
_MAPREDUCE = "MAPREDUCE"


@dataclass(frozen=True, slots=True)
class _Brought:
    """The data of the new masters: its last transaction, and up to when it has everything (None: nothing lacks).

    ``stamp`` and ``pool``: newer blocks of this block pool are not in it.
    """

    txid: int
    copied_us: int | None
    stamp: int | None = None
    pool: str = ""


class DataHandover(Handover):
    """One try to move masters by the data of the old ones, or by the kept copy."""

    def __init__(self, means: Means, effect: MoveMasters, before: LiveCluster, current: Callable[[], bool]) -> None:
        # What was copied is the data of one NameNode: a journal ends with such a move.
        super().__init__(means, effect, before, replace(before, master=effect.to, standby=None), current)
        self._note = Given(effect.version, effect.to, before.members[effect.to].generation)
        self._brought: _Brought | None = None
        self._standing = MastersStanding("", None)

    def _end_journal(self, nodes: Iterable[NodeId]) -> None:
        """End the journal, and a second NameNode: what the journal has is another history than that of the copy."""
        journal = [at for at in nodes if at in self._before.journal]
        scripts = {at: pair.end_journal(self._right(at), namenode=at != self._old) for at in journal}
        self._run_on_all(scripts, "ending the journal")

    # -- before the point of no return

    def _begun(self) -> bool:
        """True if an earlier try has brought the data to the new node, where the NameNode may have taken files."""
        notes, name, nothing = self._means.copies.given, self._before.id, replace(self._note, begun=False)
        given, untouched = notes.has(name, self._note), notes.has(name, nothing)
        # Without a note a disk that was lost cannot say what was on it.
        if self._to not in self._reached and not ((given or untouched) and self._take(self._to)):
            raise self._without_it(untouched=untouched)
        self._brought = self._look(given=given)
        if self._brought is None and not (given or untouched):
            notes.put(name, nothing)
        return self._brought is not None

    def _without_it(self, *, untouched: bool) -> FawkesError:
        """The error of a try whose new node does not answer; masters that can go on where they were do so.

        Only where it is noted that the new node is ``untouched``: others may have taken files there.
        """
        name, old = self._before.id, self._old
        error = HostError(f"it does not answer, so it cannot run the masters of {name}", host=self._to)
        if not untouched:
            return error
        if not self._effect.planned:
            return UntouchedError(error)
        standing, objection = self._means.standing(self._before, old), None
        if standing.state not in ("answers", "unknown"):
            objection = self._no_source(standing)
            if objection is None and self._take(old):
                self._go_back(error)
        return objection or StayError(f"{self._to} does not answer, so its masters stay on {old}", where=name)

    def _no_source(self, standing: MastersStanding) -> StayError | None:
        """The reason why masters that somebody wants elsewhere cannot be moved without loss; None when they can."""
        if standing.state != "silent" and standing.image is True:
            return None
        why = "does not answer" if standing.state == "silent" else "has no readable image of the NameNode"
        silent = standing.state != "answers"
        return StayError(f"it {why}, so its masters cannot be moved without loss", where=self._old, silent=silent)

    def _look(self, *, given: bool) -> _Brought | None:
        """The data that an earlier try brought to the new node; None when it did not come to its point of no return.

        GoneError when it did, and its data is gone: the NameNode there may have taken files.
        """
        facts = self._run(self._to, book.look(self._right(self._to)), "looking at the masters", limits.STEP_S)
        image = facts.get("image")
        if given and image != "yes":
            if image == "no":
                raise GoneError(f"it was given the masters of {self._before.id}, and their data is gone", host=self._to)
            raise HostError("its disk does not tell whether it has the data of its masters", host=self._to)
        here = (facts.get("moved.from"), facts.number("moved.version")) == (self._old, self._effect.version)
        if not here or image != "yes":
            return None
        txid, stamp = facts.number("moved.txid") or 0, facts.number("moved.stamp")
        return _Brought(txid, facts.number("moved.copied_us"), stamp, facts.get("moved.pool", ""))

    def _go_on(self) -> None:
        if self._old != self._to:
            self._stop_old()
        self._end_journal(at for at in self._reached if at != self._old)
        self._tell(self._cluster)

    def _may_begin(self) -> None:
        self._standing = self._means.standing(self._before, self._old)
        if self._standing.state == "answers" and not self._effect.planned:
            raise StayError("its masters answer, so they stay where they are", where=self._before.id)
        if self._standing.state == "unknown":
            error = SiteError("it is not known whether its masters still run", where=self._before.id)
            raise UntouchedError(error) from error
        if self._effect.planned and (objection := self._no_source(self._standing)):
            raise objection
        try:
            self._build([*self._reached, *([] if self._standing.state == "silent" else [self._old])])
        except FawkesError as error:
            if self._effect.planned:
                raise StayError(f"its masters stay on {self._old}: {error}", where=self._before.id) from error
            raise UntouchedError(error) from error

    def _hand_over(self) -> None:
        """Stop the old masters, put their data on the new node, tell the members; what is planned goes back if not."""
        effect, means, name = self._effect, self._means, self._before.id
        # Only now: masters that answer need their journal.
        self._end_journal(at for at in self._reached if at != self._old)
        try:
            copy, whole = self._data(self._standing)
            if not self._current():
                raise FawkesError("a newer goal came", where=name)
            means.copies.place(copy, self._to, self._right(self._to))
            self._tell(self._cluster)
            # The KDC may have gone away meanwhile, and then the new masters could only lose what the old ones have.
            self._need_login(self._to)
            means.copies.given.put(name, self._note)
        except FawkesError as error:
            if effect.planned:
                self._go_back(error)
                raise StayError(f"its masters stay on {self._old}: {error.what}", where=name) from error
            raise UntouchedError(error) from error
        self._brought = self._mark(_Brought(copy.transaction, None if whole else copy.copied_us), copy)

    def _data(self, standing: MastersStanding) -> tuple[KeptCopy, bool]:
        """The copy that the new masters get, and whether it has everything; the old ones are stopped if they can be."""
        copies, name = self._means.copies, self._before.id
        copy = copies.newest(name)
        if standing.state != "silent":
            self._stop_old()
            if standing.image is True and not self._effect.from_copy:
                return copies.top_up(name, self._old), True
        if copy is not None and standing.image is True:
            # What the old disk has beyond the copy is taken along as far as it can be read; that may not be all.
            with suppress(MastersDataError):
                copy = replace(copies.top_up(name, self._old), copied_us=copy.copied_us)
        if copy is None:
            _, _, at = self._means.copied(self._before, self._reached)
            if at is None:
                raise FawkesError("there is no copy of the data of its masters", where=name)
            copy = copies.fetch(name, NodeId(at))
        return copy, False

    def _go_back(self, why: FawkesError) -> None:
        """Start the masters on their old node again: nothing was begun elsewhere."""
        _log.warning("%s: its masters stay on %s: %s", self._before.id, self._old, why)
        try:
            with suppress(SiteError):
                # Where nothing new can be built, what lies there is theirs.
                self._tell(self._before)
            starts = self._starts([self._old], hadoop.DAEMONS, self._before)
            self._run(self._old, starts[self._old], "starting the masters again")
        except FawkesError as error:
            raise UntouchedError(error) from why

    def _mark(self, brought: _Brought, copy: KeptCopy) -> _Brought:
        """The point of no return. What may lack its last edits gets numbers for blocks that nobody has used."""
        facts: dict[str, str | int] = {"from": self._old, "version": self._effect.version, "txid": brought.txid}
        right = self._right(self._to)
        if brought.copied_us is None:
            script = book.arrived(right, facts)
        else:
            edits, image, stamp = skipping(copy.files, copy.transaction, self._effect.version)
            brought = replace(brought, stamp=stamp, pool=copy.origin.block_pool)
            facts |= {"copied_us": brought.copied_us or 0, "stamp": stamp, "pool": brought.pool}
            changes = [book.ends_with(tail.name, tail.size, tail.at, tail.data) for tail in (image, edits)]
            script = book.arrived(right, facts, changes)
        self._run(self._to, script, "noting where the masters came from")
        return brought

    # -- from the point of no return on

    def _lead(self) -> None:
        """Have DataNodes leave the old NameNode, then start the masters on the new node, and NodeManagers on all."""
        # Blocks of the moments that a copy lacks are told by `_lost_writes`: nothing is deleted for some time.
        self._careful = self._brought is not None and self._brought.copied_us is not None
        # Before the new NameNode takes files: an old one that nobody can stop keeps no DataNode that was reached.
        self._lead_datanodes(self._storing(self._reached))
        names = set(hadoop.DAEMONS) - {"datanode"}
        self._start([*self._computing(), self._to], names, "starting daemons")

    def _lead_datanodes(self, storing: Collection[NodeId]) -> None:
        """DataNodes leave the old NameNode for the new one as they run; one that does not is started again.

        So are those that had two NameNodes. As they run they would drop the name of the pair only when the last of
        the two was found to be silent, and with it the blocks that they serve to the new one by then.
        """
        address = self._ground.nodes[self._to].data_address
        for at in storing if self._before.standby is None else ():
            if self._lead_datanode(at):
                with suppress(FawkesError):
                    script = book.following(self._right(at), ["datanode"], address)
                    self._run(at, script, "noting its masters")
        self._start(storing, ["datanode"], "starting DataNodes")

    def _settle(self) -> Facts:
        """End what cannot go on, look at every file, and make the old node a plain member."""
        brought, addresses = self._brought or _Brought(0, None), self._setup.masters(self._cluster)
        finished, ended, gone = self._end_applications(addresses)
        # No container has survived: the writers are gone.
        files = self._files(addresses, gone)
        # Before the old node's data is set aside; its DataNode and its logs stay where they are.
        lost = self._lost_writes(brought, addresses)
        if self._old in self._reached:
            self._end_journal([self._old])
            if self._old != self._to:
                script = book.retire(self._right(self._old))
                self._run(self._old, script, "setting data aside", limits.STEP_S)
        return {
            "txid": brought.txid,
            "copied_us": brought.copied_us,
            "reached": sorted(self._reached),
            **files,
            "finished": finished,
            "ended": ended,
            **lost,
        }

    def _lost_writes(self, brought: _Brought, addresses: MasterAddresses) -> Facts:
        """The facts on what the copy lacked, by its traces; empty where the new masters have everything."""
        if brought.stamp is None or not brought.pool:
            return {}
        storing = {at: at in self._reached for at in self._storing(self._cluster.members)}
        skipped = leap_of(self._effect.version)
        lost = find(self._ground, self._cluster.id, storing, brought.pool, brought.stamp, skipped)
        return named(lost, addresses)

    def _end_applications(self, addresses: MasterAddresses) -> tuple[list[Plain], list[Plain], list[str]]:
        """Ids of applications that have succeeded, rows of those that could not go on, and ids of all that have ended.

        No ApplicationMaster has survived. One whose history says that it succeeded, or whose output is committed, is
        finished, whatever the ResourceManager recovered; a second attempt of it would run its work again. The output
        of others is set aside, for it would be in the way of the job that begins again.
        """
        known = masters.all_applications(addresses, Deadline.after(limits.ANSWER_S), tag="")
        newest = [app for app in known if is_ours(app)][-NEWEST:]
        finished = [app.id for app in newest if app.succeeded or self._has_finished(addresses, app)]
        ended: list[Plain] = []
        for app in (app for app in known if not app.ended):
            if app.id not in finished:
                ended.append({"id": app.id, "name": app.name, "user": app.user, **_tags(app)})
                self._set_aside(addresses, app)
            self._kill(app)
        return list(finished), ended, [app.id for app in known]

    def _set_aside(self, addresses: MasterAddresses, app: YarnApplication) -> None:
        """Set the output of a job aside that begins again; where that fails the job will say what is in its way."""
        if not is_ours(app) or app.kind != _MAPREDUCE:
            return
        try:
            hdfs = Hdfs.of(addresses, patience_s=limits.ORDER_S)
            if aside := half_done.set_aside(hdfs, half_done.staging(app, self._setup.settings(self._cluster))):
                _log.info("%s: the unfinished output of %s is in %s", self._cluster.id, app.id, aside)
        except FawkesError as error:
            _log.warning("%s: the unfinished output of %s is still there: %s", self._cluster.id, app.id, error)

    def _has_finished(self, addresses: MasterAddresses, app: YarnApplication) -> bool:
        """True if an application succeeded that was cut off, or was ended by an earlier try."""
        if app.kind != _MAPREDUCE or (app.ended and app.state != "KILLED"):
            return False
        if history.succeeded(addresses, app.id, Deadline.after(limits.ANSWER_S)):
            return True
        return half_done.committed(Hdfs.of(addresses), half_done.staging(app, self._setup.settings(self._cluster)))

    def _kill(self, app: YarnApplication) -> None:
        cluster = self._cluster
        order = self._setup.kill_order(cluster, app.id)
        self._give("kill", order, lambda: self._setup.kill_argv(cluster, app.id))


def _tags(app: YarnApplication) -> dict[str, Plain]:
    """The tags by which the ledger knows whose job it was."""
    return {"tags": list(app.tags)} if is_ours(app) else {}


# --- Changes of a kept copy after which its NameNode gives out no number again; see `live.stamps`


@dataclass(frozen=True, slots=True)
class Tail:
    """A file of a copy, which has ``size`` bytes, is to have ``data`` from the byte ``at`` on, and to end there."""

    name: str
    size: int
    at: int
    data: bytes


def skipping(folder: Path, last: int, version: int) -> tuple[Tail, Tail, int]:
    """The operations after the last one, the image with other counters, and the newest generation stamp until now.

    ``folder`` has the files of a NameNode up to transaction ``last``; the move has a ``version``. FawkesError when
    they cannot be read.
    """
    names = [path.name for path in folder.iterdir()]
    image, segments = edit_log.newest_image(names), edit_log.needed(names)
    try:
        if image is None or segments is None:
            raise ValueError("the copy has no image")
        name = edit_log.image_name(image)
        with (folder / name).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            now = stamps.stamps_of(data)
            for segment in segments:
                now = stamps.after(now, (folder / segment.name).read_bytes()[stamps.HEADER.size :])
            end, counters = stamps.with_generation(data, now.generation + stamps.leap_of(version))
            other = Tail(name, len(data), end, counters)
    except (OSError, ValueError) as error:
        raise FawkesError(f"the copy of the NameNode's data cannot be read: {error}", where=str(folder)) from error
    edits = stamps.leap(now, last, version)
    if segments and segments[-1].last is None:
        size = (folder / segments[-1].name).stat().st_size
        return Tail(segments[-1].name, size, size, edits), other, now.generation
    begun = stamps.HEADER.pack(now.layout, 0) + edits
    return Tail(edit_log.open_name(last + 1), 0, 0, begun), other, now.generation
