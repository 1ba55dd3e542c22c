"""`fawkes dist`: the Hadoop releases of this machine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from fawkes.dist.pins import DEFAULT_VERSION
from fawkes.errors import FawkesError, UserError

if TYPE_CHECKING:
    from fawkes.dist.cache import Cached

_FORM = click.option(
    "-o", "--output", type=click.Choice(["table", "json", "csv"]), default="table", help="Form of the result."
)


@click.group()
def dist() -> None:
    """Get, list and check Hadoop releases.

    A release that the site already has on its nodes needs no `get`: name its folder in the MR-cluster's file.
    """


@dist.command()
@click.argument("version", default=DEFAULT_VERSION)
@click.option("--again", is_flag=True, help="Make it anew even if the cache has it.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@_FORM
def get(version: str, again: bool, dry_run: bool, output: str) -> None:
    """Resolve Hadoop VERSION (3.5.0 or 3.4.2) by Maven, check it and put it into the cache."""
    from fawkes.dist import cache
    from fawkes.dist.pins import pin

    wanted = pin(version)
    if dry_run:
        folder = cache.folder_of(wanted)
        click.echo(
            f"{folder} is there: nothing to do"
            if cache.is_there(wanted) and not again
            else f"would resolve the {len(wanted.jars())} jars of Hadoop {version} by Maven into {folder}"
        )
        return
    with _progress() as say:
        got = cache.get(wanted, again=again, say=say)
    said = {"version": version, "made": got.made, "folder": got.release.root}
    if output == "table":
        click.echo(f"Hadoop {version} {'is ready' if got.made else 'was there already'}: {got.release.root}")
    else:
        _show([said], list(said), output)


@dist.command(name="list")
@_FORM
def list_(output: str) -> None:
    """The releases in the cache, each with what comes out when all its files are read."""
    from fawkes.dist import cache
    from fawkes.units import show_bytes

    rows: list[dict[str, Any]] = []
    for found in map(cache.look, cache.there()):
        size = show_bytes(found.size_bytes) if output == "table" else found.size_bytes
        rows.append(
            {
                "version": found.release.version,
                "jars": found.jars,
                "size" if output == "table" else "size_bytes": size,
                "java": _java(found),
                "checked": "ok" if not found.faults else f"{len(found.faults)} files are not right",
                "folder": found.release.root,
            }
        )
    if not rows and output == "table":
        click.echo("the cache has no release; `fawkes dist get` fetches one", err=True)
        return
    _show(rows, list(rows[0]) if rows else [], output)


@dist.command()
@click.argument("release", required=False, metavar="[VERSION|FOLDER]")
@_FORM
def check(release: str | None, output: str) -> None:
    """Read every file of a release and compare it with what it must be.

    Without a version, all releases in the cache. A FOLDER (with a / in its name) is a release that the site brought:
    Fawkes tells whether it understands it and whether its jars can be opened.
    """
    from fawkes.dist import cache
    from fawkes.dist.pins import pin

    if release is not None and "/" in release:
        _check_folder(release)
        return
    pins = cache.there() if release is None else [pin(release)]
    if not pins:
        raise UserError("the cache has no release", where=str(cache.dist_dir()), hint="`fawkes dist get` fetches one")
    looks = [cache.look(wanted) for wanted in pins]
    rows = [
        {"version": found.release.version, "file": fault.path, "fault": fault.what}
        for found in looks
        for fault in found.faults
    ]
    if output != "table" or rows:
        _show(rows, ["version", "file", "fault"], output)
    wrong = sorted({row["version"] for row in rows})
    if wrong:
        raise FawkesError(
            f"{len(rows)} files of Hadoop {', '.join(wrong)} are not as they must be",
            where=str(cache.dist_dir()),
            hint="; ".join(f"`fawkes dist get {version} --again` makes it anew" for version in wrong),
        )
    if output == "table":
        for found in looks:
            click.echo(f"Hadoop {found.release.version}: {found.jars} jars, every file is as it must be")


def _check_folder(folder: str) -> None:
    from fawkes.dist import cache
    from fawkes.dist.release import Release

    found = Release.from_folder(folder)
    bad = cache.unreadable_jars(found.root)
    if bad:
        raise FawkesError(
            f"{len(bad)} jars cannot be opened: {', '.join(bad[:5])}", where=found.root, hint="Unpack the release again"
        )
    needs = f"Java {found.min_java} or newer" if found.max_java is None else f"Java {found.min_java}-{found.max_java}"
    click.echo(f"Hadoop {found.version} ({found.layout}) in {found.root}: needs {needs}, every jar can be opened")


def _java(found: Cached) -> str:
    release = found.release
    return f"{release.min_java}+" if release.max_java is None else f"{release.min_java}-{release.max_java}"


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Somewhere to say things: one line that changes on a terminal; in a log, the steps without each jar."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda line: None if line.endswith(".jar") else click.echo(line, err=True)
        return
    with console.status("") as status:
        jars = 0

        def say(line: str) -> None:
            nonlocal jars
            jars += line.endswith(".jar")
            status.update(f"downloaded {jars} jars, now {line}" if line.endswith(".jar") else line)

        yield say


def _show(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], output: str) -> None:
    import csv
    import json
    import sys

    if output == "json":
        click.echo(json.dumps(list(rows), indent=2))
        return
    if output == "csv":
        writer = csv.DictWriter(sys.stdout, list(columns), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(*columns)
    for row in rows:
        table.add_row(*(str(row[column]) for column in columns))
    Console().print(table)
