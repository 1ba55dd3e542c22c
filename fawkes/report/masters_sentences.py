"""Sentences about masters: lost, moved, restored, copied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from fawkes.core.model import Facts, MoveCause
from fawkes.report.facts import Template, listed, literal, operator

_WHY: Mapping[str, str] = {
    MoveCause.LOST: "they are lost",
    MoveCause.ASKED: "as was asked",
    MoveCause.LEAVES: "their node goes out of service",
    MoveCause.RESTORE: "from the kept copy",
}


def _moves(facts: Facts) -> str:
    name = " ({by})" if facts.get("by") else ""
    why = _WHY.get(str(facts["cause"]), "{cause}")
    return f"The masters of {{cluster}} go from {{instead_of}} to {{node}}: {why}{name}"


def _moved(facts: Facts) -> str:
    """What was lost is said by name."""
    lacks = "; what was written in the last {lacks_us} before is lost" if facts.get("lacks_us") else ""
    text = f"The masters of {{cluster}} serve on {{node}} instead of {{instead_of}} after {{took_us}}{lacks}"
    for name, said in (
        ("missing", "no node that answers has all blocks of"),
        ("open", "being written at that moment"),
        ("ended", "applications that have ended with the old masters"),
    ):
        rows = cast(Sequence[object], facts.get(name) or ())
        count = facts.get("missing_files") if name == "missing" else len(rows)
        if rows:
            text += f"; {said}: {listed(rows, count, _application)}"
    return text


def _application(row: Facts) -> str:
    return f"{row.get('id')} ({row.get('name')} of {row.get('user')})"


def _no_such_master(facts: Facts) -> str:
    fit = cast(Sequence[str], facts["able"])
    if not fit:
        return "{cluster} has no other core node in service that could run its masters"
    node = "{node} is no core node in service of {cluster}" if facts.get("node") else "{cluster} needs a node"
    return f"{node}. Its masters can go to {literal(', '.join(fit))}"


MASTERS: Mapping[str, Template] = {
    "masters-move": _moves,
    "masters-moved": _moved,
    "masters-held": "The masters of {cluster} stay lost for now: {error}",
    "masters-wait": "The masters of {cluster} do not move yet: {error}",
    "masters-answer": "The masters of {cluster} answer: there is nothing to take over or to restore",
    "masters-leave": "The masters of {cluster} are to leave {node}: {why}",
    "move-asked": operator(" moves the masters of {cluster}"),
    "restore-asked": operator(" brings {cluster} back from its kept copy on {node}"),
    "displaced": "Job {job} begins again (attempt {attempt}): it had ended with the masters of {cluster}. This is no "
    "retry",
    "not-copied": "The data of the masters of {cluster} has not been copied for {within_us}",
    "copied-again": "The data of the masters of {cluster} is copied again",
}

MASTER_REFUSALS: Mapping[str, Template] = {
    "not-running": "{cluster} is {life}: only the masters of a running MR-cluster can move",
    "masters-moving": "The masters of {cluster} are moving already: `fawkes status {cluster}` shows how far that is",
    "no-such-master": _no_such_master,
}
