"""`fawkes resume`: allow voluntary moves again."""

from __future__ import annotations

import click

from fawkes.cli.asking.acting import dry_run_option, rehearse, tell
from fawkes.cli.asking.client import Client
from fawkes.cli.show.show import TABLE, output_option, show
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site


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
