"""Pieces of the controller's cache that MR-clusters and jobs need: fetched before anything is requested."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fawkes.cli.asking.client import Client
from fawkes.cli.show.show import note, progress

if TYPE_CHECKING:
    from fawkes.playbook.dist.pieces import Piece


def provide_releases(client: Client, needs: Iterable[tuple[Piece, ...]], *, fetch: bool = True) -> None:
    """See to it that the controller's cache has what each MR-cluster and job needs of it; progress goes to stderr.

    Nothing is fetched for a controller in shadow mode: it refuses each request.

    UserError with the command to type when something is missing and ``fetch`` is false, or the controller has another
    cache than this command. FawkesError when it cannot be fetched.
    """
    from fawkes.live.hadoop.releases import missing
    from fawkes.playbook.dist import pieces
    from fawkes.playbook.dist.cache import dist_dir

    known = client.get("releases")
    if not known["acts"]:
        return
    there = set(known["releases"])
    for needed in needs:
        lacking = [piece for piece in needed if piece.argument not in there]
        if not lacking:
            continue
        if not fetch or known["folder"] != str(dist_dir()):
            raise missing(lacking, needed, known["folder"])
        titles = " and ".join(piece.title for piece in lacking)
        note(f"the cache lacks {titles}: fetching it once (a release takes about 110 MB; --no-fetch forbids it)")
        with progress(lacking[0].title) as step:
            pieces.provide(lacking, say=step)
        there |= {piece.argument for piece in lacking}
