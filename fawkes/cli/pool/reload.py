"""`fawkes reload`: settings and nodes without a restart."""

from __future__ import annotations

import click

from fawkes.cli.asking.acting import tell
from fawkes.cli.asking.client import Client
from fawkes.cli.show.show import TABLE, output_option, show, warn
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site


@click.command()
@click.option("--dry-run", is_flag=True, help="Only check the files and show what would change.")
@output_option
@click.pass_obj
def reload(site: Site, dry_run: bool, output: str) -> None:
    """Read fawkes.toml, inventory.toml and the policies again, without a restart of the controller.

    All files are checked first. If one is wrong, the old settings stay in force, and the message names file and key
    (exit code 2). Keys that the controller uses only when it starts are listed: they keep their old values. Nodes that
    the inventory names now are in the pool; those that it does not name any more leave it as by a drain.

    SIGHUP does the same for a controller that has no terminal.
    """
    facts = Client(site).post("reload", {}, dry_run=dry_run)
    changed, restart = _texts(facts.get("changed")), _texts(facts.get("restart"))
    if dry_run:
        warn("dry run: nothing is changed")
    for text in changed or ["no setting of decisions and no node has changed"]:
        tell(text, output)
    if restart:
        tell(
            f"These count only after a restart (`fawkes down --keep`, then `fawkes run`): {', '.join(restart)}", output
        )
    if output != TABLE:
        show([{"changed": changed, "restart": restart}], TABLES["reload"], output)


def _texts(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []
