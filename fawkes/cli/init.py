"""`fawkes init`: example files for a new site, and the commands to type next."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import NamedTuple

import click

from fawkes.cli.fields import TABLES
from fawkes.cli.show import TABLE, output_option, show
from fawkes.errors import RefusedError

EXAMPLES = Path(__file__).parent.parent / "config" / "examples"
FILES = ("fawkes.toml", "inventory.toml", "clusters/example.toml", "jobs/example.toml")


class NextStep(NamedTuple):
    """What to type after `fawkes init`, in the site's folder, and what it does."""

    command: str
    does: str


NEXT_STEPS = (
    NextStep("$EDITOR inventory.toml", "names, SSH user, sizes, folders"),
    NextStep("fawkes check --trust", "are the nodes fit? pins host keys"),
    NextStep("fawkes run", "the controller, in its own terminal"),
    NextStep("fawkes request example", "fetches Hadoop, deploys on 3 nodes"),
    NextStep("fawkes submit example jobs/example.toml", "a first job"),
    NextStep("fawkes status --watch", "shares, weights and moves"),
    NextStep("fawkes down", "saves outputs, wipes nodes, stops"),
)


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", default=".")
@click.option("--dry-run", is_flag=True, help="Only list what would be written.")
@output_option
def init(folder: Path, dry_run: bool, output: str) -> None:
    """Write commented example files into DIR (default: the current folder), and say what to do next.

    Existing files are never overwritten: if one of them is there already, nothing is written at all.
    """
    there = [name for name in FILES if (folder / name).exists()]
    if there:
        raise RefusedError(
            f"{', '.join(there)} {'is' if len(there) == 1 else 'are'} there already, so nothing was written",
            where=str(folder),
            hint="Name another folder, or move these files away",
        )
    if not dry_run:
        write_examples(folder)
    rows = [{"file": str(folder / name), "written": not dry_run} for name in FILES]
    show(rows, TABLES["init"], output)
    if output == TABLE and not dry_run:
        click.echo("\n" + "\n".join(_next_lines(folder)))


def write_examples(folder: Path) -> None:
    """Write all example files, or none: after an OSError, files that were written are removed again."""
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


def _next_lines(folder: Path) -> list[str]:
    """The next steps, each command on a line of its own; in another folder they begin by going there."""
    steps: tuple[NextStep, ...] = NEXT_STEPS
    if folder.resolve() != Path.cwd():
        steps = (NextStep(f"cd {shlex.quote(str(folder))}", "type the rest there"), *steps)
    width = max(len(step.command) for step in NEXT_STEPS)
    return ["Next:", *(f"  {step.command:<{width}}  # {step.does}" for step in steps)]
