"""`fawkes restore`: an MR-cluster brought back from the kept copy of its masters' data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from fawkes.base.errors import FawkesError
from fawkes.base.units import counted, show_bytes, show_duration
from fawkes.cli.asking import completion
from fawkes.cli.asking.acting import confirm, tell, the_cluster
from fawkes.cli.asking.client import Client
from fawkes.cli.asking.parsed import DURATION
from fawkes.cli.asking.waiting import followed, tell_change, wait_for
from fawkes.cli.show.show import TABLE, note, output_option, show, warn
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site

#: a step of the look may take half an hour where there are millions of files
_PATIENCE_S = 3600.0
_OLD = {
    "silent": "does not answer",
    "stopped": "answers, and no NameNode runs there",
    "unknown": "is not known: the controller cannot ask its masters",
    "runs": "answers, but the NameNode that runs there does not",
}
_FATE = {
    "whole": "whole",
    "open": "open for writing in the copy, so that their end may be missing",
    "short": "not readable, because blocks of them are on no node that answers",
    "unknown": "erasure-coded, so that it is not known whether they are readable",
}


@click.command()
@click.argument("cluster", metavar="CLUSTER", shell_complete=completion.clusters)
@click.option("--to", metavar="NODE", shell_complete=completion.nodes, help="Core node for its masters [default: any].")
@click.option("--yes", is_flag=True, help="Skip the question that asks to type the name.")
@click.option("--wait", is_flag=True, help="Return only when the masters serve again.")
@click.option("--timeout", "limit_us", type=DURATION, help="With --wait: longest time to wait, such as 10m.")
@click.option("--dry-run", is_flag=True, help="Only show which files would come back and which would not.")
@output_option
@click.pass_obj
def restore(
    site: Site, cluster: str, to: str | None, yes: bool, wait: bool, limit_us: int | None, dry_run: bool, output: str
) -> None:
    """Bring CLUSTER back from the kept copy of its masters' data, on one of its core nodes.

    Use it when the masters are lost and Fawkes does not replace them by itself: `fawkes status` says why not. Whatever
    the copy lacks is lost.

    Shows first how old the copy is and which of its files have all of their blocks on nodes that answer. Then it asks
    you to type the name of the MR-cluster. Nothing is deleted: the old NameNode's folder is set aside.

    A second NameNode and its journal are given up: bring most nodes of the journal back instead where that can be.

    Refused (exit code 6) while the masters answer, without a copy, and while a move of the masters has not failed yet.
    With --wait the command ends with 1 if the masters answer after all or the MR-cluster is released meanwhile.
    """
    client = Client(site, timeout_s=_PATIENCE_S)
    journal = the_cluster(client, cluster).get("journal")
    planned = client.post("restore", {"cluster": cluster, "to": to, "dry_run": True})
    target = str(planned["to"])
    facts = _look(client, cluster, target)
    for line in (*lines(facts), *_about_journal(journal)):
        warn(line)
    if output != TABLE or dry_run:
        show([{**row, "cluster": cluster, "named": _names(row)} for row in facts["files"]], TABLES["restore"], output)
    if dry_run:
        return
    what = f"This starts the masters of {cluster} on {target}; whatever does not come back is given up."
    confirm(cluster, what=what, yes=yes)
    with followed(client, wait):
        client.post("restore", {"cluster": cluster, "to": target})
    if not wait:
        tell(f"{cluster} is being restored on {target}: follow it with `fawkes status --watch`", output)
        return
    _wait(client, cluster, target, limit_us)
    tell(f"{cluster} is restored: its masters serve on {target}", output)


def _wait(client: Client, cluster: str, target: str, limit_us: int | None) -> None:
    """Return when its masters serve again; FawkesError when they stay elsewhere, or the MR-cluster is gone."""
    known: dict[str, tuple[str, str]] = {}

    def look() -> Mapping[str, Any] | None:
        row = the_cluster(client, cluster)
        tell_change(known, cluster, row)
        return None if row["masters_moving"] else row

    then = f"Start it with `fawkes run`: it goes on with it, and `fawkes status {cluster}` shows where its masters are"
    goes_on = f"The restore goes on: `fawkes status {cluster}` shows where its masters are"
    what = f"the masters of {cluster} served on {target}"
    row = wait_for(client, look, what, limit_us=limit_us, then=then, goes_on=goes_on)
    if row["masters_on"] != target:
        hint = f"`fawkes explain --cluster {cluster}` says why"
        raise FawkesError(f"its masters serve on {row['masters_on']}, not on {target}", where=cluster, hint=hint)


def _look(client: Client, cluster: str, to: str) -> Mapping[str, Any]:
    """The findings of the controller; each step is told on stderr."""
    for piece in client.stream("restore", cluster=cluster, to=to):
        if "found" in piece:
            facts: Mapping[str, Any] = piece["found"]
            return facts
        note(f"{piece['doing']} ...")
    raise FawkesError("the controller did not say what it found", hint="`fawkes logs` and its own log say more")


def lines(facts: Mapping[str, Any]) -> Iterator[str]:
    """Lines for people on what a restore would bring back."""
    from fawkes.report.words.facts import named_files

    yield f"{facts['master']}, where the masters of {facts['cluster']} were, {_OLD[facts['old']]}"
    if not facts["files"]:
        yield f"  its disk has the whole data of the NameNode: all files come back, with masters on {facts['to']}"
        return
    age = show_duration(max(0, facts["now_us"] - facts["copied_us"]))
    yield f"the kept copy is {age} old and ends with transaction {facts['txid']}; all later changes are lost"
    for row in facts["files"]:
        if row["files"]:
            yield f"  {_FATE[row['fate']]}: {counted(row['files'], 'file')} ({show_bytes(row['bytes'])})"
        if row["named"]:
            yield f"    {named_files(_names(row), row['files'])}"
    if facts["strangers"]:
        yield f"  {facts['strangers']} blocks belong to no file of the copy: they were written or removed after it"
    if facts["silent"]:
        names = ", ".join(facts["silent"])
        yield f"  blocks on {names} were not counted: if files are not readable, bring these nodes back first"


def _about_journal(journal: Sequence[str] | None) -> Iterator[str]:
    """Lines on what a restore costs an MR-cluster with a journal; none without one."""
    from fawkes.config.files.nodeset import fold

    if journal:
        yield f"it has a journal on {fold(journal)}: changes that only the journal has are lost, and it is given up"
        yield "  bring most of these nodes back instead where that can be: then the second NameNode takes over"


def _names(row: Mapping[str, Any]) -> list[str]:
    """The files of a row by name, with how many of their blocks were not found."""
    return [
        f"{file['path']} ({file['missing']} of {file['blocks']} blocks)" if file["missing"] else str(file["path"])
        for file in row["named"]
    ]
