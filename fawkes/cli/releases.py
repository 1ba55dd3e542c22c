"""Releases that MR-clusters need: fetched into the controller's cache before anything is requested."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fawkes.cli.show import note, progress

if TYPE_CHECKING:
    from fawkes.cli.client import Client
    from fawkes.core.model import ClusterSpec


def provide_releases(client: Client, specs: Iterable[ClusterSpec], *, fetch: bool) -> None:
    """See to it that the controller has the Hadoop release of each MR-cluster; progress goes to stderr.

    Nothing is fetched for a controller in shadow mode: it refuses each request.

    UserError with the command to type when one is missing and ``fetch`` is false, or the controller has another cache
    than this command. FawkesError when a release cannot be fetched.
    """
    from fawkes.dist import cache
    from fawkes.dist.pins import pin
    from fawkes.live.releases import missing

    versions = sorted({str(spec.details["hadoop_version"]) for spec in specs if not spec.details["release_dir"]})
    if not versions:
        return
    known = client.get("releases")
    if not known["acts"]:
        return
    for version in versions:
        if version in known["releases"]:
            continue
        wanted = pin(version)
        if not fetch or known["folder"] != str(cache.dist_dir()):
            raise missing(wanted, known["folder"])
        note(f"{wanted.title} is not in the cache yet: fetching it once, about 110 MB (--no-fetch forbids it)")
        with progress(wanted.title) as step:
            cache.provide(wanted, say=step)
