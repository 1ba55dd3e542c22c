"""`fawkes nodes`: each node, its owner, role and state, since when and why."""

from __future__ import annotations

from typing import Any

import click

from fawkes.cli.asking import completion
from fawkes.cli.asking.ledger import boards_of, known
from fawkes.cli.show.show import output_option, show
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site

#: keys in which nodes are alike that share a row
_ALIKE = ("cluster", "role", "master", "standby", "state", "site", "code", "keep_out", "alert")
STATES = ("free", "joining", "serving", "draining", "evacuating", "cleaning", "lost", "out")


@click.command()
@click.option(
    "-s", "--state", "states", multiple=True, type=click.Choice(STATES), help="Only nodes in this state; repeatable."
)
@click.option("--cluster", help="Only nodes of this MR-cluster.", shell_complete=completion.clusters)
@click.option("--fold", "folded", is_flag=True, help="One row for all nodes in the same state, as a node set.")
@output_option
@click.pass_obj
def nodes(site: Site, states: tuple[str, ...], cluster: str | None, folded: bool, output: str) -> None:
    """Show every node on one line: MR-cluster, role, state, and why.

    `-o wide` shows the whole reason and more: the node that runs the masters of its MR-cluster, the nodes of a second
    NameNode and its journal, how the masters see each node if that differs from its state, and since when an MR-cluster
    has been waiting for the data on a node.
    `fawkes explain --node NODE` shows what to do.
    """
    with boards_of(site) as board:
        rows = board("nodes")
        if cluster is not None:
            known(cluster, [row["cluster"] for row in board("clusters")], "MR-cluster")
    rows = [row for row in rows if (not states or row["state"] in states) and cluster in (None, row["cluster"])]
    if folded:
        show(_folded(rows), TABLES["nodes --fold"], output)
    else:
        show(rows, TABLES["nodes"], output)


def _folded(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for nodes with the same site, owner, role, daemons, state, code and keep_out; the oldest since."""
    from fawkes.report.words.facts import fold

    alike: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        key = tuple(str(row[name]) for name in _ALIKE)
        alike.setdefault(key, []).append(row)
    folded = []
    for group in alike.values():
        names = [row["node"] for row in group]
        since = min(row["since"] for row in group)
        alike_row = {key: value for key, value in group[0].items() if key not in ("node", "brief")}
        folded.append({**alike_row, "node_set": fold(names), "count": len(names), "since": since})
    return folded
