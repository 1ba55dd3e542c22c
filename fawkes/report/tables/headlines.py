"""The lines above and below the table of `fawkes status`, which the page shows as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fawkes.base.units import clock, counted
from fawkes.report.words.facts import controller_name

Row = dict[str, Any]


def _controller(pool: Row) -> str:
    return f"controller: {controller_name(pool['controller'])}, started {clock(pool['started'])}"


def headlines(pool: Row) -> list[str]:
    """The pool in a few lines: who is in charge, nodes, whether moves are stopped, the latest tick."""
    if pool["pool"] is None:
        return ["nothing has happened yet"]
    shadow = ", in shadow mode: it does nothing" if pool["shadow"] else ""
    by = "a simulated run" if pool["simulated"] else _controller(pool)
    silent = f" ({pool['silent']} of them not answering: `fawkes nodes`)" if pool["silent"] else ""
    lines = [
        f"pool {pool['pool']}, as of {clock(pool['as_of'])}",
        f"{by}, Fawkes {pool['fawkes']}{shadow}",
        f"{counted(pool['nodes'], 'node')}: {pool['held']} held, "
        f"{pool['free']} free{silent}, {pool['out']} out of service"
        + (f", {pool['lost']} LOST (`fawkes nodes` says why)" if pool["lost"] else ""),
    ]
    if pool["given_back_by"]:
        lines.append(f"THE POOL IS BEING RELEASED, as {pool['given_back_by']} asked: the controller stops after that")
    if pool["clock"]:
        lines.append(
            f"THE CLOCK JUMPED: {pool['clock']}. Nothing expires by it; check the time service of this machine"
        )
    if pool["settings_changed"]:
        lines.append(f"settings changed: {pool['settings_changed']}")
    if pool["paused"]:
        lines.append(f"VOLUNTARY MOVES ARE STOPPED: {pool['paused']}")
    lines += [*pool["nodes_held"], *filter(None, [pool.get("page")])]
    if pool["deadlines"] is not None:
        of = pool["deadlines"]
        ended = ", ".join(f"{of[name]} {name}" for name in ("met", "missed", "dropped", "killed"))
        jobs = f"jobs with a deadline: {of['waiting']} waiting, {of['running']} running"
        lines.append(f"admission policy {pool['admission']}, deadlines: {ended}; {jobs}")
    if pool["tick"] is not None:
        lines.append(f"tick {pool['tick']}, {clock(pool['tick_at'])}, policy {pool['policy']}: {pool['verdict']}")
    return lines


def trouble_lines(rows: Sequence[Row]) -> list[str]:
    """A line for each MR-cluster that is held or that somebody should look at, and one for each further alert."""
    lines = [f"{row['cluster']} is {row['hold']}" for row in rows if row["hold"]]
    for row in (row for row in rows if row["why"]):
        lines.append(f"{row['cluster']} is {row['health']}: {row['why']}")
        lines += [f"{row['cluster']}: {alert}" for alert in row["alerts"] if alert not in row["why"]]
    return lines
