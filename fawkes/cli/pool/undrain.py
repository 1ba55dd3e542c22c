"""`fawkes undrain`: put nodes back into service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from fawkes.cli.asking import completion
from fawkes.cli.asking.acting import for_each, node_names, tell
from fawkes.cli.asking.client import Client
from fawkes.cli.show.show import TABLE, output_option, show
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site


@click.command()
@click.argument("nodes", metavar="NODE", shell_complete=completion.nodes)
@click.option("--dry-run", is_flag=True, help="Only show what the node does now.")
@output_option
@click.pass_obj
def undrain(site: Site, nodes: str, dry_run: bool, output: str) -> None:
    """Put NODE (or a set, such as node[03-05]) back into service; the next tick may use it.

    A node that is already leaving its MR-cluster still leaves, and is free afterwards.
    """
    from fawkes.cli.pool.drain import the_nodes

    names = node_names(nodes)
    client = Client(site)
    known = the_nodes(client, names)
    if dry_run:
        show(list(known.values()), TABLES["drain"], output)
        for_each("could be undrained", names, lambda name: client.post("undrain", {"node": name}, dry_run=True))
        return

    def act(name: str) -> None:
        facts = client.post("undrain", {"node": name})
        tell(f"{name} {_then(known[name], bool(facts.get('leaves')))}", output)

    for_each("undrained", names, act)
    if output != TABLE:
        show(list(the_nodes(client, names).values()), TABLES["drain"], output)


def _then(row: Mapping[str, Any], leaves: bool) -> str:
    if not leaves:
        return "is back in service"
    return f"may serve again, but it still leaves {row['cluster'] or 'its MR-cluster'}; it is free after that"
