"""`fawkes hold` and `fawkes unhold`: keep balancing away from a node or an MR-cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from fawkes.cli.asking import completion
from fawkes.cli.asking.acting import dry_run_option, end_of, for_each, node_names, rehearse, tell
from fawkes.cli.asking.client import Client
from fawkes.cli.asking.parsed import DURATION, TIME
from fawkes.cli.show.show import TABLE, output_option, show
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site


@click.command()
@click.argument("name", metavar="NODE|CLUSTER", shell_complete=completion.nodes_and_clusters)
@click.option("--reason", required=True, help="Reason, shown to anyone who asks later.")
@click.option("--for", "for_us", type=DURATION, help="How long, such as 2h (default: until `fawkes unhold`).")
@click.option("--until", "until_us", type=TIME, help="Until when, such as 2026-05-04T18:00 (UTC).")
@dry_run_option
@output_option
@click.pass_obj
def hold(
    site: Site, name: str, reason: str, for_us: int | None, until_us: int | None, dry_run: bool, output: str
) -> None:
    """Keep balancing away from NODE (or a set, such as node[03-05]) or CLUSTER.

    A held MR-cluster gets no node for the sake of balance and gives none, neither to others nor for the admission of
    another one, and it is not removed for being idle. A held node stays where it is: with its MR-cluster, or free.

    Moves that have begun finish. Lost nodes are cared for, core nodes get successors, and `fawkes drain`, `release`,
    `grow` and `shrink` work as always. A hold ends by itself, also while no controller runs.
    """
    if for_us is not None and until_us is not None:
        raise click.UsageError("Give one of --for and --until.")
    end_us = until_us or end_of(for_us)
    _ask(site, "hold", name, {"reason": reason, "until_us": end_us}, dry_run, output)


@click.command()
@click.argument("name", metavar="NODE|CLUSTER", shell_complete=completion.nodes_and_clusters)
@dry_run_option
@output_option
@click.pass_obj
def unhold(site: Site, name: str, dry_run: bool, output: str) -> None:
    """End the hold of NODE (or a set) or CLUSTER: balancing counts it again, from the next tick on."""
    _ask(site, "unhold", name, {}, dry_run, output)


def _ask(site: Site, verb: str, name: str, body: dict[str, Any], dry_run: bool, output: str) -> None:
    names, client = node_names(name), Client(site)

    def act(each: str) -> None:
        if dry_run:
            rehearse(client, verb, {**body, "subject": each}, output)
            return
        client.post(verb, {**body, "subject": each})
        for row in rows_of(client, [each]):
            tell(f"{each} is {row['hold'] or 'no longer held'}", output)

    for_each(f"{verb} done", names, act)
    if output != TABLE and not dry_run:
        show(rows_of(client, names), TABLES["hold"], output)


def rows_of(client: Client, names: Sequence[str]) -> list[dict[str, Any]]:
    """The state and the hold of the nodes and MR-clusters of these names."""
    rows = [{"subject": each, **row} for each in names for row in client.rows("nodes", node=each)]
    rows += [{"subject": row["cluster"], **row} for row in client.rows("clusters") if row["cluster"] in names]
    return [{key: row[key] for key in ("subject", "state", "hold")} for row in rows]
