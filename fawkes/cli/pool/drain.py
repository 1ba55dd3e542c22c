"""`fawkes drain` and `fawkes undrain`: take nodes out of service, and put them back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import click

from fawkes.base.errors import FawkesError, UserError
from fawkes.cli.asking import completion
from fawkes.cli.asking.acting import confirm, for_each, node_names, tell
from fawkes.cli.asking.client import Client, TurnedDownError
from fawkes.cli.asking.parsed import DURATION
from fawkes.cli.asking.waiting import followed, tell_change, wait_for
from fawkes.cli.show.show import TABLE, output_option, show, warn
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site
from fawkes.core.values.model import Reason

OUT = "out"
LOST = "lost"
#: lives in which data on a node can hold it up (`core/deciding/requests.py` has the last word)
_HOLDING = frozenset({"evacuating", LOST})
GIVEN_UP = "is wiped without a proof that its data is elsewhere, and then goes out of service"
CORE = "core"


@click.command()
@click.argument("nodes", metavar="NODE", shell_complete=completion.nodes)
@click.option("--reason", required=True, help="Reason, shown with the node.")
@click.option("--discard-data", is_flag=True, help="Discard the data on a node that an MR-cluster waits for.")
@click.option("--yes", is_flag=True, help="With --discard-data: skip the question that asks to type the name.")
@click.option("--wait", is_flag=True, help="Return only when the node is out of service, wiped and verified.")
@click.option("--timeout", "limit_us", type=DURATION, help="With --wait: longest time to wait, such as 2h.")
@click.option("--dry-run", is_flag=True, help="Only show what the node does now.")
@output_option
@click.pass_obj
def drain(
    site: Site,
    nodes: str,
    reason: str,
    discard_data: bool,
    yes: bool,
    wait: bool,
    limit_us: int | None,
    dry_run: bool,
    output: str,
) -> None:
    """Take NODE (or a set, such as node[03-05]) out of service, for a repair.

    It leaves its MR-cluster as in a shrink: no data is lost, and tasks get the time that the settings allow. A core
    node leaves once another node has replaced it. The masters of an MR-cluster first move to another of its core nodes,
    once no job runs (`fawkes move-masters --now` does not wait). Without another one, release the MR-cluster first.

    --discard-data is for a node that is held or lost with data. It is wiped without a proof that its blocks are
    elsewhere. Use it only when that data may be lost.

    Without --wait the command returns at once; interrupting it does not undo the drain. With --wait it ends with 1 when
    somebody puts the node back meanwhile.
    """
    names = node_names(nodes)
    client = Client(site)
    known = the_nodes(client, names)
    if dry_run:
        show(list(known.values()), TABLES["drain"], output)
        body = {"reason": reason, "discard": discard_data}
        for_each("could be drained", names, lambda name: client.post("drain", {"node": name, **body}, dry_run=True))
        return

    if discard_data:
        _confirm_discard(nodes, known, yes)

    def act(name: str) -> None:
        with followed(client, wait):
            client.post("drain", {"node": name, "reason": reason, "discard": discard_data})
            tell(f"{name} {GIVEN_UP if discard_data else _now(known[name])}", output)

    for_each("drained", names, act)
    if wait:
        _wait(client, nodes, names, limit_us)
        tell(f"{nodes}: out of service. Put back with `fawkes undrain {nodes}`", output)
    if output != TABLE:
        show(list(the_nodes(client, names).values()), TABLES["drain"], output)


@click.command()
@click.argument("nodes", metavar="NODE", shell_complete=completion.nodes)
@click.option("--dry-run", is_flag=True, help="Only show what the node does now.")
@output_option
@click.pass_obj
def undrain(site: Site, nodes: str, dry_run: bool, output: str) -> None:
    """Put NODE (or a set, such as node[03-05]) back into service; the next tick may use it.

    A node that is already leaving its MR-cluster still leaves, and is free afterwards.
    """
    names = node_names(nodes)
    client = Client(site)
    known = the_nodes(client, names)
    if dry_run:
        show(list(known.values()), TABLES["drain"], output)
        for_each("could be undrained", names, lambda name: client.post("undrain", {"node": name}, dry_run=True))
        return

    def act(name: str) -> None:
        facts = client.post("undrain", {"node": name})
        tell(f"{name} {_then(known[name], bool(facts.get('leaves')))}", output)

    for_each("undrained", names, act)
    if output != TABLE:
        show(list(the_nodes(client, names).values()), TABLES["drain"], output)


def the_nodes(client: Client, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The controller's rows of these nodes; UserError names those that are not in the pool."""
    from fawkes.config.files.nodeset import fold

    rows = {name: rows_of_node[0] for name in names if (rows_of_node := client.rows("nodes", node=name))}
    missing = [name for name in names if name not in rows]
    if missing:
        known = fold(row["node"] for row in client.rows("nodes"))
        raise UserError(f"the pool has no node {fold(missing)}", hint=f"It has {known}")
    return rows


def _confirm_discard(nodes: str, rows: Mapping[str, Mapping[str, Any]], yes: bool) -> None:
    """List the data that would be given up and ask for the name; RefusedError when nothing is held, or for another."""
    for name, row in rows.items():
        if row["state"] not in _HOLDING:
            raise TurnedDownError(Reason("nothing-held", {"node": name, "life": row["state"]}))
    for name, row in rows.items():
        warn(f"{name} is {row['state']}: {row['alert'] or 'nothing is known to be wrong'}")
        for line in _at_risk(row):
            warn(f"  {line}")
    confirm(nodes, what="This discards the data on it: blocks without a replica elsewhere are lost.", yes=yes)


def _at_risk(row: Mapping[str, Any]) -> list[str]:
    from fawkes.report.words.facts import named_files

    if row.get("at_risk_files") is None:
        return ["which files are at risk is not known"]
    lines = []
    for key, text in (("at_risk", "too few replicas on other nodes"), ("missing", "files with blocks on no live node")):
        if row[f"{key}_files"]:
            lines.append(f"{text}: {named_files(row[key], row[f'{key}_files'])}")
    return lines or ["no file is known to be at risk"]


def _now(row: Mapping[str, Any]) -> str:
    if row["state"] == LOST:
        where = f" and its data is proven to be elsewhere in {row['cluster']}" if row["cluster"] else ""
        return f"is lost: it goes out of service when it has been wiped{where}"
    if row["state"] == OUT:
        return "was out of service already and stays so"
    if row["role"] == CORE:
        return f"leaves {row['cluster']} once another core node has replaced it, and then goes out of service"
    if row["cluster"]:
        return f"leaves {row['cluster']}, where it is {row['role']}, and then goes out of service"
    return "goes out of service"


def _then(row: Mapping[str, Any], leaves: bool) -> str:
    if not leaves:
        return "is back in service"
    return f"may serve again, but it still leaves {row['cluster'] or 'its MR-cluster'}; it is free after that"


def _refuse_back(names: Sequence[str]) -> NoReturn:
    from fawkes.report.words.facts import fold

    what = f"{fold(names)} {'was' if len(names) == 1 else 'were'} put back into service meanwhile"
    hint = f"`fawkes events` says by whom; `fawkes drain {fold(names)} --reason WHY` drains again"
    raise FawkesError(what, hint=hint)


def _wait(client: Client, nodes: str, names: Sequence[str], limit_us: int | None) -> None:
    """Return when all nodes are out of service; FawkesError when somebody puts one back meanwhile."""
    known: dict[str, tuple[str, str]] = {}

    def look() -> bool | None:
        rows = the_nodes(client, names)
        for name, row in rows.items():
            tell_change(known, name, row)
        back = [name for name, row in rows.items() if row["state"] != OUT and not row["keep_out"]]
        # A ledger may lack what a controller that has ended was asked for: `wait_for` says that.
        if back and client.stored is None:
            _refuse_back(back)
        return True if all(row["state"] == OUT for row in rows.values()) else None

    goes_on = f"The drain goes on: `fawkes nodes` shows it, `fawkes undrain {nodes}` ends it"
    wait_for(client, look, "all of these nodes were out of service", limit_us=limit_us, goes_on=goes_on)
