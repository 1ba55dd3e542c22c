"""Shared parts of the acting commands: asking before something is lost, and acting on each of several."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from fawkes.base.errors import FawkesError, PartialError, RefusedError, UserError
from fawkes.base.units import counted, show_bytes
from fawkes.cli.asking.client import Client, NoControllerError
from fawkes.cli.asking.ledger import not_known
from fawkes.cli.show.show import TABLE, note, say, show, warn
from fawkes.cli.show.tables import TABLES
from fawkes.cli.show.visible import echo
from fawkes.core.values.model import Reason

#: lives in which nothing more happens (fawkes.core.values.lifecycle), as the controller answers them
ENDED = frozenset({"succeeded", "failed", "cancelled", "dropped", "killed"})
GONE = "gone"


def end_of(duration_us: int | None) -> int:
    """The time at which a duration that begins now is over; 0 without one."""
    return time.time_ns() // 1000 + duration_us if duration_us else 0


class BoundedNumber(click.FloatRange):
    """A number between two bounds; click's own type takes ``nan`` for any range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number; a usage error tells the range."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


def tell(text: str, output: str) -> None:
    """Tell what was done, on stdout; where rows are wanted there (``-o json``), on stderr."""
    echo(text, err=output != TABLE)


dry_run_option = click.option("--dry-run", is_flag=True, help="Only show what would be decided; nothing is done.")


def rehearse(client: Client, verb: str, body: Mapping[str, Any], output: str) -> None:
    """Show what the controller would decide about a request, in its own sentences; TurnedDownError if it would refuse.

    The controller decides as usual, on its state as it is, and neither stores nor does it.
    """
    from fawkes.report.tables.explain import lines_of

    would: Any = client.post(verb, body, dry_run=True).get("would", [])
    lines = lines_of([Reason(row["code"], row["facts"]) for row in would])
    warn("dry run: nothing is done")
    if output != TABLE:
        show([{"code": line.code, "text": line.text} for line in lines], TABLES["--dry-run"], output)
        return
    for text in [line.text for line in lines] or ["The request would be accepted"]:
        say(text, "  ")


def foresee_each(client: Client, verb: str, specs: Mapping[str, Any], check: Callable[[], object]) -> None:
    """Tell on stderr what the controller would decide about each of these specs; TurnedDownError if it would refuse.

    ``check`` looks for what only a controller knows. Without a controller that is said, and nothing else. Of one that
    is refused its refusal alone is told.
    """
    from fawkes.report.tables.explain import lines_of
    from fawkes.store.record import to_plain

    heads = ["dry run: nothing is done"]

    def act(name: str) -> None:
        would: Any = client.post(verb, {"spec": to_plain(specs[name])}, dry_run=True).get("would", [])
        while heads:
            warn(heads.pop())
        for line in lines_of([Reason(row["code"], row["facts"]) for row in would]):
            note(f"  {line.text}")

    try:
        check()
        for_each("accepted", list(specs), act)
    except NoControllerError:
        for head in heads:
            warn(head)
        note("no controller runs: only files were checked")


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


def node_names(text: str) -> tuple[str, ...]:
    """The nodes of a set, with ClusterShell's groups (``@rack1``); UserError when it is none."""
    from fawkes.config.files.nodeset import expand
    from fawkes.config.nodes.programs import clustershell_group

    try:
        return expand(text, clustershell_group)
    except ValueError as error:
        raise UserError(str(error)) from None


def the_cluster(client: Client, name: str) -> dict[str, Any]:
    """The controller's row of an MR-cluster that is there; UserError when there is none of that name."""
    rows = client.rows("clusters", cluster=name)
    if rows and rows[0]["state"] != GONE:
        return rows[0]
    if rows:
        raise UserError(f"the MR-cluster {name!r} is already gone", hint="`fawkes events` shows what happened to it")
    raise not_known(name, [row["cluster"] for row in client.rows("clusters")], "MR-cluster")


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
    """The standing of an MR-cluster, with its nodes and jobs, in a sentence."""
    jobs = f"{counted(cluster['jobs_started'], 'job')} running, {cluster['jobs_queued']} waiting"
    return f"{cluster['cluster']} is {cluster['state']}: {counted(cluster['nodes'], 'node')}, {jobs}"


def size(count: int | None) -> str:
    """A size for people; of data that could not be read nobody knows it."""
    return "of unknown size" if count is None else show_bytes(count)


def _whose(row: Mapping[str, Any]) -> str:
    """The number and the owners of files of data that nobody declared."""
    if row["save_to"] or row["files"] is None:
        return ""
    files = counted(row["files"], "file")
    return f"  {files} of {row['owner']}" if row["owner"] else f"  {files}"


def fate(row: Mapping[str, Any], discard: bool) -> str:
    """The fate of one folder of an MR-cluster in a release; ``save_to`` is empty for one that nobody declared."""
    if row["saved"]:
        return f"is saved in {row['save_to']}" if row["files"] != 0 else "has no files"
    if not row["save_to"]:
        return _fate_of_undeclared(row, discard)
    return "WILL BE LOST" if discard else f"will be saved to {row['save_to']} before any node is released"


def _fate_of_undeclared(row: Mapping[str, Any], discard: bool) -> str:
    where = "other data there is not known" if row["bytes"] is None else "it is in no declared output folder"
    if discard:
        return f"WILL BE LOST: {where}"
    return f"must be discarded with --discard-data, or copied away first: {where}"


def for_each(what: str, names: Sequence[str], act: Callable[[str], object]) -> None:
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
