"""`fawkes grow` and `fawkes shrink`: move nodes by hand."""

from __future__ import annotations

import click

from fawkes.base.units import SECOND_US, counted
from fawkes.cli.asking import completion
from fawkes.cli.asking.acting import dry_run_option, end_of, rehearse, tell, the_cluster
from fawkes.cli.asking.client import Client
from fawkes.cli.asking.parsed import DURATION
from fawkes.cli.show.show import TABLE, output_option, show
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site

_hold_option = click.option(
    "--for",
    "for_us",
    type=DURATION,
    default=3600 * SECOND_US,
    show_default="1h",
    help="How long CLUSTER is held, so that balancing does not undo it; 0s: no hold.",
)


@click.command()
@click.argument("cluster", shell_complete=completion.clusters)
@click.argument("nodes", metavar="[N|NODE]", default="1", shell_complete=completion.nodes)
@_hold_option
@dry_run_option
@output_option
@click.pass_obj
def grow(site: Site, cluster: str, nodes: str, for_us: int, dry_run: bool, output: str) -> None:
    """Give CLUSTER N free nodes, or the free NODE, in the role by which it grows.

    Nodes that are leaving CLUSTER come back first. All N join, or none: this is refused (exit code 6) above max_nodes,
    when too few nodes are free, and while too many nodes are lost. Nodes that an admission waits for are not given.

    CLUSTER is held for an hour (--for), because the next tick would take the nodes back otherwise.
    """
    _move(site, "grow", cluster, nodes, for_us, dry_run, output)


@click.command()
@click.argument("cluster", shell_complete=completion.clusters)
@click.argument("nodes", metavar="[N|NODE]", default="1", shell_complete=completion.nodes)
@_hold_option
@dry_run_option
@output_option
@click.pass_obj
def shrink(site: Site, cluster: str, nodes: str, for_us: int, dry_run: bool, output: str) -> None:
    """Take N nodes of CLUSTER, or NODE: tasks end, blocks are copied away and proven to be elsewhere, then it is free.

    Without NODE those leave that balancing would choose. This is refused (exit code 6) below min_nodes, for core nodes
    and held nodes, and while too many nodes are lost. The nodes count in the budget of moves (max_moves).

    CLUSTER is held for an hour (--for), because the next tick would give the nodes back otherwise.
    """
    _move(site, "shrink", cluster, nodes, for_us, dry_run, output)


def _move(site: Site, verb: str, cluster: str, nodes: str, for_us: int, dry_run: bool, output: str) -> None:
    from fawkes.cli.clusters.hold import rows_of
    from fawkes.report.words.facts import fold

    number = int(nodes) if nodes.isdecimal() else None
    if number == 0:
        raise click.UsageError("0 nodes are none: give a number of at least 1, or the name of a node.")
    client = Client(site)
    the_cluster(client, cluster)
    wanted = {"node": nodes} if number is None else {"count": number}
    body = {"cluster": cluster, **wanted, "until_us": end_of(for_us)}
    if dry_run:
        rehearse(client, verb, body, output)
        return
    moved = client.post(verb, body)["nodes"]
    names = [str(name) for name in moved] if isinstance(moved, list) else []
    held = rows_of(client, [cluster])[-1]["hold"]
    does = "joins" if verb == "grow" else "leaves"
    verbs = does if len(names) == 1 else does.removesuffix("s")
    tell(f"{counted(len(names), 'node')} {verbs} {cluster}: {fold(names)}. Follow it with `fawkes nodes`", output)
    after = f"{cluster} is {held}" if held else f"{cluster} is not held: the next tick may undo this"
    tell(after, output)
    if output != TABLE:
        show([{"cluster": cluster, "moved": names, "hold": held}], TABLES["grow"], output)
