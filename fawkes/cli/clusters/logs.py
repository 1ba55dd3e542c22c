"""`fawkes logs`: the logs of an MR-cluster's daemons and jobs."""

from __future__ import annotations

import json
from typing import Any

import click

from fawkes.cli.asking import completion
from fawkes.cli.asking.client import Client
from fawkes.cli.show.visible import echo
from fawkes.config.site.site import Site


@click.command()
@click.argument("cluster", metavar="CLUSTER", shell_complete=completion.clusters)
@click.option("--node", help="Only logs of this node.", shell_complete=completion.nodes)
@click.option("--job", help="Only logs of this job: its launcher and its tasks.", shell_complete=completion.jobs)
@click.option(
    "--lines",
    type=click.IntRange(0, 1_000_000),
    default=200,
    show_default=True,
    help="Number of last lines of each log; 0 for all.",
)
@click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output format."
)
@click.pass_obj
def logs(site: Site, cluster: str, node: str | None, job: str | None, lines: int, output: str) -> None:
    """Fetch the logs of CLUSTER from its nodes: daemons, launchers of jobs, and with --job its tasks.

    With `-o json` each line is an object with node, file and text.
    """
    parameters = {"cluster": cluster, "lines": str(lines)}
    parameters |= {key: value for key, value in (("node", node), ("job", job)) if value is not None}
    before: Any = None
    for piece in Client(site).stream("logs", **parameters):
        if output == "json":
            click.echo(json.dumps(piece))
            continue
        if before != (piece["node"], piece["file"]):
            echo(f"{'' if before is None else chr(10)}==> {piece['node']} {piece['file']} <==")
            before = (piece["node"], piece["file"])
        echo(piece["text"], nl=not piece["text"].endswith("\n"))
    if before is None and output == "text":
        click.echo("there are no such logs", err=True)
