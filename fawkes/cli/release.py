"""`fawkes release`: give an MR-cluster back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from fawkes.cli.acting import GONE, Duration, fate, size
from fawkes.cli.show import TABLE, Column, output_option
from fawkes.config.site import Site

if TYPE_CHECKING:
    from fawkes.cli.client import Client


@click.command()
@click.argument("cluster", metavar="CLUSTER")
@click.option("--discard-data", is_flag=True, help="Give up all data: outputs are not saved.")
@click.option("--force", is_flag=True, help="Cancel its jobs, waiting and running; kill what users run.")
@click.option("--wait", is_flag=True, help="Return only when its nodes are free again.")
@click.option("--timeout", "limit_us", type=Duration(), help="With --wait: how long at most, such as 10m.")
@click.option("--yes", is_flag=True, help="Do not ask for the name to be typed.")
@click.option("--dry-run", is_flag=True, help="Only list the data at stake.")
@output_option
@click.pass_obj
def release(
    site: Site,
    cluster: str,
    discard_data: bool,
    force: bool,
    wait: bool,
    limit_us: int | None,
    yes: bool,
    dry_run: bool,
    output: str,
) -> None:
    """Give CLUSTER back: save its outputs, verify them, then release its nodes.

    One that still waits, is deployed or loaded is called off: there is nothing to save yet.

    Lists the data at stake first and asks for the name of the MR-cluster to be typed.
    """
    from fawkes.cli.acting import confirm, tell, tell_at_stake, the_cluster, wait_for_clusters
    from fawkes.cli.client import Client
    from fawkes.cli.show import show

    client = Client(site)
    row = the_cluster(client, cluster)
    outputs = client.rows("at-stake", cluster=cluster)
    if dry_run:
        show([{**one, "fate": fate(one, discard_data)} for one in outputs], AT_STAKE, output)
        _would_go(client, cluster, discard_data, force)
        return
    tell_at_stake([row], outputs, discard_data)
    confirm(cluster, what="This releases all of its nodes.", yes=yes)
    client.post("release", {"cluster": cluster, "discard": discard_data, "force": force})
    tell(f"{cluster} is being released{'' if wait else ': follow it with `fawkes status --watch`'}", output)
    if wait:
        wait_for_clusters(client, [cluster], is_gone, "its release", limit_us)
    if output != TABLE:
        show(client.rows("clusters", cluster=cluster), CLUSTERS, output)


def _would_go(client: Client, cluster: str, discard: bool, force: bool) -> None:
    """What the controller would answer, on stderr."""
    from fawkes.cli.client import TurnedDownError
    from fawkes.cli.show import note

    try:
        client.post("release", {"cluster": cluster, "discard": discard, "force": force, "dry_run": True})
    except TurnedDownError as error:
        note(f"{cluster} must not be released: {error}")
    else:
        note(f"`fawkes release {cluster}` would release it")


def is_gone(row: Mapping[str, Any]) -> bool:
    """Whether the controller is done with an MR-cluster."""
    return bool(row["life"] == GONE)


CLUSTERS = (Column("cluster", "MR-cluster"), Column("life"), Column("nodes"))
AT_STAKE = (
    Column("cluster", "MR-cluster"),
    Column("path", "folder"),
    Column("bytes", "size", size),
    Column("files"),
    Column("owner"),
    Column("save_to", "saved to"),
    Column("fate", "what happens"),
)
