"""`fawkes init`: example files for a new site."""

from __future__ import annotations

from pathlib import Path

import click

from fawkes.cli.fields import TABLES
from fawkes.cli.show import output_option, show
from fawkes.errors import RefusedError

EXAMPLES = Path(__file__).parent.parent / "config" / "examples"
FILES = ("fawkes.toml", "inventory.toml", "clusters/example.toml")


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", default=".")
@click.option("--dry-run", is_flag=True, help="Only say what would be written.")
@output_option
def init(folder: Path, dry_run: bool, output: str) -> None:
    """Write commented example files into DIR (by default the current folder).

    Files that are there already are never overwritten: then nothing is written at all.
    """
    there = [name for name in FILES if (folder / name).exists()]
    if there:
        raise RefusedError(
            f"{', '.join(there)} {'is' if len(there) == 1 else 'are'} there already, so nothing was written",
            where=str(folder),
            hint="Name another folder, or take these files away",
        )
    if not dry_run:
        write_examples(folder)
    rows = [{"file": str(folder / name), "written": not dry_run} for name in FILES]
    show(rows, TABLES["init"], output)


def write_examples(folder: Path) -> None:
    """All example files, or none: what was written is taken back when one cannot be (OSError)."""
    written: list[Path] = []
    try:
        for name in FILES:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            text = (EXAMPLES / name).read_text(encoding="utf-8")
            with target.open("x", encoding="utf-8") as file:
                written.append(target)
                file.write(text)
    except OSError:
        for target in written:
            target.unlink(missing_ok=True)
        raise
