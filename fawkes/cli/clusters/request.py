"""`fawkes request`: request MR-clusters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from fawkes.base.errors import FawkesError, UserError
from fawkes.cli.asking import completion
from fawkes.cli.asking.acting import GONE, for_each, foresee_each, tell
from fawkes.cli.asking.client import Client
from fawkes.cli.asking.parsed import DURATION
from fawkes.cli.asking.releases import provide_releases
from fawkes.cli.asking.waiting import followed, wait_for_clusters
from fawkes.cli.show.show import TABLE, output_option, show
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site
from fawkes.core.values.model import ClusterSpec, Promise

RUNNING = "running"


@click.command()
@click.argument("files", metavar="FILE|NAME...", nargs=-1, required=True, shell_complete=completion.cluster_files)
@click.option("--wait", is_flag=True, help="Return only when the MR-clusters are running.")
@click.option("--timeout", "limit_us", type=DURATION, help="With --wait: how long at most, such as 10m.")
@click.option("--fetch/--no-fetch", default=True, help="Fetch what the cache lacks.  [default: fetch]")
@click.option("--dry-run", is_flag=True, help="Check the files and show what would be requested.")
@output_option
@click.pass_obj
def request(
    site: Site, files: tuple[str, ...], wait: bool, limit_us: int | None, fetch: bool, dry_run: bool, output: str
) -> None:
    """Request an MR-cluster by its FILE, or by its NAME in the site's clusters/ folder.

    The MR-cluster waits in the queue until its minimum of nodes is free. MR-clusters that hold more than their own
    minimum give up nodes for it. All files are checked before anything is sent; with --dry-run a controller that runs
    says besides what it would decide, and ends with 6 if it would refuse.
    """
    from fawkes.live.hadoop.releases import needs_of
    from fawkes.store.record import to_plain

    specs = _checked(site, files)
    if dry_run:
        foresee_each(Client(site), "request", specs, lambda: None)
        show([_row(spec) for spec in specs.values()], TABLES["request --dry-run"], output)
        return
    client = Client(site)
    provide_releases(client, map(needs_of, specs.values()), fetch=fetch)

    def act(name: str) -> None:
        spec = specs[name]
        with followed(client, wait):
            client.post("request", {"spec": to_plain(spec)})
            second = "" if spec.masters is Promise.KEPT else ", with a second NameNode"
            tell(f"{name} is requested: {spec.min_nodes} core nodes{second}.{_next(spec, wait)}", output)

    for_each("requested", list(specs), act)
    if wait:
        waited = [spec.id for spec in specs.values() if not spec.deploy_on_first_job]
        then = "Start it with `fawkes run`: it goes on with them, and `fawkes status` shows their state"
        goes_on = "What was requested goes on: `fawkes status` shows it, `fawkes release NAME` takes it back"
        wait_for_clusters(client, waited, _runs, "all MR-clusters were running", limit_us, then, goes_on)
    if output != TABLE:
        show([row for name in specs for row in client.rows("clusters", cluster=name)], TABLES["request"], output)


def _checked(site: Site, files: tuple[str, ...]) -> dict[str, ClusterSpec]:
    from fawkes.config.clusters.clusters import load_cluster
    from fawkes.config.site.users import users_of

    inventory = site.inventory(need_keys=False)
    specs: dict[str, ClusterSpec] = {}
    paths = [_file(site, name) for name in files]
    loaded = [load_cluster(path, inventory) for path in paths]
    users_of(dict.fromkeys(paths))
    for spec in loaded:
        if spec.id in specs:
            raise UserError(f"the MR-cluster {spec.id!r} is named twice", hint="Give each an id of its own")
        specs[spec.id] = spec
    return specs


def _file(site: Site, name: str) -> Path:
    """A path as it is; a bare name is that of a file in clusters/."""
    path = Path(name)
    if path.suffix == ".toml" or "/" in name or path.is_file():
        return path
    return site.clusters_dir / f"{name}.toml"


def _runs(row: Mapping[str, Any]) -> bool:
    name = row["cluster"]
    if row["failed"] or row["state"] == GONE:
        what = row["failed"] or "it went away before it ran"
        raise FawkesError(what, where=name, hint=f"`fawkes events` tells what happened to {name}")
    return bool(row["state"] == RUNNING)


def _next(spec: ClusterSpec, wait: bool) -> str:
    if spec.deploy_on_first_job:
        return f" It is deployed with its first job: `fawkes submit {spec.id} ...`"
    return "" if wait else " Follow it with `fawkes status --watch`"


def _row(spec: ClusterSpec) -> dict[str, Any]:
    details = spec.details
    return {
        "cluster": spec.id,
        "min_nodes": spec.min_nodes,
        "max_nodes": spec.max_nodes,
        "growth": spec.growth and spec.growth.value,
        "replication": spec.replication,
        "hadoop": details["hadoop_version"] or details["release_dir"],
        "promise": spec.masters.value,
        "deploy": "first job" if spec.deploy_on_first_job else "at once",
        "details": details,
    }
