"""`fawkes config`: the configuration of a node, and how it differs from what runs there and from Hadoop's defaults."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import click

from fawkes.base.errors import FawkesError, UserError
from fawkes.cli.asking import completion
from fawkes.cli.asking.acting import the_cluster
from fawkes.cli.asking.client import Client
from fawkes.cli.show.show import TABLE, note, output_option, show
from fawkes.cli.show.tables import TABLES
from fawkes.cli.show.visible import echo
from fawkes.config.site.site import Site

_DEFAULTS = {
    "core-default.xml": "hadoop-common-[0-9]*.jar",
    "hdfs-default.xml": "hadoop-hdfs-[0-9]*.jar",
    "yarn-default.xml": "hadoop-yarn-common-[0-9]*.jar",
    "mapred-default.xml": "hadoop-mapreduce-client-core-[0-9]*.jar",
}
_CLUSTER = click.argument("cluster", metavar="CLUSTER", shell_complete=completion.clusters)
_NODE = click.argument("node", metavar="[NODE]", required=False, shell_complete=completion.nodes)


@click.group()
def config() -> None:
    """Show the configuration of a node of an MR-cluster, and how it differs from what runs there."""


@config.command()
@_CLUSTER
@_NODE
@click.option("--file", "only", metavar="NAME", help="Only this file, as it is, such as yarn-site.xml.")
@click.pass_obj
def render(site: Site, cluster: str, node: str | None, only: str | None) -> None:
    """Print the files that Fawkes writes for NODE now (default: the node of the masters); secrets are hidden."""
    files = _configuration(site, cluster, node)["files"]
    if only is not None and only not in files:
        raise UserError(f"there is no file {only!r}", where="--file", hint=f"There are: {', '.join(files)}")
    for name in files if only is None else [only]:
        if only is None:
            echo(f"==> {name} <==")
        echo(files[name], nl=not files[name].endswith("\n"))


@config.command()
@_CLUSTER
@_NODE
@click.option("--defaults", "from_defaults", is_flag=True, help="Compare with Hadoop's defaults instead.")
@output_option
@click.pass_obj
def diff(site: Site, cluster: str, node: str | None, from_defaults: bool, output: str) -> None:
    """Show where the daemons of NODE run with other settings than Fawkes writes now.

    NODE is the node of the masters by default. Daemons read their files when they start: what differs counts after
    they are started again. Each daemon is asked itself; one that does not answer is an error (exit code 1), because
    how it runs is not known then. capacity-scheduler.xml and hadoop-policy.xml are not told by daemons.
    """
    from fawkes.report.tables.config_rows import against_daemons, against_defaults, values_of

    answer = _configuration(site, cluster, node, **({} if from_defaults else {"running": "yes"}))
    files = {name: values_of(text) for name, text in answer["files"].items() if name.endswith(".xml")}
    defaults = _defaults(Path(answer["release_dir"]))
    if from_defaults:
        show(list(against_defaults(files, defaults)), TABLES["config diff --defaults"], output)
        return
    running = {name: has for name, has in answer["running"].items() if has is not None}
    rows = list(against_daemons(files, running, answer["reads"], defaults))
    if rows or output != TABLE:
        show(rows, TABLES["config diff"], output)
    elif running:
        note(f"{', '.join(running)} on {answer['node']}: as Fawkes writes it")
    if silent := sorted(answer["running"].keys() - running.keys()):
        hint = f"`fawkes nodes` and `fawkes logs {cluster} --node {answer['node']}` show what is wrong"
        raise FawkesError(f"how {', '.join(silent)} runs is not known: no answer", where=answer["node"], hint=hint)


def _configuration(site: Site, cluster: str, node: str | None, **parameters: str) -> Any:
    client = Client(site)
    the_cluster(client, cluster)
    return client.get("config", cluster=cluster, **({} if node is None else {"node": node}), **parameters)


def _defaults(home: Path) -> dict[str, str]:
    """Hadoop's own defaults, by the jars of a release on this machine; what is not there is not known."""
    from fawkes.report.tables.config_rows import values_of

    values: dict[str, str] = {}
    for name, jars in _DEFAULTS.items():
        for jar in sorted(home.rglob(jars)):
            with zipfile.ZipFile(jar) as opened:
                if name in opened.namelist():
                    values |= values_of(opened.read(name).decode())
    if not values:
        note(f"Hadoop's defaults are not known: its release is not on this machine ({home})")
    return values
