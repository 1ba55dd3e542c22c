"""`fawkes move-masters`: bring the masters of an MR-cluster to another node."""

from __future__ import annotations

import click

from fawkes.cli.asking import completion
from fawkes.cli.asking.acting import dry_run_option, rehearse, tell, the_cluster
from fawkes.cli.asking.client import Client
from fawkes.cli.show.show import TABLE, output_option, show
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site


@click.command("move-masters")
@click.argument("cluster", metavar="CLUSTER", shell_complete=completion.clusters)
@click.option("--to", metavar="NODE", shell_complete=completion.nodes, help="The core node (default: chosen).")
@click.option("--now", is_flag=True, help="Do not wait for jobs; those that the move ends begin again afterwards.")
@dry_run_option
@output_option
@click.pass_obj
def move_masters(site: Site, cluster: str, to: str | None, now: bool, dry_run: bool, output: str) -> None:
    """Move the NameNode, the ResourceManager and the JobHistory server of CLUSTER to another of its core nodes.

    No data is lost. Files and jobs of CLUSTER cannot be used for some seconds, and clients need its new address: run
    `fawkes env CLUSTER` again.

    Without --now, the move waits until no job and no application runs; new jobs wait for the move. The command returns
    at once.

    With a second NameNode (masters = "standby") applications go on, and clients need no new address. The move waits for
    commands of their own and for jobs that are not yet an application. NODE must be one of the journal's nodes; the
    second NameNode comes up there first.
    """
    client = Client(site)
    the_cluster(client, cluster)
    if dry_run:
        rehearse(client, "move-masters", {"cluster": cluster, "to": to, "now": now}, output)
        return
    facts = client.post("move-masters", {"cluster": cluster, "to": to, "now": now})
    running = facts.get("jobs")
    jobs = [str(job) for job in running] if isinstance(running, list) else []
    where = to or "another core node"
    if not jobs:
        rest = ""
    elif now:
        rest = f" now. These begin again afterwards: {', '.join(jobs)}"
    else:
        rest = f" once these have ended: {', '.join(jobs)}"
    tell(f"The masters of {cluster} go to {where}{rest}. Follow it with `fawkes events --follow`", output)
    if output != TABLE:
        show([{"cluster": cluster, "node": to, "waits_for": [] if now else jobs}], TABLES["move-masters"], output)
