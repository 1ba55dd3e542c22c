"""`fawkes resume`: allow voluntary moves again."""

from __future__ import annotations

import click

from fawkes.config.site import Site


@click.command()
@click.pass_obj
def resume(site: Site) -> None:
    """Allow voluntary moves again, from the next tick on."""
    from fawkes.cli.client import Client

    Client(site).post("resume", {})
    click.echo("Voluntary moves are allowed again, from the next tick on")
