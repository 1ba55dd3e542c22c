"""`fawkes status`: MR-clusters, their shares and weights, the latest tick, and who is in charge."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from fawkes.cli.show import JSON, JSON_VERSION, NOTHING, TABLE, Column, output_option
from fawkes.config.site import Site
from fawkes.errors import FawkesError, UserError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fawkes.store.base import Reader

_LOOK_S = 0.5
_ASK_S = 2.0

Row = dict[str, Any]


@click.command()
@click.argument("cluster", required=False)
@click.option("--all", "everything", is_flag=True, help="Also MR-clusters that are gone.")
@click.option("--watch", is_flag=True, help="Stay and show every change, until interrupted.")
@output_option
@click.pass_obj
def status(site: Site, cluster: str | None, everything: bool, watch: bool, output: str) -> None:
    """Show the pool and its MR-clusters, or one of them: nodes by role, share, weight, target, jobs, health."""
    from fawkes.cli.ledger import ledger_of
    from fawkes.cli.show import show

    if watch and output != TABLE:
        raise click.UsageError("--watch is for people: `fawkes events --follow -o json` is for programs.")
    with ledger_of(site) as ledger:
        if watch:
            _watch(site, ledger, cluster, everything)
            return
        pool, rows = _look(site, ledger, cluster, everything)
    if output == JSON:
        click.echo(json.dumps({"version": JSON_VERSION, "pool": pool, "rows": rows}, indent=2, allow_nan=False))
        return
    if output == TABLE:
        click.echo("\n".join(headlines(pool)))
        click.echo()
    show(rows, COLUMNS, output)


def _look(site: Site, ledger: Reader, cluster: str | None, everything: bool) -> tuple[Row, list[Row]]:
    from fawkes.cli.ledger import known
    from fawkes.report.rows import cluster_rows, gone, pool_row

    rows = cluster_rows(ledger)
    if cluster is not None:
        known(cluster, [row["cluster"] for row in rows], "MR-cluster")
    wanted = [row for row in rows if row["cluster"] == cluster or (cluster is None and (everything or not gone(row)))]
    return {**pool_row(ledger), "trouble": _trouble(site)}, wanted


def _trouble(site: Site) -> str:
    """What keeps the controller from storing anything; empty when nothing does, or nobody says."""
    from fawkes.cli.client import Client

    try:
        return str(Client(site, timeout_s=_ASK_S).get("ledger")["trouble"])
    except FawkesError:
        return ""


def headlines(pool: Row) -> list[str]:
    """The pool in a few lines: who is in charge, nodes, whether moves are stopped, the latest tick."""
    if pool["pool"] is None:
        return ["nothing has happened yet"]
    shadow = ", in shadow: it does nothing" if pool["shadow"] else ""
    lines = [
        f"pool {pool['pool']}, as of {pool['as_of']}",
        f"controller {pool['controller']}, Fawkes {pool['version']}{shadow}",
        f"{pool['nodes']} nodes: {pool['held']} held, {pool['free']} free, {pool['out']} out of service"
        + (f", {pool['lost']} DO NOT ANSWER" if pool["lost"] else ""),
    ]
    if pool.get("trouble"):
        lines.append(f"NOTHING IS DECIDED: {pool['trouble']}")
    if pool["given_back_by"]:
        lines.append(f"THE POOL IS BEING GIVEN BACK, as {pool['given_back_by']} asked: the controller ends after that")
    if pool["paused"]:
        lines.append(f"VOLUNTARY MOVES ARE STOPPED: {pool['paused']}")
    if pool["tick"] is not None:
        lines.append(f"tick {pool['tick']}, {pool['tick_at']}, policy {pool['policy']}: {pool['verdict']}")
    return lines


def _watch(site: Site, ledger: Reader, cluster: str | None, everything: bool) -> None:
    from rich.live import Live

    from fawkes.cli.show import console

    out = console()
    if not out.is_terminal:
        raise UserError("--watch needs a terminal", hint="`fawkes events --follow` writes lines")
    seen: tuple[int, str] | None = None
    with Live(console=out, screen=False, auto_refresh=False) as live:
        while True:
            last = ledger.last_seq(), _trouble(site)
            if last != seen:
                seen = last
                live.update(board(*_look(site, ledger, cluster, everything)), refresh=True)
            time.sleep(_LOOK_S)


def board(pool: Row, rows: Sequence[Row]) -> RenderableType:
    """Headlines and the table of MR-clusters, to be drawn again and again."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in COLUMNS:
        table.add_column(Text(column.title or column.key), justify="right" if column.right else "left")
    for row in rows:
        cells = [Text(column.cell(row)) for column in COLUMNS]
        cells[_HEALTH].stylize(str(row["health"]))
        table.add_row(*cells)
    return Group(*(Text(line) for line in headlines(pool)), table)


def _part(value: float) -> str:
    return f"{value:.1%}"


def _some(count: int) -> str:
    return str(count) if count else NOTHING


def _text(text: str) -> str:
    return text or NOTHING


COLUMNS = (
    Column("cluster", "MR-cluster"),
    Column("life", "state"),
    Column("health"),
    Column("nodes", right=True),
    Column("target", right=True),
    Column("core", right=True),
    Column("transient_core", "TC", _some, right=True),
    Column("transient", "TR", _some, right=True),
    Column("joining", "+", _some, right=True),
    Column("leaving", "-", _some, right=True),
    Column("share", text=_part, right=True),
    Column("weight", text=_part, right=True),
    Column("jobs_waiting", "waiting", right=True),
    Column("jobs_running", "running", right=True),
    Column("reason", text=_text),
)
_HEALTH = [column.key for column in COLUMNS].index("health")
