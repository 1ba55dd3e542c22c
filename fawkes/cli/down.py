"""`fawkes down`: stop for good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fawkes.cli.acting import GONE, Duration, fate
from fawkes.cli.drain import NODES
from fawkes.cli.show import TABLE, output_option
from fawkes.config.site import Site
from fawkes.errors import FawkesError, RefusedError

if TYPE_CHECKING:
    from fawkes.cli.client import Client

#: MR-clusters without nodes; released first, or they would be admitted to the nodes that the others give back
_WITHOUT_NODES = ("dormant", "waiting")
#: refusals of what has already begun
_LEAVING_ANYWAY = frozenset({"overtaken", "no-such-cluster"})


@click.command()
@click.option("--discard-data", is_flag=True, help="Discard all data: outputs are not saved.")
@click.option("--force", is_flag=True, help="Cancel all jobs, waiting and running; kill applications of users.")
@click.option("--keep", is_flag=True, help="Stop the controller only; MR-clusters and their jobs keep running.")
@click.option("--timeout", "limit_us", type=Duration(), help="Longest time to wait for the nodes, such as 30m.")
@click.option("--yes", is_flag=True, help="Skip the question that asks to type the name of the pool.")
@click.option("--dry-run", is_flag=True, help="Only list the data at stake.")
@output_option
@click.pass_obj
def down(
    site: Site,
    discard_data: bool,
    force: bool,
    keep: bool,
    limit_us: int | None,
    yes: bool,
    dry_run: bool,
    output: str,
) -> None:
    """Stop for good: release every MR-cluster, then stop the controller.

    Lists the data at stake first. If one MR-cluster must not be released, because of undeclared data or
    running applications, all refusals are listed and none is released. Outputs are saved and verified before a node is
    released, and the controller stops only when every node is wiped. If the command is interrupted, the releases
    continue; run it again to wait for them.
    """
    from fawkes.cli.acting import confirm, tell_at_stake
    from fawkes.cli.client import Client
    from fawkes.cli.show import show

    client = Client(site)
    clusters = _there(client)
    if keep:
        why = f"{len(clusters)} MR-clusters keep running without it; `fawkes run` controls them again"
        _stop(client, why, output, for_good=False)
        return
    outputs = client.rows("at-stake") if clusters else []
    if dry_run:
        from fawkes.cli.release import AT_STAKE

        show([{**one, "fate": fate(one, discard_data)} for one in outputs], AT_STAKE, output)
        return
    pool = site.inventory(need_keys=False).pool
    tell_at_stake(clusters, outputs, discard_data)
    if not force:
        _check_jobs(clusters)
    _check_releases(client, clusters, discard_data, force)
    if clusters:
        confirm(pool, what=f"This releases {len(clusters)} MR-clusters.", yes=yes)
    _release_all(client, discard_data, force, limit_us)
    _wait_for_nodes(client, limit_us)
    _stop(client, "every node is wiped and free", output, for_good=True)


def _there(client: Client) -> list[dict[str, Any]]:
    """The MR-clusters that are there, those without nodes first."""
    rows = [row for row in client.rows("clusters") if row["life"] != GONE]
    return sorted(rows, key=lambda row: (row["life"] not in _WITHOUT_NODES, row["cluster"]))


def _check_jobs(clusters: list[dict[str, Any]]) -> None:
    """All or nothing: one MR-cluster that has jobs must not stay behind when the others have been released."""
    busy = [row["cluster"] for row in clusters if row["jobs_started"] or row["jobs_queued"]]
    if busy:
        raise RefusedError(
            f"jobs wait or run on {', '.join(busy)}: nothing was done",
            hint="Wait for them (`fawkes jobs`), or cancel them all with --force",
        )


def _check_releases(client: Client, clusters: list[dict[str, Any]], discard: bool, force: bool) -> None:
    """All or nothing: RefusedError when the controller would refuse to release one; each refusal is told on stderr."""
    from fawkes.cli.client import TurnedDownError
    from fawkes.cli.show import note

    refused = []
    for row in clusters:
        if not _can_be_released(row, discard):
            continue
        try:
            client.post("release", _body(row["cluster"], discard, force, dry_run=True))
        except TurnedDownError as error:
            if error.reason.code not in _LEAVING_ANYWAY:
                refused.append(row["cluster"])
                note(f"{row['cluster']}: {error}")
    if refused:
        raise RefusedError(
            f"{', '.join(refused)} must not be released: nothing was done",
            hint="Follow the advice above, or discard everything with `fawkes down --discard-data --force`",
        )


def _body(cluster: str, discard: bool, force: bool, *, dry_run: bool = False) -> dict[str, Any]:
    return {"cluster": cluster, "discard": discard, "force": force, "dry_run": dry_run}


def _release_all(client: Client, discard: bool, force: bool, limit_us: int | None) -> None:
    """Release each MR-cluster as soon as that can be, until none is left; also one that is asked for meanwhile.

    PartialError when something came up after the check, so that one must stay.
    """
    from fawkes.cli.acting import tell_change
    from fawkes.cli.client import TurnedDownError
    from fawkes.errors import PartialError

    told: dict[str, tuple[str, str]] = {}
    asked: set[str] = set()
    refused: dict[str, str] = {}

    def look() -> bool | None:
        rows = _there(client)
        for row in rows:
            tell_change(told, row["cluster"], row)
            if row["cluster"] not in asked and _can_be_released(row, discard):
                asked.add(row["cluster"])
                try:
                    client.post("release", _body(row["cluster"], discard, force))
                except TurnedDownError as error:
                    if error.reason.code not in _LEAVING_ANYWAY:
                        refused[row["cluster"]] = str(error)
        return None if any(row["cluster"] not in refused for row in rows) else True

    client.wait(look, "all MR-clusters were released", limit_us=limit_us)
    if refused:
        raise PartialError(
            "released",
            done=len(asked) - len(refused),
            failed=refused,
            hint="These and the controller keep running; follow the advice above, then run `fawkes down` again",
        )


def _can_be_released(row: dict[str, Any], discard: bool) -> bool:
    """Not when it goes already; only its saving can still be given up."""
    return row["life"] != "retiring" and (discard or row["life"] != "saving")


def _wait_for_nodes(client: Client, limit_us: int | None) -> None:
    """Until every node is wiped; PartialError, with the controller still there, when some cannot be reached."""
    from fawkes.errors import PartialError

    def look() -> list[dict[str, Any]] | None:
        rows = client.rows("nodes")
        return None if any(row["life"] == "cleaning" for row in rows) else rows

    rows = client.wait(look, "all nodes were wiped", limit_us=limit_us)
    lost = {row["node"]: row["alert"] or "does not answer" for row in rows if row["life"] == "lost"}
    if lost:
        raise PartialError(
            "wiped",
            done=len(rows) - len(lost),
            failed=lost,
            hint="The controller keeps running and wipes them when they answer; to stop it now, `fawkes down --keep`",
        )


def _stop(client: Client, why: str, output: str, *, for_good: bool) -> None:
    from fawkes.cli.acting import tell
    from fawkes.cli.client import NoControllerError
    from fawkes.cli.show import show

    nodes = client.rows("nodes")

    client.post("stop", {"for_good": for_good})

    def look() -> bool | None:
        try:
            client.get("clusters")
        except NoControllerError:
            return True
        except FawkesError:
            # In the middle of its end it hangs up on us.
            return None
        return None

    client.wait(look, "the controller stopped")
    tell(f"The controller has stopped: {why}", output)
    if output != TABLE:
        show(nodes, NODES, output)
