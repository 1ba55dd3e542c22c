"""Sentences about masters: lost, moved, restored, copied, followed by a second NameNode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from fawkes.base.units import counted, show_bytes
from fawkes.core.values.model import Facts, MoveCause
from fawkes.report.words.facts import Template, because, fold, listed, literal, operator

_WHY: Mapping[str, str] = {
    MoveCause.LOST: "they are lost",
    MoveCause.ASKED: "as was asked",
    MoveCause.LEAVES: "their node goes out of service",
    MoveCause.RESTORE: "from the kept copy",
    MoveCause.JOURNAL: "they start again with a journal",
}


def _moves(facts: Facts) -> str:
    name = " ({by})" if facts.get("by") else ""
    why = _WHY.get(str(facts["cause"]), "{cause}")
    how = ". The second NameNode takes over there" if facts.get("by_standby") else ""
    return f"The masters of {{cluster}} go from {{instead_of}} to {{node}}: {why}{name}{how}"


def _moved(facts: Facts) -> str:
    """The move of masters, with the names of everything that was lost."""
    lacks = "; what was written in the last {lacks_us} before is lost" if facts.get("lacks_us") else ""
    if facts.get("by_standby"):
        lacks = "; no change that the NameNode acknowledged is lost"
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


def _writes_lost(facts: Facts) -> str:
    """Lost writes: first those that are known by name, then those that are only counted."""
    parts = []
    if jobs := cast(Sequence[object], facts.get("jobs") or ()):
        which = literal(", ".join(map(str, jobs)))
        parts.append(f"the end of jobs that had ended ({which}), whose output may not be whole")
    if files := cast(Sequence[object], facts.get("files") or ()):
        parts.append(f"files: {listed(files, facts.get('files_count'), str)}")
    if blocks := facts.get("blocks"):
        noun = "block" if blocks == 1 else "blocks"
        writers = listed(facts.get("writers") or (), facts.get("writers_count"), _writer)
        parts.append(f"{{blocks}} {noun} ({{total_bytes}}) that no file of the copy has: {writers}")
    if unlisted := cast(Sequence[object], facts.get("unlisted") or ()):
        parts.append(f"blocks on {literal(', '.join(map(str, unlisted)))}, which were not counted")
    return f"{{cluster}} lost what was written last before its masters were lost: {'; '.join(parts)}"


def _writer(row: Facts) -> str:
    blocks = counted(cast(int, row.get("blocks")), "block")
    return f"{blocks} ({show_bytes(cast(int, row.get('total_bytes') or 0))}) by {_who(row)}"


def _who(row: Facts) -> str:
    if row.get("application"):
        known = f" ({row['name']} of {row['user']})" if row.get("name") or row.get("user") else ""
        return f"{row['application']}{known}"
    return f"clients on {row['host']}" if row.get("host") else "clients that are not known"


def _arms(facts: Facts) -> str:
    before, journal = cast(Sequence[str], facts["before"]), cast(Sequence[str], facts["journal"])
    moved = f" instead of {literal(fold(before))}" if sorted(before) != sorted(journal) else ""
    return f"The second NameNode of {{cluster}} is brought up on {{node}}, with the journal on {{journal}}{moved}"


def _journal_wanted(facts: Facts) -> str:
    jobs = cast(Sequence[str], facts.get("jobs") or ())
    first = f". It waits for {literal(fold(jobs))} to end, and no other job begins" if jobs else ""
    return f"{{cluster}} is to have a journal again, on {{journal}}: its NameNode starts again for that{first}"


def _application(row: Facts) -> str:
    return f"{row.get('id')} ({row.get('name')} of {row.get('user')})"


def _no_such_master(facts: Facts) -> str:
    fit = cast(Sequence[str], facts["able"])
    if not fit:
        return "{cluster} has no other core node in service that could run its masters"
    where = f"the masters of {{cluster}} can go to {literal(', '.join(fit))}"
    if not facts.get("node"):
        return f"Name a node: {where}"
    return f"{{node}} is no other core node in service of {{cluster}}, or not one of its journal: {where}"


MASTERS: Mapping[str, Template] = {
    "masters-move": _moves,
    "masters-moved": _moved,
    "writes-lost": _writes_lost,
    "masters-held": "The masters of {cluster} stay lost for now: {error}",
    "masters-wait": "The masters of {cluster} do not move yet: {error}",
    "masters-stay": "The masters of {cluster} stay where they are: {node} is not in service any more",
    "masters-answer": "The masters of {cluster} answer: there is nothing to take over or to restore",
    "masters-leave": "The masters of {cluster} are to leave {node}: {why}",
    "move-asked": operator(" moves the masters of {cluster}"),
    "restore-asked": operator(" brings {cluster} back from its kept copy on {node}"),
    "no-login": "Job {job} of {cluster} begins again (attempt {attempt}), which is no retry: {error}",
    "displaced": "Job {job} begins again (attempt {attempt}): it had ended with the masters of {cluster}. This is no "
    "retry",
    "not-copied": "The data of the masters of {cluster} has not been copied for {within_us}",
    "standby-ready": because("The second NameNode of {cluster} on {node} can take over", "error"),
    "standby-unready": because("The second NameNode of {cluster} on {node} cannot take over", "error"),
    "standby-arm": _arms,
    "standby-armed": "The second NameNode of {cluster} is up on {node} and follows the journal on {journal}",
    "standby-not-armed": "The second NameNode of {cluster} is not up yet (attempt {tries}): {error}",
    "standby-given-up": "The journal of {cluster} on {journal} is given up, because its masters come back from a copy. "
    "{cluster} has no second NameNode until it has a new journal",
    "journal-wanted": _journal_wanted,
    "journal-waits": "The NameNode of {cluster} does not start again for a journal yet: {error}",
    "journal-begin": "The NameNode of {cluster} on {node} starts again with a new journal on {journal}. No job runs, "
    "and no change that the NameNode acknowledged is at risk",
    "journal-begun": "The NameNode of {cluster} on {node} writes its new journal on {journal} after {took_us}",
    "journal-not-begun": "{cluster} has no new journal yet (attempt {tries}): {error}",
    "copied-again": "The data of the masters of {cluster} is copied again",
}

MASTER_REFUSALS: Mapping[str, Template] = {
    "not-running": "{cluster} is {life}: only the masters of a running MR-cluster can move",
    "masters-moving": "The masters of {cluster} are moving already: `fawkes status {cluster}` shows how far that is",
    "masters-lost": "The masters of {cluster} are lost, so nobody knows what is in its HDFS and on its YARN: "
    "`fawkes status {cluster}` says what to do",
    "no-such-master": _no_such_master,
}
