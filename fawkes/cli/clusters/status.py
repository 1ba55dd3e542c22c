"""`fawkes status`: MR-clusters, their shares and weights, the latest tick, and who is in charge."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from fawkes.base.errors import FawkesError, UserError
from fawkes.base.units import clock, counted, show_duration
from fawkes.base.visible import visible
from fawkes.cli.asking import completion
from fawkes.cli.asking.client import Client
from fawkes.cli.asking.ledger import absence, boards_of, deaf, death, ledger_of, silence, silent
from fawkes.cli.show.layout import fitted, more
from fawkes.cli.show.show import TABLE, Wide, console, output_option, say, show
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fawkes.store.base import Reader

_LOOK_S = 0.5
_ASK_S = 2.0
#: of a job in one of these states the row says what it waits for
_UNDER_WAY = ("starting", "running")

Row = dict[str, Any]
Board = Callable[[str], list[Row]]


@click.command()
@click.argument("cluster", required=False, shell_complete=completion.clusters)
@click.option("--all", "everything", is_flag=True, help="Also show MR-clusters that are gone.")
@click.option("--watch", is_flag=True, help="Keep showing changes until interrupted.")
@output_option
@click.pass_obj
def status(site: Site, cluster: str | None, everything: bool, watch: bool, output: str) -> None:
    """Show the pool and its MR-clusters, or one of them: nodes by role, share, weight, target, jobs, health."""
    from fawkes.report.tables.headlines import headlines, trouble_lines

    if watch and output != TABLE:
        raise click.UsageError("--watch is for people: `fawkes events --follow -o json` is for programs.")
    if watch:
        with ledger_of(site, now=True) as ledger:
            _watch(site, ledger, cluster, everything)
        return
    with boards_of(site) as board:
        pool, rows = _look(site, board, cluster, everything)
        seconds = board("standby") if any(row["journal"] is not None for row in rows) else []
        in_words = output == TABLE and not isinstance(output, Wide)
        standing = _standing_lines(board, rows) if in_words else []
    if output == TABLE:
        for line in headlines(pool):
            say(line, "  ")
        click.echo()
    show(rows, TABLES["status"], output, envelope={"pool": pool})
    if in_words:
        spark = [
            f"{row['cluster']}: Spark's history is at {row['spark_history']}" for row in rows if row["spark_history"]
        ]
        copies = _masters_lines(site, rows, seconds) if cluster is not None else []
        lines = (*trouble_lines(rows), *target_lines(pool, rows), *standing, *copies, *spark, *user_lines(pool, rows))
        for line in lines:
            say(line, "  ")


def _look(site: Site, board: Board, cluster: str | None, everything: bool) -> tuple[Row, list[Row]]:
    from fawkes.cli.asking.ledger import known
    from fawkes.report.tables.rows import gone

    rows = board("clusters")
    if cluster is not None:
        known(cluster, [row["cluster"] for row in rows], "MR-cluster")
    wanted = [row for row in rows if row["cluster"] == cluster or (cluster is None and (everything or not gone(row)))]
    return {**board("pool")[0], **_said(site), "unanswered": silent()}, wanted


def _answer(site: Site, name: str, **parameters: str) -> Any:
    """The answer of a running controller; None when it does not answer."""
    if deaf():
        return None
    try:
        return Client(site, timeout_s=_ASK_S).get(name, **parameters)
    except FawkesError:
        return None


def _said(site: Site) -> Row:
    """The reason why the ledger cannot be written, empty if it can or if that is unknown, and a line about the page."""
    row = _answer(site, "ledger") or {"trouble": ""}
    return {"trouble": str(row["trouble"]), "page": page_line(site, row.get("page"))}


def page_line(site: Site, page: Row | None) -> str:
    """The address of the page that ``[web]`` serves, and how it is; empty without one. ``page`` None: not known."""
    if page is None:
        try:
            web = site.settings().web
        except FawkesError:  # `fawkes reload` and `fawkes run` say what is wrong with the file
            return ""
        return "" if web is None else f"page: {web.url} (not known if it is served: the controller does not say)"
    return f"page: {page['url']}" + (f" IS NOT SERVED: {page['ended']}" if page["ended"] else "") if page else ""


def _masters_lines(site: Site, rows: Sequence[Row], seconds: Sequence[Row]) -> list[str]:
    """Place where masters are, the age of the copies of their data if a controller runs, and the second NameNode."""
    lines = []
    for row in (row for row in rows if row["masters_on"] is not None):
        known = _answer(site, "copies", cluster=row["cluster"]) or []
        lines.append(copy_line(row, known))
        if row["journal"] is not None:
            lines.append(standby_line(row, [seen for seen in seconds if seen["cluster"] == row["cluster"]]))
    return lines


def _standing_lines(board: Board, rows: Sequence[Row]) -> list[str]:
    """A line for each job of these MR-clusters of which nothing moves; read only where some are under way."""
    busy = {row["cluster"] for row in rows if row["jobs_running"] or row["jobs_waiting"]}
    jobs = board("jobs-there") if busy else []
    return [row["why"] for row in jobs if row["cluster"] in busy and row["why"] and row["state"] in _UNDER_WAY]


def copy_line(row: Row, known: Sequence[Row]) -> str:
    """The promise of an MR-cluster in a sentence; ``known`` has the age of the controller's copy, if it is known."""
    if not known:
        age = "of unknown age"
    elif known[0]["age_us"] is None:
        age = "NOT MADE YET"
    else:
        age = f"{show_duration(known[0]['age_us'])} old"
    second = f"goes to {row['second_copy']}" if row["second_copy"] else "has NO PLACE: there is no other core node"
    return (
        f"{row['cluster']}: its masters are on {row['masters_on']}; promise: {row['promise']}. "
        f"The controller's copy of their data is {age}; a second copy {second}"
    )


def standby_line(row: Row, seen: Sequence[Row]) -> str:
    """The second NameNode of an MR-cluster in a sentence; ``seen`` says how it was seen last, if it ever was."""
    from fawkes.config.files.nodeset import fold

    where = f"{row['cluster']}: its journal is on {fold(row['journal'])}; the second NameNode"
    if row["second_namenode"] is None:
        return f"{where} has NO PLACE: it needs another core node in service"
    where += f" on {row['second_namenode']}"
    if row["second_namenode"] == row["masters_on"]:
        return f"{where} is taking over"
    able = "can take over" if row["takes_over"] else "CANNOT TAKE OVER"
    if not seen or seen[0]["takes_over"] != row["takes_over"]:
        return f"{where} {able}" + ("" if row["takes_over"] else " yet: it is being brought up")
    error = f": {seen[0]['error']}" if seen[0]["error"] else ""
    return f"{where} {able}, since {clock(seen[0]['since'])}{error}"


def _watch(site: Site, ledger: Reader, cluster: str | None, everything: bool) -> None:
    from rich.live import Live

    from fawkes.report.history import last_us, simulated
    from fawkes.report.tables.board import board as read
    from fawkes.store.lock import holder

    out = console()
    if not out.is_terminal:
        raise UserError("--watch needs a terminal", hint="`fawkes events --follow` writes lines")
    seen: tuple[int, str, Row] | None = None
    with Live(console=out, screen=False, auto_refresh=False) as live:
        while True:
            held, as_of_us = holder(site.state_dir), last_us(ledger)
            if held is not None:
                line = silence(site, held, as_of_us)
            else:
                line = "" if simulated(ledger) else death(site, as_of_us) or absence(as_of_us)
            last = ledger.last_seq(), line, {} if line else _said(site)
            if last != seen:
                seen = last
                pool, rows = _look(site, lambda of: read(ledger, of), cluster, everything)
                live.update(board({**pool, "unanswered": line}, rows, out.width), refresh=True)
            time.sleep(_LOOK_S)


def board(pool: Row, rows: Sequence[Row], width: int) -> RenderableType:
    """Headlines and the table of MR-clusters within ``width``, to be drawn again and again."""
    from rich.console import Group
    from rich.text import Text

    from fawkes.report.tables.headlines import headlines, trouble_lines

    layout = fitted(rows, TABLES["status"], width)
    above = [*filter(None, [pool.get("unanswered")]), *headlines(pool)]
    below = [*([more(layout.dropped)] if layout.dropped else []), *trouble_lines(rows), *target_lines(pool, rows)]
    return Group(*map(Text, map(visible, above)), Text(), layout.grid, *map(Text, map(visible, below)))


def user_lines(pool: Row, rows: Sequence[Row]) -> list[str]:
    """A short line that names real MR-clusters without a Unix user of their own; nothing if all have one."""
    from fawkes.report.tables.rows import gone

    without = [row["cluster"] for row in rows if not row["run_as"] and not gone(row)]
    if not without or pool["simulated"]:
        return []
    return [f"without `run_as`: {', '.join(sorted(without))} (`fawkes check` says what that means)"]


def target_lines(pool: Row, rows: Sequence[Row]) -> list[str]:
    """Sentences about targets that count nodes which are not in service."""
    lines = [
        f"{row['cluster']}: target {row['target']}, but {row['out_of_service']} of its {counted(row['nodes'], 'node')} "
        f"{'is' if row['out_of_service'] == 1 else 'are'} out of service"
        for row in rows
        if row["target"] is not None and row["out_of_service"]
    ]
    wanted, serving = sum(row["target"] or 0 for row in rows), pool["nodes"] - pool["out"] - pool["lost"]
    if not lines and wanted > serving:
        lines = [f"the targets are for {counted(wanted, 'node')}, and {serving} are in service now: see the next tick"]
    return lines
