"""`fawkes nodes`: each node, its owner, role and state, since when and why."""

from __future__ import annotations

from typing import Any

import click

from fawkes.cli.show import Column, output_option
from fawkes.config.site import Site

LIVES = ("free", "joining", "serving", "draining", "evacuating", "cleaning", "lost", "out")


@click.command()
@click.option(
    "-s", "--state", "lives", multiple=True, type=click.Choice(LIVES), help="Only nodes in this state; repeatable."
)
@click.option("--cluster", help="Only nodes of this MR-cluster.")
@click.option("--fold", "folded", is_flag=True, help="One row for all nodes in the same state, as a node set.")
@output_option
@click.pass_obj
def nodes(site: Site, lives: tuple[str, ...], cluster: str | None, folded: bool, output: str) -> None:
    """Show every node: MR-cluster, role, state, since when, and the reason.

    "masters" marks the node that runs the masters of its MR-cluster. "seen" shows how the masters see a node if that
    differs from its state. "waited for since" is set when an MR-cluster waits for the data on a node. For details, run
    `fawkes explain --node NODE`.
    """
    from fawkes.cli.ledger import known, ledger_of
    from fawkes.cli.show import show
    from fawkes.report import history
    from fawkes.report.rows import node_rows

    with ledger_of(site) as ledger:
        rows = node_rows(ledger)
        if cluster is not None:
            known(cluster, [state.id for state in history.clusters(ledger)], "MR-cluster")
    rows = [row for row in rows if (not lives or row["life"] in lives) and cluster in (None, row["cluster"])]
    if folded:
        show(_folded(rows), _FOLDED, output)
    else:
        show(rows, _COLUMNS, output)


def _folded(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for nodes with the same site, owner, role, life, code and reason to be kept out; the oldest since."""
    from fawkes.report.facts import fold

    alike: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        key = tuple(
            str(row[name]) for name in ("cluster", "role", "master", "life", "site", "code", "keep_out", "alert")
        )
        alike.setdefault(key, []).append(row)
    found = []
    for group in alike.values():
        names = [row["node"] for row in group]
        since = min(row["since"] for row in group)
        found.append({**group[0], "node": fold(names), "count": len(names), "since": since})
    return found


_COLUMNS = (
    Column("node"),
    Column("cluster", "MR-cluster"),
    Column("role"),
    Column("master", "masters", lambda here: "here" if here else "-"),
    Column("life", "state"),
    Column("since"),
    Column("why"),
    Column("keep_out", "kept out", lambda text: text or "-"),
    Column("back"),
    Column("alert", text=lambda text: text or "-"),
    Column("waited_since", "waited for since"),
    Column("seen", text=lambda text: text or "-"),
)
_FOLDED = (
    Column("node", "nodes"),
    Column("count", right=True),
    Column("cluster", "MR-cluster"),
    Column("role"),
    Column("master", "masters", lambda here: "here" if here else "-"),
    Column("life", "state"),
    Column("since"),
    Column("code", "reason"),
    Column("keep_out", "kept out", lambda text: text or "-"),
    Column("alert", text=lambda text: text or "-"),
)
