"""`fawkes lab`: hosts on this machine, for trying out and for tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from fawkes.base.extras import needs
from fawkes.base.units import counted
from fawkes.cli.asking.parsed import SIZE, Parsed, some_bytes
from fawkes.cli.show.show import note, output_option, show
from fawkes.cli.show.tables import TABLES

if TYPE_CHECKING:
    from fawkes.live.lab import HostStatus, Lab

_DEFAULT_SITE = Path("lab")


def _which(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options by which every command finds its lab."""
    name = click.option(
        "--name", default="", metavar="NAME", help="Name of the lab.  [default: made from the site folder]"
    )
    site = click.option(
        "--site",
        metavar="DIR",
        type=click.Path(file_okay=False, path_type=Path),
        help="Site folder of the lab.  [default: ./lab, or `fawkes --site`]",
    )
    return site(name(command))


@click.group()
def lab() -> None:
    """Hosts on this machine, each with a real sshd, for trials and tests."""


@lab.command()
@click.option("--hosts", required=True, type=int, metavar="N", help="Number of hosts.")
@_which
@click.option(
    "--nodemanager-memory",
    type=Parsed("size", lambda text: None if text == "auto" else some_bytes(text)),
    metavar="auto|SIZE",
    help="Memory that each host offers to Hadoop; auto: computed from this machine.  [default: auto]",
)
@click.option("--disk", type=SIZE, metavar="SIZE", help="Limit of each host's /srv, held in memory.")
@click.option("--sshd", multiple=True, metavar="LINE", help="A line for sshd_config of the hosts; may be repeated.")
@click.option("--shell", default="", metavar="PATH", help="Login shell on the hosts.  [default: bash]")
@click.option("--noexec", is_flag=True, help="Let no program below /srv of a host run.")
@click.option("--rate", type=SIZE, metavar="SIZE", help="Limit of each host's network, in bytes per second.")
@click.option("--users", default="", metavar="NAME,...", help="Unix users of the hosts that MR-clusters can `run_as`.")
@click.option(
    "--jump-hosts",
    type=click.IntRange(0, 2),
    default=0,
    metavar="N",
    help="Jump hosts before the hosts, 0 to 2.  [default: 0]",
)
@click.option(
    "--data-network",
    metavar="open|closed",
    default="",
    help="A second network for data; open: the controller's side reaches it, closed: it does not.",
)
@click.option(
    "--sites", type=click.IntRange(1, 2), default=1, metavar="N", help="Sites of the hosts, 1 or 2.  [default: 1]"
)
@click.option(
    "--link-rate", type=SIZE, metavar="SIZE", help="Limit of the link between two sites, in bytes per second."
)
@click.option("--control-groups", is_flag=True, help="Give each host control groups of its own. Needs root.")
@needs("fawkes lab up", "lab")
def up(
    hosts: int,
    site: Path | None,
    nodemanager_memory: int | None,
    disk: int | None,
    rate: int | None,
    link_rate: int | None,
    users: str,
    **same: Any,
) -> None:
    """Bring a lab up and write DIR/inventory.toml, known_hosts and the key."""
    from fawkes.live import lab as labs

    spec = labs.LabSpec(
        hosts=hosts,
        site=_site(site),
        nodemanager_memory_bytes=nodemanager_memory,
        disk_bytes=disk,
        rate_bytes=rate,
        link_rate_bytes=link_rate,
        users=tuple(filter(None, users.split(","))),
        **same,
    )
    made = labs.up(spec, tell=note)
    up = "up" if made.fresh else "up already"
    click.echo(f"lab {made.name}: {counted(hosts, 'host')} {up}, site folder {made.site}")


@lab.command()
@_which
def down(site: Path | None, name: str) -> None:
    """Take a lab down; only its site folder stays."""
    from fawkes.live import lab as labs

    name = name or labs.name_of_site(_site(site).absolute())
    click.echo(f"lab {name}: {'down' if labs.down(name) else 'was not up'}")


@lab.command()
@_which
@output_option
def status(site: Path | None, name: str, output: str) -> None:
    """Show the hosts of a lab: on, off or paused, and whether their cable is cut."""
    from dataclasses import asdict

    show([asdict(row) for row in _find(site, name).status()], TABLES["lab status"], output)


@lab.command(name="exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@_which
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def exec_(site: Path | None, name: str, command: tuple[str, ...]) -> None:
    """Run a command on the controller's side of a lab: its network and names, this machine's files."""
    _find(site, name).become(command)


def _host_command(verb: str, help_: str) -> None:
    @lab.command(name=verb, help=help_)
    @_which
    @click.argument("host")
    def act(site: Path | None, name: str, host: str) -> None:
        row: HostStatus = getattr(_find(site, name), verb)(host)
        click.echo(f"{row.host}: {row.state}, network {row.network}")


_host_command("kill", "Power failure of HOST: all of its processes end at once, its disks stay.")
_host_command("start", "Power HOST on again after kill.")
_host_command("pause", "Stop all processes of HOST.")
_host_command("resume", "Resume HOST after pause.")
_host_command("cut", "Cut the network cable of HOST, or the `link` between two sites.")
_host_command("mend", "Mend the network cable of HOST, or the `link`.")


def _site(site: Path | None) -> Path:
    """The folder given to the verb, else the one given to `fawkes`, else ./lab."""
    root = click.get_current_context().find_root()
    if site is None and root.get_parameter_source("site") not in (None, ParameterSource.DEFAULT):
        site = root.params["site"]
    return _DEFAULT_SITE if site is None else site


def _find(site: Path | None, name: str) -> Lab:
    from fawkes.live import lab as labs

    return labs.find(name=name, site=_site(site))
