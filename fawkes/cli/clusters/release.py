"""`fawkes release`: give an MR-cluster back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from fawkes.base.errors import RefusedError
from fawkes.cli.asking import completion
from fawkes.cli.asking.acting import GONE, confirm, fate, tell, tell_at_stake, the_cluster
from fawkes.cli.asking.client import Client, TurnedDownError
from fawkes.cli.asking.parsed import DURATION
from fawkes.cli.asking.waiting import followed, wait_for_clusters
from fawkes.cli.show.show import TABLE, output_option, show, warn
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site
from fawkes.core.values.model import ClusterLife


@click.command()
@click.argument("cluster", metavar="CLUSTER", shell_complete=completion.clusters)
@click.option("--discard-data", is_flag=True, help="Discard all data: outputs are not saved.")
@click.option("--force", is_flag=True, help="Cancel its jobs, waiting and running; kill applications of users.")
@click.option("--wait", is_flag=True, help="Return only when its nodes are free again.")
@click.option("--timeout", "limit_us", type=DURATION, help="With --wait: longest time to wait, such as 10m.")
@click.option("--yes", is_flag=True, help="Skip the question that asks to type the name.")
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
    """Release CLUSTER: save its outputs, verify them, then free its nodes.

    If it still waits or is being deployed or loaded, it is cancelled: there is nothing to save yet.

    Lists the data at stake first and asks you to type the name of the MR-cluster.
    """
    client = Client(site)
    row = the_cluster(client, cluster)
    outputs = client.rows("at-stake", cluster=cluster)
    if dry_run:
        show([{**stake, "fate": fate(stake, discard_data)} for stake in outputs], TABLES["release --dry-run"], output)
        _would_go(client, row, discard_data, force)
        return
    tell_at_stake([row], outputs, discard_data)
    confirm(cluster, what="This releases all of its nodes.", yes=yes)
    with followed(client, wait):
        client.post("release", {"cluster": cluster, "discard": discard_data, "force": force})
        tell(f"{cluster} is being released{'' if wait else ': follow it with `fawkes status --watch`'}", output)
    if wait:
        then = f"Start it with `fawkes run`: it goes on with it, and `fawkes status {cluster}` shows its state"
        goes_on = f"The release goes on and cannot be taken back: `fawkes status {cluster}` shows its state"
        wait_for_clusters(client, [cluster], is_gone, "all nodes were released", limit_us, then, goes_on)
    if output != TABLE:
        show(client.rows("clusters", cluster=cluster), TABLES["release"], output)


def _would_go(client: Client, row: Mapping[str, Any], discard: bool, force: bool) -> None:
    """Tell on stderr how the controller would answer; RefusedError when it would refuse."""
    cluster, state = row["cluster"], row["state"]
    if state == ClusterLife.RETIRING or (state == ClusterLife.SAVING and not (discard or force)):
        warn(f"{cluster} is being released already: it is {state}")
        return
    try:
        client.post("release", {"cluster": cluster, "discard": discard, "force": force, "dry_run": True})
    except TurnedDownError as error:
        raise RefusedError(f"must not be released: {error}", where=cluster) from None
    warn(f"`fawkes release {cluster}` would release it")


def is_gone(row: Mapping[str, Any]) -> bool:
    """True if the controller is done with an MR-cluster."""
    return bool(row["state"] == GONE)
