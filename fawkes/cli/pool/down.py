"""`fawkes down`: stop for good."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import click

from fawkes.base.errors import FawkesError, PartialError, RefusedError, UserError
from fawkes.base.units import counted
from fawkes.cli.asking.acting import GONE, confirm, fate, tell, tell_at_stake
from fawkes.cli.asking.client import Client, HungUpError, NoControllerError, TurnedDownError
from fawkes.cli.asking.parsed import DURATION
from fawkes.cli.asking.waiting import over, tell_change, wait_for, within
from fawkes.cli.show.show import TABLE, note, output_option, show, warn
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site
from fawkes.core.values.model import Reason

_THEN = "Start it with `fawkes run`, then type `fawkes down` again"
_GOES_ON = "The controller goes on and then stops, which cannot be taken back: `fawkes down` again follows it"


@click.command()
@click.option("--discard-data", is_flag=True, help="Discard all data: outputs are not saved.")
@click.option("--force", is_flag=True, help="Cancel all jobs, waiting and running; kill applications of users.")
@click.option("--keep", is_flag=True, help="Stop the controller only; MR-clusters and their jobs keep running.")
@click.option("--timeout", "limit_us", type=DURATION, help="Longest time to wait for the nodes, such as 30m.")
@click.option("--yes", is_flag=True, help="Skip the question that asks to type the name of the pool.")
@click.option("--dry-run", is_flag=True, help="Only list the data at stake.")
@output_option
@click.pass_obj
def down(
    site: Site,
    discard_data: bool,
    force: bool,
    keep: bool,
    limit_us: int | None,
    yes: bool,
    dry_run: bool,
    output: str,
) -> None:
    """Stop for good: release every MR-cluster, then stop the controller.

    Lists the data at stake first. If one MR-cluster must not be released, because of undeclared data or
    running applications, all refusals are listed and none is released. Outputs are saved and verified before a node is
    released, and the controller stops when every node is wiped. If the command is interrupted, the controller
    continues; run the command again to follow it.

    Exits with 0 only when the ledger has the end of control and the controller has ended. If the controller dies
    before, the command lists what is not done and exits with 1. Run again after that end, it says so and exits with 0.
    """
    client = Client(site)
    try:
        clusters = _there(client)
    except NoControllerError:
        over_rows = None if keep else over(client, lambda: client.rows("nodes") if _end(client).get("ended") else None)
        if over_rows is None:
            raise
        tell("No controller is running: the last one ended with every node wiped and free. Nothing was done", output)
        if output != TABLE:
            show(over_rows, TABLES["drain"], output)
        return
    if keep:
        keep_running = "keeps running" if len(clusters) == 1 else "keep running"
        why = f"{counted(len(clusters), 'MR-cluster')} {keep_running} without it; `fawkes run` controls the pool again"
        _stop(client, why, limit_us, output)
        return
    with _before_it_is_asked():
        outputs = client.rows("at-stake") if clusters else []
        if dry_run:
            show([{**row, "fate": fate(row, discard_data)} for row in outputs], TABLES["release --dry-run"], output)
            _refuse(client, discard_data, force)
            note("`fawkes down` would release every MR-cluster")
            return
        tell_at_stake(clusters, outputs, discard_data)
        _refuse(client, discard_data, force)
        if clusters:
            pool = site.inventory(need_keys=False).pool
            confirm(pool, what=f"This releases {counted(len(clusters), 'MR-cluster')}.", yes=yes)
    with suppress(HungUpError, NoControllerError), within(client, limit_us) as left_us:
        # An empty pool ends at once, maybe before the answer is out: the ledger says how it ended.
        client.post("down", {"discard": discard_data, "force": force})
    nodes = _follow(client, left_us())
    tell("The controller has stopped: every node is wiped and free", output)
    if output != TABLE:
        show(nodes, TABLES["drain"], output)


@contextmanager
def _before_it_is_asked() -> Iterator[None]:
    """Turns the end of the controller into an error that says that nothing was asked of it yet."""
    try:
        yield
    except (HungUpError, NoControllerError):
        what = "the controller ended before `fawkes down` asked it to release anything: nothing was done"
        raise FawkesError(what, hint=_THEN) from None


def _there(client: Client) -> list[dict[str, Any]]:
    # Rows of 0.1.0 have no state, and `--keep` stops its controller as well.
    return [row for row in client.rows("clusters") if row.get("state") != GONE]


def _refuse(client: Client, discard: bool, force: bool) -> None:
    """RefusedError when the controller would not release the pool."""
    refused = _refusals(client, discard, force)
    if refused:
        raise RefusedError(
            f"{', '.join(refused)} must not be released: nothing was done",
            hint="Follow the advice above, or discard everything with `fawkes down --discard-data --force`",
        )


def _refusals(client: Client, discard: bool, force: bool) -> list[str]:
    """The MR-clusters that the controller would refuse to release; each refusal is told on stderr."""
    from fawkes.report.words.sentences import sentence

    try:
        client.post("down", {"discard": discard, "force": force, "dry_run": True})
    except TurnedDownError as error:
        refusals: Any = error.reason.facts.get("refusals", ())
        if not refusals:
            raise
        for refusal in refusals:
            warn(f"{refusal['facts']['cluster']}: {sentence(Reason(refusal['code'], refusal['facts']))}")
        return [refusal["facts"]["cluster"] for refusal in refusals]
    return []


def _follow(client: Client, limit_us: int | None) -> list[dict[str, Any]]:
    """The nodes as they were last seen before the controller ended; each step is told on stderr.

    PartialError, with the controller still there, when some nodes cannot be reached.
    """
    known: dict[str, tuple[str, str]] = {}
    nodes: list[dict[str, Any]] = []
    asker: str | None = None

    def look() -> bool | None:
        nonlocal asker
        end = _end(client)
        asker = None if client.stored is None else end.get("asked_by")
        clusters = _there(client)
        nodes[:] = client.rows("nodes")
        for row in clusters:
            tell_change(known, row["cluster"], row)
        if clusters:
            return None
        if end.get("ended"):
            return True
        if client.stored is None:
            _refuse_lost(nodes)
            if not end.get("asked_by", "not known"):
                _ask_again(client)
        return None

    try:
        what = "every node was wiped and free"
        wait_for(client, look, what, limit_us=limit_us, ends=True, then=_THEN, goes_on=_GOES_ON)
    except FawkesError:
        if asker is not None:
            warn(f"by the ledger, the controller had {'' if asker else 'not '}accepted `fawkes down`")
        raise
    return nodes


def _end(client: Client) -> Mapping[str, Any]:
    """The user who asked for the end of control, and whether it has come; empty for a controller that cannot say."""
    try:
        facts: Mapping[str, Any] = client.get("end")
    except UserError:
        # It was started by a version before this one: its ledger says the same once it has ended.
        return {}
    return facts


def _ask_again(client: Client) -> None:
    """Ask for the end once more: a controller that was killed at its very end came back without the wish to end."""
    try:
        client.post("down", {})
    except RefusedError:
        raise
    except FawkesError:
        # It ends just now, or has no room to store that: the next look tells.
        return


def _refuse_lost(nodes: list[dict[str, Any]]) -> None:
    """PartialError when the wiping of lost nodes alone is left."""
    lost = {row["node"]: row["alert"] or "does not answer" for row in nodes if row["state"] == "lost"}
    if lost and not any(row["state"] == "cleaning" for row in nodes):
        raise PartialError(
            "wiped",
            done=len(nodes) - len(lost),
            failed=lost,
            hint="The controller wipes them when they answer, and then stops; to stop it now, run `fawkes down --keep`",
        )


def _stop(client: Client, why: str, limit_us: int | None, output: str) -> None:
    nodes = client.rows("nodes")
    client.post("stop", {})
    goes_on = "The controller still stops: `fawkes status` shows when it has; `fawkes run` starts it again"
    wait_for(client, lambda: True, "it stopped", limit_us=limit_us, ends=True, goes_on=goes_on)
    tell(f"The controller has stopped: {why}", output)
    if output != TABLE:
        show(nodes, TABLES["drain"], output)
