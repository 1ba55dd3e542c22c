"""Loading the input sets of an MR-cluster and saving its outputs, each byte verified."""

from __future__ import annotations

import hashlib
import shlex
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar, cast

from fawkes.base.errors import ElsewhereError, FawkesError, HostError, NodeRefusedError, RefusedError
from fawkes.config.clusters.details import HDFS, DataSet, Output
from fawkes.config.jobs.spark import EVENTS, HISTORY, KIND
from fawkes.core.jobs import copied
from fawkes.core.jobs.copied import Compared, Files
from fawkes.core.values.effects import Load, Save
from fawkes.core.values.model import ClusterId, Facts, Plain
from fawkes.core.values.proof import NAMED
from fawkes.core.values.settings import Settings
from fawkes.live.base import limits
from fawkes.live.base.waits import Waits
from fawkes.live.data import loading, saved, saving
from fawkes.live.data.left_open import OpenFile
from fawkes.live.data.loading import StoppedError
from fawkes.live.data.saved import Unsaved, UnsavedError, unfinished
from fawkes.live.data.sources import files_below, fingerprint, source_of
from fawkes.live.eyes.no_writes import NoWrites
from fawkes.live.eyes.survey import foreign, undeclared
from fawkes.live.hadoop.setup import Setup
from fawkes.live.jobs.copies import Copies, load_job, save_job
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import hadoop
from fawkes.live.nodes.upload import Upload
from fawkes.live.wire.rest import Deadline
from fawkes.live.wire.webhdfs import Hdfs

Stop = Callable[[], bool]

_COPIED = "copied"
_NAME_LENGTH = 12

_F = TypeVar("_F", bound="_ToFolder | _ToHdfs")


@dataclass(frozen=True, slots=True)
class _Failure:
    """An output folder that was not saved, or not whole."""

    output: Output
    error: FawkesError

    def rows(self) -> Sequence[Unsaved]:
        """Its paths that are not saved."""
        if isinstance(self.error, UnsavedError):
            return self.error.unsaved
        return [Unsaved(self.output.path, str(self.error))]


@dataclass(frozen=True, slots=True)
class _ToFolder:
    """An output folder on its way to the controller's file system."""

    output: Output
    hdfs: Hdfs
    save: saving.SaveOrder

    def copy(self) -> None:
        """Copy what there is while HDFS takes writes."""
        if self.hdfs.summary(self.output.path) is not None:
            self.save.copy()

    def finish(self) -> Facts:
        """Copy the rest while it takes none; what was saved."""
        if self.hdfs.summary(self.output.path) is None:
            return {"path": self.output.path, "files": 0, "size": 0}
        return {"path": self.output.path, **asdict(self.save.run())}


@dataclass(slots=True)
class _ToHdfs:
    """An output folder on its way to another HDFS: the MR-cluster copies it itself, for which its HDFS takes writes.

    A copy is called by what it copies: after a restart the same files find the copy that was begun for them, and
    others get one of their own. A note on the folder says that the target is a copy of ours, which may be brought up
    to date; without it a folder that is there belongs to somebody. Neither a note nor DistCp proves what is at the
    target now: each try compares all files, and `core.jobs.copied` judges.
    """

    output: Output
    hdfs: Hdfs
    cluster: ClusterId
    run: Callable[[str, bool, bool], object]
    compare: Callable[[str], Compared]
    is_open: Callable[[str], bool]
    files: str = ""

    def copy(self) -> None:
        """Copy all of it that no earlier try has copied, compare all, and copy again what is missing or different."""
        self.files = self._look()
        note = self.hdfs.note(self.output.path, _COPIED) if self.files else None
        now = f"{self.files} {self.output.save_to}"
        if not self.files:
            return
        name = hashlib.sha256(now.encode()).hexdigest()[:_NAME_LENGTH]
        if note != now:
            again = note is not None and note.endswith(f" {self.output.save_to}")
            self._run(name, again)
            self.hdfs.set_note(self.output.path, _COPIED, now)
        seen = self.compare(name)
        if copied.to_copy_again(seen):
            self._run(f"{name}-again", True, fresh=True)
            seen = self.compare(name)
        if not copied.saved(seen):
            unread = unfinished(self.hdfs, self.output.path, self.is_open) if seen.unknown_here.count else []
            raise UnsavedError([*unread, Unsaved(self.output.path, self._unequal(seen))])

    def _unequal(self, seen: Compared) -> str:
        """The reason why a copy is not known to be equal, and whose move it is."""
        here, there = self.output.path, self.output.save_to
        wrong, moves = [f"files known to be equal at {there}: {seen.equal} of {seen.files}"], []
        for files, kind, folder, move in (
            (seen.missing, "missing there", "", ""),
            (seen.different, "different there", "", ""),
            (seen.unknown_there, "without a checksum there", there, "Repair that HDFS, or delete these files in it"),
            (seen.unknown_here, f"without a checksum in {here}", here, "Repair this HDFS, or delete these files in it"),
            (seen.extra, f"there, but not in {here}", there, "Move these files away, or delete them"),
        ):
            if files.count:
                wrong.append(f"{kind}: {_names(files)}")
            if files.count and move:
                path = shlex.quote(f"{folder}/{files.first[0]}")
                moves.append(f". {move} (`hdfs dfs -rm {path}`), then `fawkes retry {self.cluster}`")
        if not seen.whole:
            wrong.append("the rest was not compared")
        return "; ".join(wrong) + "".join(moves)

    def _run(self, name: str, again: bool, *, fresh: bool = False) -> None:
        try:
            self.run(name, again, fresh)
        except HostError as error:
            if not again and not error.hint:
                error.hint = f"If there is data at {self.output.save_to} already, move it away: it is not overwritten"
            raise

    def finish(self) -> Facts:
        """The facts of the copy, once the files are the same as before it and none is being written."""
        if self._look() != self.files:
            hint = "The next attempt copies what is new"
            raise FawkesError("changed while it was copied", where=self.output.path, hint=hint)
        if not self.files:
            return {"path": self.output.path, "files": 0, "size": 0}
        if unsaved := unfinished(self.hdfs, self.output.path, self.is_open):
            raise UnsavedError(unsaved)
        return {"path": self.output.path, "save_to": self.output.save_to}

    def _look(self) -> str:
        """Its files as a fingerprint; empty when there is no such folder."""
        if self.hdfs.summary(self.output.path) is None:
            return ""
        return fingerprint(files_below(self.hdfs, self.output.path))


def _names(files: Files) -> str:
    more = files.count - len(files.first)
    return f"{', '.join(files.first)}{f' and {more} more' if more > 0 else ''}{f' ({files.why})' if files.why else ''}"


def _each(folders: Iterable[_F], act: Callable[[_F], None]) -> list[_Failure]:
    """Act on each folder; what went wrong with some of them keeps no other one from it.

    A save that is stopped, or that another controller does, ends here.
    """
    failed = []
    for folder in folders:
        try:
            act(folder)
        except (StoppedError, ElsewhereError):
            raise
        except FawkesError as error:
            failed.append(_Failure(folder.output, error))
    return failed


def _error_of(
    failed: Sequence[_Failure], cluster: str, done: Sequence[Facts], named: Callable[[Unsaved], Unsaved]
) -> FawkesError:
    """One error for all failures; that of a node that refused stays as it is, for the core takes it out of service."""
    for failure in failed:
        if isinstance(failure.error, NodeRefusedError):
            return failure.error
    return UnsavedError([named(row) for failure in failed for row in failure.rows()], where=cluster, outputs=done)


def _newest(row: Mapping[str, Plain]) -> Plain:
    """The path of the newest file of a row about data that nobody declared, or of its folder."""
    files = cast(Sequence[Mapping[str, Plain]], row.get("newest") or ())
    return files[0]["path"] if files else row["path"]


def stake_row(cluster: LiveCluster, path: Plain, **facts: Plain) -> dict[str, Plain]:
    """A row about data that may be lost with an MR-cluster; what is not given is not known, and not saved."""
    row: dict[str, Plain] = {"bytes": None, "save_to": "", "saved": False, "owner": None, "files": None}
    return {"cluster": cluster.id, "path": path, **row, **facts}


class Stages:
    """Reaches `Load` and `Save` goals; both can be broken off and begun again."""

    def __init__(
        self,
        ground: Ground,
        clusters: Clusters,
        setup: Setup,
        upload: Upload,
        stopping: threading.Event,
        waits: Waits,
        *,
        settings: Settings,
        now_us: Callable[[], int],
    ) -> None:
        self._ground = ground
        self._clusters = clusters
        self._setup = setup
        self._copies = Copies(ground, setup, upload, stopping, quiet_us=settings.quiet_us, now_us=now_us)
        self._heard_us = settings.heard_us
        self._stopping = stopping
        self._waits = waits
        #: what was closed for saves, by MR-cluster and path, and was not told yet
        self._closed: dict[ClusterId, dict[str, dict[str, Plain]]] = {}
        self._writers: dict[ClusterId, dict[str, OpenFile]] = {}

    def load(self, effect: Load, current: Callable[[], bool]) -> Facts | None:
        """Files, bytes and skew of what was loaded; from then on the MR-cluster works. None: a newer goal came."""
        cluster = self._known(effect.cluster)
        masters = self._setup.masters(cluster)
        stop = self._unless(effect, current)
        self._waits.note(effect.key, effect.version, "nothing of its data moves")
        needed = [EVENTS] if KIND in cluster.details.software else []
        loading.lay_out(masters, [output.path for output in cluster.details.outputs], needed)
        if needed:
            self._begin_history(cluster)
        if cluster.details.kerberos_users:
            loading.let_in(masters, cluster.details.kerberos_users, [output.path for output in cluster.details.outputs])
        sets = [self._load_set(cluster, number, data_set, stop) for number, data_set in enumerate(cluster.details.data)]
        if not current():
            return None
        loading.mark_active(masters)
        self._clusters.mark(effect.cluster, working=True)
        return {"sets": sets}

    def _begin_history(self, cluster: LiveCluster) -> None:
        """Start Spark's history server, which ends at once where there is no folder of events."""
        at, member = cluster.master, cluster.members[cluster.master]
        daemons = [d for d in self._setup.daemons(cluster, at, member.role) if d.name == HISTORY]
        script = hadoop.start(self._ground.lease(at, cluster.id, member.generation), daemons)
        self._ground.run(at, script, "starting Spark's history server")

    def save(self, effect: Save, current: Callable[[], bool]) -> Facts | None:
        """Files and bytes of what was saved; None when a newer goal came.

        As much as can be is copied while HDFS takes writes. Then what clients hold open below the outputs is closed
        (``closed`` in the facts), HDFS takes no writes any more, what has changed meanwhile is copied, and all is
        compared. UnsavedError lists what could not be saved, in any of the folders; all the rest is. HDFS takes writes
        again after a save that did not succeed; after one that did nothing more may be written.

        What users run on YARN is looked for before HDFS refuses its writes, and once more after that: then nobody can
        start anything that needs HDFS.
        """
        cluster = self._known(effect.cluster)
        self._clusters.mark(effect.cluster, working=False)
        writes = NoWrites(
            self._ground,
            self._setup,
            cluster,
            [output.path for output in cluster.details.outputs],
            close_us=effect.close_us,
            writers=self._writers.setdefault(cluster.id, {}),
            stopping=self._stopping,
            current=current,
            waits=lambda what: self._waits.note(effect.key, effect.version, what),
        )
        goes_on = self._unless(effect, current)

        def stop() -> bool:
            writes.watch()
            return goes_on()

        writes.waits_for_outputs()
        outputs = enumerate(cluster.details.outputs)
        folders = [self._folder(cluster, number, output, writes.is_open, stop) for number, output in outputs]
        failed = self._copy(cluster, effect, folders, writes)
        try:
            done = self._finish(cluster, effect, folders, failed, writes)
        except BaseException as error:
            writes.end()
            self._closed.setdefault(cluster.id, {}).update(writes.closed())
            if isinstance(error, UnsavedError):
                error.facts = {**error.facts, **self._tell_closed(cluster)}
            raise
        self._closed.setdefault(cluster.id, {}).update(writes.closed())
        if current():
            self._writers.pop(cluster.id, None)
            return {"outputs": done, **self._tell_closed(cluster)}
        writes.end()
        return None

    def _copy(
        self, cluster: LiveCluster, effect: Save, folders: Sequence[_ToFolder | _ToHdfs], writes: NoWrites
    ) -> list[_Failure]:
        """Copy what can be copied while HDFS takes writes; what went wrong."""
        far = any(isinstance(folder, _ToHdfs) for folder in folders)
        if cluster.details.security or far:
            # DistCp writes, and so does a NameNode that makes a token; a controller that was killed may have left HDFS
            # without writes.
            writes.allow()
        for folder in folders:
            folder.hdfs.hold_token()
        if far:
            # DistCp does not copy a file that is open. Nobody is cut whose application holds the save.
            if not effect.applications:
                self._nothing_runs(cluster)
            writes.close()
        writes.look()
        return _each(folders, lambda folder: folder.copy())

    def _finish(
        self,
        cluster: LiveCluster,
        effect: Save,
        folders: Sequence[_ToFolder | _ToHdfs],
        failed: list[_Failure],
        writes: NoWrites,
    ) -> list[Facts]:
        """The outputs that were saved, while HDFS takes no writes; errors as for `save`."""
        done: list[Facts] = []
        if not effect.applications:
            self._nothing_runs(cluster)
        writes.begin()
        left = [folder for folder in folders if folder.output not in {failure.output for failure in failed}]
        failed += _each(left, lambda folder: done.append(folder.finish()))
        if failed:
            raise _error_of(failed, effect.cluster, done, writes.named)
        if not effect.undeclared:
            self._nothing_undeclared(cluster)
        if not effect.applications:
            self._nothing_runs(cluster)
        writes.check()
        return done

    def _tell_closed(self, cluster: LiveCluster) -> Facts:
        """The facts about files that were closed and not told yet; none when there are none."""
        rows = list(self._closed.pop(cluster.id, {}).values())
        return {"closed": rows[:NAMED], "closed_count": len(rows)} if rows else {}

    def _nothing_undeclared(self, cluster: LiveCluster) -> None:
        """RefusedError when somebody's data came to HDFS after the survey; now nothing can come any more."""
        rows = undeclared(Hdfs.of(self._setup.masters(cluster)), cluster, self._setup)
        if rows:
            raise RefusedError(
                "the outputs are saved, but HDFS has data that is not declared, "
                f"such as {_newest(rows[0])} of {rows[0]['owner']} (folders with such data: {len(rows)})",
                where=cluster.id,
                hint="Move it into a declared output or out of this HDFS, then `fawkes retry "
                f"{cluster.id}`; or discard it: `fawkes release {cluster.id} --discard-data`",
            )

    def _nothing_runs(self, cluster: LiveCluster) -> None:
        """RefusedError when users run applications that were not submitted to Fawkes; also when that is not known."""
        command = f"`fawkes release {cluster.id} --force`"
        try:
            rows = foreign(self._setup.masters(cluster))
        except FawkesError as error:
            raise RefusedError(
                f"the applications that users run on it are not known: {error}",
                where=cluster.id,
                hint=f"Repair its ResourceManager, or release it without knowing them: {command}",
            ) from error
        if rows:
            raise RefusedError(
                "applications that were not submitted to Fawkes still run, "
                f"such as {rows[0]['id']} of {rows[0]['user']} ({len(rows)} in all)",
                where=cluster.id,
                hint=f"It is released when they have ended; {command} kills them",
            )

    def at_stake(self, cluster: LiveCluster) -> list[dict[str, Plain]]:
        """Data of an MR-cluster that would be lost without a save, for people: first the declared outputs, then the
        rest.

        ``save_to`` is empty for what nobody declared: no save takes it along. ``bytes``, ``files`` and ``owner`` are
        None where nobody could be asked.
        """
        hdfs = Hdfs.of(self._setup.masters(cluster), patience_s=5.0, deadline=Deadline.after(limits.AT_STAKE_S))
        rows = [
            stake_row(
                cluster,
                stake.path,
                bytes=stake.size,
                save_to=stake.save_to,
                saved=stake.saved,
                owner=stake.owner,
                files=stake.files,
            )
            for stake in saved.at_stake(hdfs, cluster.details.outputs)
        ]
        for row in undeclared(hdfs, cluster, self._setup):
            rows.append(stake_row(cluster, row["path"], bytes=row["bytes"], owner=row["owner"], files=row["files"]))
        return rows

    def _unless(self, effect: Load | Save, current: Callable[[], bool]) -> Stop:
        """A function, asked between pieces of data: does the controller end, or did a newer goal come?"""

        def stop() -> bool:
            self._waits.moves(effect.key)
            return self._stopping.is_set() or not current()

        return stop

    def _load_set(self, cluster: LiveCluster, number: int, data_set: DataSet, stop: Stop) -> Mapping[str, object]:
        load = loading.LoadRun(
            masters=self._setup.masters(cluster),
            core=cluster.core,
            target=data_set.to,
            block_bytes=cluster.details.block_size_bytes,
            replication=cluster.spec.replication,
            replicas_us=self._heard_us,
            stop=stop,
        )
        if data_set.source.startswith(HDFS):
            load.begin()
            self._copies.run(cluster, f"load-{number}", load_job(data_set.source, data_set.to), stop)
            loaded = load.look()
        else:
            loaded = load.run(source_of(data_set.source, self._ground.nodes[cluster.master].user))
        return {"to": data_set.to, **asdict(loaded)}

    def _folder(
        self, cluster: LiveCluster, number: int, output: Output, is_open: Callable[[str], bool], stop: Stop
    ) -> _ToFolder | _ToHdfs:
        hdfs, target = Hdfs.of(self._setup.masters(cluster)), Path(output.save_to)
        if output.local:
            save = saving.SaveOrder(hdfs=hdfs, output=output.path, target=target, stop=stop, is_open=is_open)
            return _ToFolder(output, hdfs, save)
        source = f"{self._setup.default_fs(cluster)}{output.path}"

        def copy(name: str, again: bool, fresh: bool) -> None:
            job = (load_job if again else save_job)(source, output.save_to)
            self._copies.run(cluster, f"save-{number}-{name}", job, stop, fresh=fresh)

        def compare(name: str) -> Compared:
            return self._copies.compare(cluster, f"save-{number}-{name}", source, output.save_to, stop)

        return _ToHdfs(output, hdfs, cluster.id, copy, compare, is_open)

    def _known(self, name: str) -> LiveCluster:
        cluster = next((known for known in self._clusters.all() if known.id == name), None)
        if cluster is None:
            raise FawkesError(f"{name} is not running")
        return cluster
