"""`fawkes retry`: try again at once, after a repair."""

from __future__ import annotations

import difflib

import click

from fawkes.base.errors import UserError
from fawkes.cli.asking import completion
from fawkes.cli.asking.acting import GONE, for_each, node_names, tell
from fawkes.cli.asking.client import Client
from fawkes.cli.show.show import TABLE, output_option, show
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site


@click.command()
@click.argument("name", metavar="NODE|CLUSTER", shell_complete=completion.nodes_and_clusters)
@click.option("--dry-run", is_flag=True, help="Only show the current state.")
@output_option
@click.pass_obj
def retry(site: Site, name: str, dry_run: bool, output: str) -> None:
    """Retry failed actions at once, instead of waiting for the next attempt.

    NODE is a node or a set, such as node[03-05]. CLUSTER is an MR-cluster: its current stage, its member list and all
    of its nodes are retried, and an alert about lost writes ends. Use this after a repair; otherwise, Fawkes retries by
    itself, after ever longer waits.
    """
    names = node_names(name)
    client = Client(site)
    standing = [_standing(client, each) for each in names]
    if dry_run:
        show(standing, TABLES["retry --dry-run"], output)
        for_each("could be tried", names, lambda each: client.post("retry", {"subject": each}, dry_run=True))
        return
    tried: list[dict[str, object]] = []

    def act(each: str) -> None:
        facts = client.post("retry", {"subject": each})
        tried.append({"subject": each, "tried": facts.get("tried")})
        tell(f"{each} is retried now: follow it with `fawkes events --follow`", output)

    for_each("tried again", names, act)
    if output != TABLE:
        show(tried, TABLES["retry"], output)


def _standing(client: Client, name: str) -> dict[str, object]:
    """The standing of a node or an MR-cluster; UserError when there is neither of that name."""
    node = client.rows("nodes", node=name)
    cluster = [row for row in client.rows("clusters", cluster=name) if row["state"] != GONE]
    for row in [*node, *cluster]:
        return {"subject": name, "state": row["state"], "alert": row["alert"]}
    known = [row["node"] for row in client.rows("nodes")]
    known += [row["cluster"] for row in client.rows("clusters") if row["state"] != GONE]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else "`fawkes nodes` and `fawkes status` list them"
    raise UserError(f"there is neither a node nor an MR-cluster {name!r}", hint=hint)
