"""What the acting commands share: asking before something is lost, and waiting for what was asked."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from fawkes.cli.show import TABLE, note, warn
from fawkes.cli.visible import echo
from fawkes.errors import FawkesError, PartialError, RefusedError, UserError
from fawkes.units import counted, duration_us, show_bytes

if TYPE_CHECKING:
    from fawkes.cli.client import Client

#: lives in which nothing more happens (fawkes.core.lifecycle), as the controller answers them
ENDED = frozenset({"succeeded", "failed", "cancelled", "dropped", "killed"})
GONE = "gone"


class Duration(click.ParamType[int]):
    """A duration such as ``90s`` or ``1h30m``; the command gets microseconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Microseconds; a usage error tells the right form."""
        if isinstance(value, int):
            return value
        try:
            return duration_us(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Number(click.FloatRange):
    """A number between two bounds; click's own type takes ``nan`` for any range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number; a usage error tells the range."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


def tell(text: str, output: str) -> None:
    """What was done, on stdout; where rows are wanted there (``-o json``), on stderr."""
    echo(text, err=output != TABLE)


def confirm(word: str, *, what: str, yes: bool) -> None:
    """Go on only if the user types ``word``; RefusedError otherwise, also when nobody is there to type."""
    if yes:
        return
    echo(f"{what} Type {word!r} to continue: ", err=True, nl=False)
    typed = "" if sys.stdin is None else sys.stdin.readline()
    if not typed:
        note("")
        raise RefusedError("there was no answer: nothing was done", hint="Without a terminal, add --yes")
    if typed.strip() != word:
        raise RefusedError(f"that was not {word!r}: nothing was done")


def the_cluster(client: Client, name: str) -> dict[str, Any]:
    """The controller's row of an MR-cluster that is there; UserError when there is none of that name."""
    import difflib

    rows = client.rows("clusters", cluster=name)
    if rows and rows[0]["state"] != GONE:
        return rows[0]
    if rows:
        raise UserError(f"the MR-cluster {name!r} is already gone", hint="`fawkes events` shows what happened to it")
    names = sorted(row["cluster"] for row in client.rows("clusters"))
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(names) or 'none'}"
    raise UserError(f"there is no MR-cluster {name!r}", hint=hint)


def the_job(client: Client, name: str) -> dict[str, Any] | None:
    """The controller's row of a job, also of one that has ended; None when there never was one of that name."""
    rows = client.rows("jobs", job=name)
    return rows[0] if rows else None


def tell_at_stake(clusters: Sequence[Mapping[str, Any]], outputs: Sequence[Mapping[str, Any]], discard: bool) -> None:
    """List on stderr what a release does to the data and the jobs of these MR-clusters."""
    for cluster in clusters:
        warn(standing(cluster))
        rows = [row for row in outputs if row["cluster"] == cluster["cluster"]]
        for row in rows:
            warn(f"  {row['path']}  {size(row['bytes'])}{_whose(row)}  {fate(row, discard)}")
        if not rows:
            warn("  no data")


def standing(cluster: Mapping[str, Any]) -> str:
    """How an MR-cluster stands, with its nodes and jobs, in a sentence."""
    jobs = f"{counted(cluster['jobs_started'], 'job')} running, {cluster['jobs_queued']} waiting"
    return f"{cluster['cluster']} is {cluster['state']}: {counted(cluster['nodes'], 'node')}, {jobs}"


def size(count: int | None) -> str:
    """A size for people; of data that could not be read nobody knows it."""
    return "of unknown size" if count is None else show_bytes(count)


def _whose(row: Mapping[str, Any]) -> str:
    """How many files, and whose they are, of data that nobody declared."""
    if row["save_to"] or row["files"] is None:
        return ""
    files = counted(row["files"], "file")
    return f"  {files} of {row['owner']}" if row["owner"] else f"  {files}"


def fate(row: Mapping[str, Any], discard: bool) -> str:
    """What a release does with one folder of an MR-cluster; ``save_to`` is empty for one that nobody declared."""
    if row["saved"]:
        return f"is saved in {row['save_to']}"
    if not row["save_to"]:
        return _fate_of_undeclared(row, discard)
    return "WILL BE LOST" if discard else f"will be saved to {row['save_to']} before any node is released"


def _fate_of_undeclared(row: Mapping[str, Any], discard: bool) -> str:
    where = "other data there is not known" if row["bytes"] is None else "it is in no declared output folder"
    if discard:
        return f"WILL BE LOST: {where}"
    return f"must be discarded with --discard-data, or copied away first: {where}"


def wait_for_clusters(
    client: Client,
    names: Sequence[str],
    done: Callable[[Mapping[str, Any]], bool],
    what: str,
    limit_us: int | None,
    then: str,
) -> None:
    """Wait until ``done`` holds for each MR-cluster; each step and each alert is told on stderr.

    ``then`` is what to do when the controller ends before; see `fawkes.cli.waiting.wait_for`.
    """
    from fawkes.cli.waiting import wait_for

    told: dict[str, tuple[str, str]] = {}

    def look() -> bool | None:
        open_ones = 0
        for name in names:
            row = _known(client.rows("clusters", cluster=name), name)
            tell_change(told, name, row)
            open_ones += not done(row)
        return None if open_ones else True

    wait_for(client, look, what, limit_us=limit_us, then=then)


def tell_change(told: dict[str, tuple[str, str]], name: str, row: Mapping[str, Any]) -> None:
    """Say how something stands if that is news; ``told`` remembers what was said."""
    now = (row["state"], row.get("alert", ""))
    if told.get(name) != now:
        told[name] = now
        note(f"{name}: {now[0]}" + (f" ({now[1]})" if now[1] else ""))


def wait_for_jobs(client: Client, names: Sequence[str], limit_us: int | None) -> list[dict[str, Any]]:
    """The rows of the jobs once all have ended, however; each step is told on stderr.

    Errors are those of `fawkes.cli.waiting.wait_for`.
    """
    from fawkes.cli.waiting import wait_for

    told: dict[str, tuple[str, str]] = {}

    def look() -> list[dict[str, Any]] | None:
        rows = [_known(client.rows("jobs", job=name), name) for name in names]
        for name, row in zip(names, rows, strict=True):
            tell_change(told, name, row)
        return rows if all(row["state"] in ENDED for row in rows) else None

    # Never the same command again: it would submit the job once more.
    then = "Start it with `fawkes run`: it goes on with them, and `fawkes jobs` shows how they end"
    return wait_for(client, look, "all jobs had ended", limit_us=limit_us, then=then)


def _known(rows: Sequence[dict[str, Any]], name: str) -> dict[str, Any]:
    """The one row; without it somebody exchanged the ledger under a controller that was asked before."""
    if not rows:
        raise FawkesError(f"the controller no longer knows {name!r}", hint="`fawkes events` shows what happened")
    return rows[0]


def for_each(what: str, names: Sequence[str], act: Callable[[str], None]) -> None:
    """Act on each; the only one's error as it is, of several PartialError with the reasons of those that failed."""
    failed: dict[str, FawkesError] = {}
    for name in names:
        try:
            act(name)
        except (RefusedError, UserError) as error:
            failed[name] = error
    if len(names) == 1 and failed:
        raise failed[names[0]]
    if failed:
        reasons = {name: str(error) for name, error in failed.items()}
        raise PartialError(what, done=len(names) - len(failed), failed=reasons)
