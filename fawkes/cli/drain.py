"""`fawkes drain`: take nodes out of service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from fawkes.cli.acting import Duration
from fawkes.cli.show import TABLE, Column, output_option
from fawkes.config.site import Site

if TYPE_CHECKING:
    from fawkes.cli.client import Client

OUT = "out"
CORE = "core"


@click.command()
@click.argument("nodes", metavar="NODE")
@click.option("--reason", required=True, help="Why, for whoever looks at the node later.")
@click.option("--wait", is_flag=True, help="Return only when the node is out of service, wiped and verified.")
@click.option("--timeout", "limit_us", type=Duration(), help="With --wait: how long at most, such as 2h.")
@click.option("--dry-run", is_flag=True, help="Only show what the node does now.")
@output_option
@click.pass_obj
def drain(site: Site, nodes: str, reason: str, wait: bool, limit_us: int | None, dry_run: bool, output: str) -> None:
    """Take NODE (or a set, such as node[03-05]) out of service, for a repair.

    Its MR-cluster gives it back as in a shrink: no data is lost, tasks get the time that the settings give them. A core
    node leaves once another node has taken over. The node of the masters leaves with its MR-cluster only: release that
    first.
    Without --wait the command returns at once; a command that is interrupted takes nothing back.
    """
    from fawkes.cli.acting import for_each, tell
    from fawkes.cli.client import Client
    from fawkes.cli.show import show

    names = node_names(nodes)
    client = Client(site)
    known = the_nodes(client, names)
    if dry_run:
        show(list(known.values()), NODES, output)
        return

    def act(name: str) -> None:
        client.post("drain", {"node": name, "reason": reason})
        tell(f"{name} {_now(known[name])}", output)

    for_each("drained", names, act)
    if wait:
        _wait(client, names, limit_us)
        tell(f"{nodes}: out of service. Put back with `fawkes undrain {nodes}`", output)
    if output != TABLE:
        show(list(the_nodes(client, names).values()), NODES, output)


def node_names(text: str) -> tuple[str, ...]:
    """The nodes of a set; UserError when it is none."""
    from fawkes.config.nodeset import expand
    from fawkes.errors import UserError

    try:
        return expand(text)
    except ValueError as error:
        raise UserError(str(error)) from None


def the_nodes(client: Client, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The controller's rows of these nodes; UserError names those that are not in the pool."""
    from fawkes.config.nodeset import fold
    from fawkes.errors import UserError

    rows = {name: found[0] for name in names if (found := client.rows("nodes", node=name))}
    missing = [name for name in names if name not in rows]
    if missing:
        known = fold(row["node"] for row in client.rows("nodes"))
        raise UserError(f"the pool has no node {fold(missing)}", hint=f"It has {known}")
    return rows


def _now(row: Mapping[str, Any]) -> str:
    if row["life"] == OUT:
        return "was out of service already and stays so"
    if row["role"] == CORE:
        return f"leaves {row['cluster']} once another core node serves in its place, and then goes out of service"
    if row["cluster"]:
        return f"leaves {row['cluster']}, where it is {row['role']}, and then goes out of service"
    return "goes out of service"


def _wait(client: Client, names: Sequence[str], limit_us: int | None) -> None:
    from fawkes.cli.acting import tell_change

    told: dict[str, tuple[str, str]] = {}

    def look() -> bool | None:
        rows = the_nodes(client, names)
        for name, row in rows.items():
            tell_change(told, name, row)
        return True if all(row["life"] == OUT for row in rows.values()) else None

    client.wait(look, "the drain", limit_us=limit_us)


NODES = (
    Column("node", "node"),
    Column("life", "life"),
    Column("cluster", "MR-cluster"),
    Column("role", "role"),
    Column("keep_out", "kept out because"),
)
