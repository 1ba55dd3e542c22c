"""Which releases this machine's cache has for MR-clusters and jobs: looked up before anything is admitted."""

from __future__ import annotations

from collections.abc import Callable

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
