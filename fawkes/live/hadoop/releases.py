"""The needs of MR-clusters and jobs in this machine's cache: looked up before anything is admitted.

A piece that the cache has lost since is fetched again. Whoever needs it is told so and does not wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fawkes.base.errors import FawkesError, UserError
from fawkes.config.clusters.details import KERBEROS, ClusterDetails, JobDetails
from fawkes.config.jobs import arrays, spark
from fawkes.core.state.state import State
from fawkes.core.values.events import Event, Requested, Submitted
from fawkes.core.values.lifecycle import QUEUED
from fawkes.core.values.model import ClusterLife, ClusterSpec, ClusterState, JobSpec, Plain
from fawkes.playbook.dist import pieces
from fawkes.playbook.dist.cache import dist_dir
from fawkes.playbook.dist.compile.compiled import JavaCode
from fawkes.playbook.dist.pieces import Piece, is_there


def releases(*, acts: bool) -> Plain:
    """The answer to ``GET /releases``: the controller's cache folder, and what `fawkes dist get` calls its pieces.

    ``acts`` is false for a controller in shadow mode, which needs none.
    """
    return {"folder": str(dist_dir()), "releases": pieces.there(), "acts": acts}


def needs_of(spec: ClusterSpec) -> tuple[Piece, ...]:
    """All that an MR-cluster needs of the controller's cache."""
    return needs_of_details(ClusterDetails.of(spec.details))


def needs_of_details(details: ClusterDetails) -> tuple[Piece, ...]:
    """The same, from what users write in its file."""
    return pieces.of_cluster(
        details.hadoop_version,
        own_release=bool(details.release_dir),
        kerberos=details.security == KERBEROS,
        software=details.software,
        save_to=[output.save_to for output in details.outputs],
    )


def needs_of_job(spec: JobSpec) -> tuple[Piece, ...]:
    """All that a job needs of the controller's cache besides its MR-cluster."""
    details = JobDetails.of(spec.details)
    return pieces.of_job(details.kind, details.array.checkpoint if details.array is not None else "")


def refuse_without_release(event: Event, view: State) -> None:
    """UserError with the command to type when an event asks for what the cache of this machine lacks.

    Without this check the MR-cluster would be admitted, and given up when its deployment finds nothing to deploy.
    """
    needed = _needed(event, view)
    lacking = [piece for piece in needed if not is_there(piece)]
    if lacking:
        raise missing(lacking, needed, str(dist_dir()))


def _check_software(job: JobSpec, owner: ClusterState | None) -> None:
    if owner is None:
        return
    kind, details = JobDetails.of(job.details).kind, ClusterDetails.of(owner.spec.details)
    if kind == arrays.KIND and details.security == KERBEROS:
        hint = 'Name an MR-cluster without security = "kerberos"'
        raise UserError(f"tasks do not run with the Kerberos of {job.cluster}", where=f"job {job.id}: kind", hint=hint)
    if kind in (spark.KIND, spark.STREAM) and spark.KIND not in details.software:
        hint = f'Write software = ["spark"] into the file of {job.cluster} and request it again, or name another one'
        raise UserError(f"the nodes of {job.cluster} have no Spark", where=f"job {job.id}: kind", hint=hint)


def missing(lacking: Sequence[Piece], needed: Sequence[Piece], folder: str) -> UserError:
    """The error for pieces that the controller's cache, in ``folder``, does not have."""
    return UserError(
        f"the controller's cache lacks {' and '.join(piece.title for piece in lacking)}, so nothing was done",
        where=folder,
        hint=f"Run {pieces.command(lacking, needed)} as the user that runs the controller, then try again",
    )


def provide_needed(view: State, say: Callable[[str], None], provide: Callable[[Piece], object]) -> None:
    """Fetch what the MR-clusters in the ledger need and the cache lacks, as after an upgrade of Fawkes.

    Without it an MR-cluster goes on, but none of its nodes can join or leave. A piece that cannot be fetched is told by
    ``say``: other MR-clusters need not wait for it.
    """
    needs = [needs_of(state.spec) for state in view.clusters.values()]
    needed = {piece.name: (piece, together) for together in needs for piece in together}
    for piece, together in needed.values():
        if is_there(piece):
            continue
        say(f"{piece.title}: not in the cache, or from another version of Fawkes: fetching it")
        try:
            provide(piece)
        except FawkesError as error:
            what = pieces.command([piece], together)
            say(f"{error}. Run {what}: until then no node of its MR-clusters joins or leaves")


class MissingReleaseError(FawkesError):
    """The cache lacks a release, or a jar of ours. The message says that it is being fetched, or why that failed.

    ``failed`` is true when it could not be fetched: it stays away until somebody does something about it.
    """

    def __init__(self, what: str, *, hint: str = "", failed: bool = False) -> None:
        super().__init__(what, hint=hint)
        self.failed = failed


@dataclass(frozen=True, slots=True)
class _Failure:
    """Reason why a piece could not be fetched the last time, when that ended (us), and how often in a row it failed."""

    error: FawkesError
    at_us: int
    tries: int


class Releases:
    """The pieces of the cache; ``provide`` fetches one or raises FawkesError, ``say`` tells the administrator.

    A piece that was lost is fetched by whoever needs it first. If that fails, the next who needs it fetches it again
    after ``wait_us`` of the number of failures in a row, as `core.backoff` says. The administrator hears of a failure
    once. ``now_us`` is the controller's time.
    """

    def __init__(
        self,
        provide: Callable[[Piece], object],
        say: Callable[[str], None],
        *,
        wait_us: Callable[[int], int],
        now_us: Callable[[], int],
    ) -> None:
        self._provide = provide
        self._say = say
        self._wait_us = wait_us
        self._now_us = now_us
        self._changed = threading.Condition()
        self._under_way: set[str] = set()
        self._failed: dict[str, _Failure] = {}
        self._closed = False

    def need(self, wanted: Piece) -> None:
        """Nothing when the cache has the piece; else MissingReleaseError at once, and it is being fetched."""
        if is_there(wanted):
            with self._changed:
                self._failed.pop(wanted.name, None)
            return
        with self._changed:
            failed = self._failed.get(wanted.name)
            due = failed is None or self._now_us() - failed.at_us >= self._wait_us(failed.tries)
            if due and wanted.name not in self._under_way and not self._closed:
                self._under_way.add(wanted.name)
                # A daemon: the controller may end meanwhile, and what Maven leaves half made is made anew.
                threading.Thread(target=self._fetch, args=(wanted,), name="fetch", daemon=True).start()
        if failed is None:
            raise MissingReleaseError(f"the controller's cache has lost {wanted.title}, which is being fetched")
        raise MissingReleaseError(
            f"the controller's cache lacks {wanted.title}, which could not be fetched ({failed.error.what})",
            hint=_yours(wanted),
            failed=True,
        )

    def wait_for(self, wanted: Piece) -> None:
        """The same, but once a fetch has ended, whoever began it."""
        try:
            self.need(wanted)
        except MissingReleaseError:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or wanted.name not in self._under_way)
            self.need(wanted)

    def jar(self, code: JavaCode) -> Path:
        """The path of a jar of ours; raises as `need`."""
        self.need(code)
        return pieces.place_of(code)

    def close(self) -> None:
        """Fetch nothing more, and keep nobody waiting."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _fetch(self, wanted: Piece) -> None:
        with self._changed:
            before = self._failed.get(wanted.name)
        if before is None:
            self._say(f"{wanted.title}: no longer in the cache, or from another version of Fawkes: fetching it")
        failed: _Failure | None = None
        try:
            self._provide(wanted)
        except FawkesError as error:
            failed = _Failure(error, self._now_us(), 1 if before is None else before.tries + 1)
            if before is None or str(before.error) != str(error):
                self._say(f"{wanted.title}: not fetched: {error}. {_yours(wanted)}")
        with self._changed:
            self._under_way.discard(wanted.name)
            if failed is not None:
                self._failed[wanted.name] = failed
            self._changed.notify_all()


def _yours(wanted: Piece) -> str:
    """The advice for the administrator when a piece could not be fetched."""
    return f"Run `fawkes dist get {wanted.argument}` as the user that runs the controller"


def _needed(event: Event, view: State) -> tuple[Piece, ...]:
    """The pieces of the cache that an event needs. A job needs those of an MR-cluster without nodes, too."""
    match event:
        case Requested(spec=cluster):
            return needs_of(cluster)
        case Submitted(spec=job):
            owner = view.clusters.get(job.cluster)
            _check_software(job, owner)
            if owner is None or owner.life not in QUEUED | {ClusterLife.DORMANT}:
                return needs_of_job(job)
            return (*needs_of(owner.spec), *needs_of_job(job))
    return ()
