"""`fawkes resume`: allow voluntary moves again."""

from __future__ import annotations

import click

from fawkes.cli.show.show import TABLE, output_option
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site


@click.command()
@output_option
@click.pass_obj
def resume(site: Site, output: str) -> None:
    """Allow voluntary moves again, starting with the next tick."""
    from fawkes.cli.asking.acting import tell
    from fawkes.cli.asking.client import Client
    from fawkes.cli.show.show import show

    Client(site).post("resume", {})
    tell("Voluntary moves are allowed again, from the next tick on", output)
    if output != TABLE:
        show([{"voluntary_moves": "allowed", "reason": ""}], TABLES["pause"], output)
