"""Which releases this machine's cache has for MR-clusters and jobs: looked up before anything is admitted.

A release that the cache has lost since is fetched again. Whoever needs it is told so and does not wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from fawkes.config.details import ClusterDetails, JobDetails
from fawkes.core.events import Event, Requested, Submitted
from fawkes.core.model import ClusterSpec, Plain
from fawkes.core.state import View
from fawkes.dist.cache import Wanted, dist_dir, is_there, there
from fawkes.dist.pig import DEFAULT_PIG, PIG_PINS
from fawkes.dist.pins import pin
from fawkes.errors import FawkesError, UserError


def releases(*, acts: bool) -> Plain:
    """What ``GET /releases`` answers: the controller's cache folder, and what `fawkes dist get` calls its releases.

    ``acts`` is false for a controller in shadow mode, which needs no release.
    """
    known = [wanted.asked for wanted in there() if is_there(wanted)]
    return {"folder": str(dist_dir()), "releases": known, "acts": acts}


def refuse_without_release(event: Event) -> None:
    """UserError with the command to type when an event asks for a release that the cache of this machine lacks.

    Without this check the MR-cluster would be admitted, and given up when its deployment finds nothing to deploy.
    """
    wanted = _wanted(event)
    if wanted is not None and not is_there(wanted):
        raise missing(wanted, str(dist_dir()))


def missing(wanted: Wanted, folder: str) -> UserError:
    """The error for a release that the controller's cache, in ``folder``, does not have."""
    return UserError(
        f"the controller has no {wanted.title} in its cache, so nothing was done",
        where=folder,
        hint=f"Run `fawkes dist get {wanted.asked}` as the user that runs the controller, then try again",
    )


def provide_needed(view: View, say: Callable[[str], None], provide: Callable[[Wanted], object]) -> None:
    """Fetch the releases of the MR-clusters in the ledger that the cache lacks, as after an upgrade of Fawkes.

    Without its release an MR-cluster goes on, but none of its nodes can join or leave. A release that cannot be
    fetched is told by ``say``: other MR-clusters need not wait for it.
    """
    needed = {wanted.name: wanted for state in view.clusters.values() if (wanted := _hadoop_of(state.spec)) is not None}
    for wanted in needed.values():
        if is_there(wanted):
            continue
        say(f"{wanted.title} is not in the cache, or another version of Fawkes made it: fetching it")
        try:
            provide(wanted)
        except FawkesError as error:
            say(f"{error}. Run `fawkes dist get {wanted.asked}`: until then no node of its MR-clusters joins or leaves")


class MissingReleaseError(FawkesError):
    """The cache lacks a release. It is being fetched, or the message says why that failed and what to type."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why a release could not be fetched the last time, when that ended (us), and how often in a row it failed."""

    error: FawkesError
    at_us: int
    tries: int


class Releases:
    """The releases of the cache; ``provide`` fetches one or raises FawkesError, ``say`` tells the administrator.

    A release that was lost is fetched by whoever needs it first. If that fails, the next who needs it fetches it again
    after ``wait_us`` of the number of failures in a row, as `core.backoff` says. The administrator hears of a failure
    once. ``now_us`` is the controller's time.
    """

    def __init__(
        self,
        provide: Callable[[Wanted], object],
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

    def need(self, wanted: Wanted) -> None:
        """Nothing when the cache has the release; else MissingReleaseError at once, and it is being fetched."""
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
            f"the controller's cache has no {wanted.title}, which could not be fetched ({failed.error.what})",
            hint=_yours(wanted),
        )

    def wait_for(self, wanted: Wanted) -> None:
        """The same, but once a fetch has ended, whoever began it."""
        try:
            self.need(wanted)
        except MissingReleaseError:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or wanted.name not in self._under_way)
            self.need(wanted)

    def close(self) -> None:
        """Fetch nothing more, and keep nobody waiting."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _fetch(self, wanted: Wanted) -> None:
        with self._changed:
            before = self._failed.get(wanted.name)
        if before is None:
            self._say(f"{wanted.title} is no longer in the cache, or another version of Fawkes made it: fetching it")
        failed: _Failure | None = None
        try:
            self._provide(wanted)
        except FawkesError as error:
            failed = _Failure(error, self._now_us(), 1 if before is None else before.tries + 1)
            if before is None or str(before.error) != str(error):
                self._say(f"{wanted.title} could not be fetched: {error}. {_yours(wanted)}")
        with self._changed:
            self._under_way.discard(wanted.name)
            if failed is not None:
                self._failed[wanted.name] = failed
            self._changed.notify_all()


def _yours(wanted: Wanted) -> str:
    """What the administrator does when a release could not be fetched."""
    return (
        "Fawkes fetches it again while it is needed. If that does not help, run "
        f"`fawkes dist get {wanted.asked}` as the user that runs the controller; then the nodes join by themselves"
    )


def _hadoop_of(spec: ClusterSpec) -> Wanted | None:
    details = ClusterDetails.of(spec.details)
    return None if details.release_dir else pin(details.hadoop_version)


def _wanted(event: Event) -> Wanted | None:
    """The release that an event needs from the cache; None when it needs none, or the site has its own on the nodes."""
    match event:
        case Requested(spec=cluster):
            return _hadoop_of(cluster)
        case Submitted(spec=job):
            return PIG_PINS[DEFAULT_PIG] if JobDetails.of(job.details).kind == "pig" else None
    return None
