"""`fawkes pause` and `fawkes resume`: stop all voluntary moves, and allow them again."""

from __future__ import annotations

import click

from fawkes.cli.asking.acting import dry_run_option, rehearse, tell
from fawkes.cli.asking.client import Client
from fawkes.cli.show.show import TABLE, output_option, show
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site


@click.command()
@click.option("--reason", required=True, help="Reason, shown to anyone who asks later.")
@dry_run_option
@output_option
@click.pass_obj
def pause(site: Site, reason: str, dry_run: bool, output: str) -> None:
    """Stop all voluntary moves: shares are still watched, but no node moves for the sake of balance.

    Moves under way finish, jobs continue, and MR-clusters are still deployed and released on request.
    """
    if dry_run:
        rehearse(Client(site), "pause", {"reason": reason}, output)
        return
    Client(site).post("pause", {"reason": reason})
    tell(f"Voluntary moves are paused ({reason}). Allow them again with `fawkes resume`", output)
    if output != TABLE:
        show([{"voluntary_moves": "paused", "reason": reason}], TABLES["pause"], output)


@click.command()
@dry_run_option
@output_option
@click.pass_obj
def resume(site: Site, dry_run: bool, output: str) -> None:
    """Allow voluntary moves again, starting with the next tick."""
    if dry_run:
        rehearse(Client(site), "resume", {}, output)
        return
    Client(site).post("resume", {})
    tell("Voluntary moves are allowed again, from the next tick on", output)
    if output != TABLE:
        show([{"voluntary_moves": "allowed", "reason": ""}], TABLES["pause"], output)
