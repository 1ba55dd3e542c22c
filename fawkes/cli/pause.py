"""`fawkes pause`: stop all voluntary moves."""

from __future__ import annotations

import click

from fawkes.config.site import Site


@click.command()
@click.option("--reason", required=True, help="Why, for whoever asks later.")
@click.pass_obj
def pause(site: Site, reason: str) -> None:
    """Stop all voluntary moves: shares are still watched, but no node moves for the sake of balance.

    What is under way ends, jobs go on, and MR-clusters come and go as they are asked for.
    """
    from fawkes.cli.client import Client

    Client(site).post("pause", {"reason": reason})
    click.echo(f"Voluntary moves are paused ({reason}). Allow them again with `fawkes resume`")
