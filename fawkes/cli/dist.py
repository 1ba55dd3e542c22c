"""`fawkes dist`: the Hadoop releases of this machine, and Pig."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fawkes.cli.show import TABLE, output_option, progress, show
from fawkes.cli.tables import TABLES
from fawkes.dist.pins import DEFAULT_VERSION
from fawkes.errors import FawkesError, UserError

if TYPE_CHECKING:
    from fawkes.dist.cache import Wanted

_DOORS, _KERBEROS = "doors", "kerberos"
_COMPILED = (_DOORS, _KERBEROS)


@click.group()
def dist() -> None:
    """Get, list and check Hadoop releases.

    A release that the site already has on its nodes needs no `get`: name its folder in the MR-cluster's file.
    """


@dist.command()
@click.argument("version", default=DEFAULT_VERSION)
@click.option("--again", is_flag=True, help="Make it anew even if the cache has it.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@output_option
def get(version: str, again: bool, dry_run: bool, output: str) -> None:
    """Resolve Hadoop VERSION (3.5.0 or 3.4.2), or `pig`, by Maven, check it and put it into the cache.

    With a version of Hadoop comes what closes the ports of its daemons, so that deployments need no network. `doors`
    compiles that alone, and `kerberos` what daemons of MR-clusters with Kerberos need. A controller otherwise does both
    at the first deployment that needs them.
    """
    from fawkes.dist import cache
    from fawkes.dist.compiled import DOORS, is_made, jar_of, place_of
    from fawkes.dist.pins import PINS

    if version in _COMPILED:
        _compile(version, dry_run=dry_run, output=output)
        return
    wanted = _wanted(version)
    if dry_run:
        folder = cache.folder_of(wanted)
        click.echo(
            f"{folder} is there: nothing to do"
            if cache.is_there(wanted) and not again
            else f"would resolve the {len(wanted.jars())} jars of {wanted.title} by Maven into {folder}"
        )
        if version in PINS and not is_made(DOORS):
            click.echo(f"would compile {DOORS.title} into {place_of(DOORS)}")
        return
    with progress(wanted.title) as say:
        made = cache.provide(wanted, again=again, say=say)
        if version in PINS:
            jar_of(DOORS, say)
    folder = cache.folder_of(wanted)
    if output == TABLE:
        click.echo(f"{wanted.title} {'is ready' if made else 'was there already'}: {folder}")
    else:
        show([{"version": version, "made": made, "folder": str(folder)}], TABLES["dist get"], output)


def _compile(name: str, *, dry_run: bool, output: str) -> None:
    from fawkes.dist.compiled import DOORS, SECURE_IO, is_made, jar_of, place_of

    code = {_DOORS: DOORS, _KERBEROS: SECURE_IO}[name]
    made = not is_made(code)
    if dry_run:
        place = place_of(code)
        click.echo(f"would compile {code.title} into {place}" if made else f"{place} is there: nothing to do")
        return
    with progress(code.title) as say:
        jar = jar_of(code, say)
    if output == TABLE:
        click.echo(f"{code.title}: {'compiled' if made else 'was there already'}: {jar}")
    else:
        show([{"version": name, "made": made, "folder": str(jar.parent)}], TABLES["dist get"], output)


def _wanted(version: str) -> Wanted:
    from fawkes.dist.pig import DEFAULT_PIG, PIG_PINS
    from fawkes.dist.pins import pin

    return PIG_PINS[DEFAULT_PIG] if version == "pig" else pin(version)


@dist.command(name="list")
@output_option
def list_(output: str) -> None:
    """The releases in the cache, each with what comes out when all its files are read."""
    from fawkes.dist import cache

    rows = [
        {
            "version": found.wanted.asked,
            "jars": found.jars,
            "bytes": found.size_bytes,
            "java_range": found.java,
            "wrong_files": len(found.faults),
            "folder": found.folder,
        }
        for found in map(cache.look, cache.there())
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
    from fawkes.dist import cache

    if release is not None and "/" in release:
        _check_folder(release)
        return
    pins = cache.there() if release is None else [_wanted(release)]
    if not pins:
        raise UserError("the cache has no release", where=str(cache.dist_dir()), hint="`fawkes dist get` fetches one")
    looks = [cache.look(wanted) for wanted in pins]
    rows = [
        {"version": found.wanted.asked, "file": fault.path, "fault": fault.what}
        for found in looks
        for fault in found.faults
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
        for found in looks:
            click.echo(f"{found.wanted.title}: {found.jars} jars, every file is as it must be")


def _check_folder(folder: str) -> None:
    from fawkes.dist import cache
    from fawkes.dist.release import Release

    found = Release.from_folder(folder)
    bad = cache.unreadable_jars(found.root)
    if bad:
        raise FawkesError(
            f"{len(bad)} jars cannot be opened: {', '.join(bad[:5])}", where=found.root, hint="Unpack the release again"
        )
    click.echo(
        f"Hadoop {found.version} ({found.layout}) in {found.root}: needs Java {found.java_range}, "
        "every jar can be opened"
    )
