"""`fawkes dist`: the Hadoop releases of this machine, Pig and Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fawkes.base.errors import FawkesError, UserError
from fawkes.cli.show.show import TABLE, output_option, progress, show
from fawkes.cli.show.tables import TABLES
from fawkes.playbook.dist.pins import DEFAULT_VERSION

if TYPE_CHECKING:
    from fawkes.playbook.dist.cache import Wanted


@click.group()
def dist() -> None:
    """Get, list and check Hadoop releases.

    A release that the site already has on its nodes needs no `get`: name its folder in the MR-cluster's file.
    """


@dist.command()
@click.argument("version", default=DEFAULT_VERSION)
@click.option("--again", is_flag=True, help="Make a release anew even if the cache has it.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@output_option
def get(version: str, again: bool, dry_run: bool, output: str) -> None:
    """Get Hadoop VERSION (3.5.0 or 3.4.2) or `pig` by Maven, `spark` by pip, or `criu` by apt-get, into the cache.

    With a version of Hadoop comes all else that its MR-clusters can need, so that deployments need no network. Each of
    these is compiled alone by its name: `doors`, which closes the ports of daemons; `kerberos`, for MR-clusters with
    Kerberos; `load`, the jobs of `fawkes replay`; `copies`, saves to another HDFS; `tasks`, jobs of tasks. `streams`
    brings Spark and what streams need. `criu` saves the tasks of jobs of tasks.
    """
    from fawkes.playbook.criu.debian import Criu
    from fawkes.playbook.dist import pieces
    from fawkes.playbook.dist.compile.compiled import JavaCode
    from fawkes.playbook.dist.spark import SparkPin

    needed = pieces.of_name(version)
    first = needed[0]
    if dry_run:
        for piece in needed:
            place = pieces.place_of(piece)
            if pieces.is_there(piece) and (isinstance(piece, JavaCode) or not again):
                click.echo(f"{place} is there: nothing to do")
            elif isinstance(piece, Criu):
                click.echo(f"would download {piece.title} by apt-get into {place}")
            elif isinstance(piece, JavaCode):
                click.echo(f"would compile {piece.title} into {place}")
            else:
                count, by_pip = len(piece.jars()), isinstance(piece, SparkPin)
                work = (
                    f"download {piece.title} by pip"
                    if by_pip
                    else f"resolve the {count} jars of {piece.title} by Maven"
                )
                click.echo(f"would {work} into {place}")
        return
    with progress(first.title) as say:
        made = pieces.provide(needed, again=again, say=say)
    place = pieces.place_of(first)
    if output == TABLE:
        click.echo(f"{first.title}: {'made' if first in made else 'was there already'}: {place}")
    else:
        folder = place.parent if isinstance(first, JavaCode | Criu) else place
        show([{"version": version, "made": first in made, "folder": str(folder)}], TABLES["dist get"], output)


def _wanted(version: str) -> Wanted:
    from fawkes.playbook.dist.cache import BESIDE
    from fawkes.playbook.dist.pins import pin

    return BESIDE.get(version) or pin(version)


@dist.command(name="list")
@output_option
def list_(output: str) -> None:
    """The releases in the cache, each with what comes out when all its files are read."""
    from fawkes.playbook.dist import cache

    rows = [
        {
            "version": release.wanted.argument,
            "jars": release.jars,
            "bytes": release.size_bytes,
            "java_range": release.java,
            "wrong_files": len(release.faults),
            "folder": release.folder,
        }
        for release in map(cache.look, cache.there())
    ]
    if not rows and output == TABLE:
        click.echo("the cache has no release; `fawkes dist get` fetches one", err=True)
        return
    show(rows, TABLES["dist list"], output)


@dist.command()
@click.argument("release", required=False, metavar="[VERSION|FOLDER]")
@output_option
def check(release: str | None, output: str) -> None:
    """Read every file of a release and compare it with what it must be.

    Without a version, all releases in the cache. A FOLDER (with a / in its name) is a release that the site brought:
    Fawkes tells whether it understands it and whether its jars can be opened.
    """
    from fawkes.playbook.dist import cache

    if release is not None and "/" in release:
        _check_folder(release)
        return
    pins = cache.there() if release is None else [_wanted(release)]
    if not pins:
        raise UserError("the cache has no release", where=str(cache.dist_dir()), hint="`fawkes dist get` fetches one")
    looks = [cache.look(wanted) for wanted in pins]
    rows = [
        {"version": looked.wanted.argument, "file": fault.path, "fault": fault.what}
        for looked in looks
        for fault in looked.faults
    ]
    if output != TABLE or rows:
        show(rows, TABLES["dist check"], output)
    wrong = sorted({row["version"] for row in rows})
    if wrong:
        raise FawkesError(
            f"{len(rows)} files of Hadoop {', '.join(wrong)} are not as they must be",
            where=str(cache.dist_dir()),
            hint="; ".join(f"`fawkes dist get {version} --again` makes it anew" for version in wrong),
        )
    if output == TABLE:
        for looked in looks:
            click.echo(f"{looked.wanted.title}: {looked.jars} jars, every file is as it must be")


def _check_folder(folder: str) -> None:
    from fawkes.playbook.dist import cache
    from fawkes.playbook.dist.release import Release

    release = Release.from_folder(folder)
    bad = cache.unreadable_jars(release.root)
    if bad:
        raise FawkesError(
            f"{len(bad)} jars cannot be opened: {', '.join(bad[:5])}",
            where=release.root,
            hint="Unpack the release again",
        )
    click.echo(
        f"Hadoop {release.version} ({release.layout}) in {release.root}: needs Java {release.java_range}, "
        "every jar can be opened"
    )
