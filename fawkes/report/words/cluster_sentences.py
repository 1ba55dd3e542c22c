"""Sentences about MR-clusters and about how nodes are balanced among them."""

from __future__ import annotations

from collections.abc import Mapping

from fawkes.base.units import show_bytes
from fawkes.core.values.keys import Key
from fawkes.core.values.model import ClusterLife, Facts, Role
from fawkes.report.words.facts import Template, because, listed, took


def _requested(facts: Facts) -> str:
    return "{cluster} was requested" + (" by {by}" if facts.get("by") else "") + ", with at least {minimum} nodes"


def _waits_for_nodes(facts: Facts) -> str:
    text = "{cluster} waits for {lacking} more nodes: "
    if facts["paused"]:
        return text + "voluntary moves are stopped ({paused})"
    return text + "no other MR-cluster has nodes above its minimum"


def _data(facts: Facts) -> str:
    """The reason why this node and not another, where data decides (paper section 3.2)."""
    return "; nodes with the least data leave first ({data_bytes})" if facts.get("role") == Role.TRANSIENT_CORE else ""


def _shrink(facts: Facts) -> str:
    text = "{node} ({role}) leave{s} {cluster}, which holds {held} nodes and should have {target}"
    return text + _operator(facts) + _data(facts)


def _operator(facts: Facts) -> str:
    """The operator behind a move by hand; nothing for a move of balancing."""
    return (", as {by} asked" if facts["by"] else ", as an operator asked") if "by" in facts else ""


def _grow(facts: Facts) -> str:
    text = "{node} join{s} {cluster} as {role}: {cluster} held {held} nodes and should have {target}"
    return text + _operator(facts)


def _undrain(facts: Facts) -> str:
    text = "{node} stay{s} with {cluster} after all: {cluster} held {held} nodes and should have {target}"
    return text + _operator(facts) + "; nodes that are still leaving come back first"


def _released(facts: Facts) -> str:
    by = " by {by}" if facts.get("by") else ""
    return f"{{cluster}} is released{by}" + (", and its data is discarded" if facts.get("discard") else "")


def _called_off(facts: Facts) -> str:
    if facts["life"] == ClusterLife.DEPLOYING:
        return "Deployment of {cluster} was cancelled after {took_us}; no job had run, so there is nothing to save"
    return "Loading the data of {cluster} was cancelled after {took_us}"


def _not_reached(facts: Facts) -> str:
    stage = str(facts["stage"])
    problem = "did not get its new member list" if stage == Key.MEMBERSHIP else f"failed while {stage}"
    return f"{{cluster}} {problem} (attempt {{tries}}): {{error}}"


def _files_closed(facts: Facts) -> str:
    files = listed(facts["files"], facts.get("count"), _closed_in_words)
    return f"Files of {{cluster}} that clients held open were closed to be saved, as far as written: {files}"


def _closed_in_words(row: Facts) -> str:
    """A file that was closed: its path, its size, and the client that wrote it."""
    size = row.get("bytes")
    facts = [show_bytes(size)] if isinstance(size, int) else []
    facts += [" on ".join(str(part) for part in (row.get("client"), row.get("host")) if part)]
    return f"{row.get('path')} ({', '.join(facts)})"


def _stuck(facts: Facts) -> str:
    total = " of {slots}" if "slots" in facts else ""
    masters = ", {masters} by ApplicationMasters" if "masters" in facts else ""
    return (
        "{cluster} is stuck: no task has run since {since_us}, although tasks wait ({tasks}) and slots are held "
        f"({{held}}{total}{masters}). Cancel a job, add nodes, or lower "
        "yarn.scheduler.capacity.maximum-am-resource-percent"
    )


CLUSTERS: Mapping[str, Template] = {
    "requested": _requested,
    "admitted": "{cluster} gets {nodes} as core nodes after waiting {wait_us}",
    "waits-infeasible": "{cluster} waits: it needs {minimum} nodes, but {promised} of the {usable} nodes in service "
    "are promised to other MR-clusters",
    "waits-for-nodes": _waits_for_nodes,
    "deployed": took("{cluster} is deployed"),
    "loaded": took("{cluster} has its data"),
    "saved": took("The outputs of {cluster} are saved and verified"),
    "files-closed": _files_closed,
    "discarded": "The outputs of {cluster} are discarded, as requested",
    "idle": "{cluster} has been idle since {since_us}: its outputs are saved, then its nodes are released",
    "released": _released,
    "called-off": _called_off,
    "retire": "{cluster} ends: its nodes are stopped and wiped",
    "gone": because("{cluster} is gone", "failed"),
    "gave-up": "{cluster} has failed for good: {error}",
    "not-reached": _not_reached,
    "told-again": "The masters of {cluster} get its member list again, because {node} {what}",
    "unreadable": "The masters of {cluster} cannot be read ({error}); {cluster} neither grows nor shrinks "
    "until they can",
    "stuck": _stuck,
    "runs-again": "{cluster} is no longer stuck: a task runs, or none waits",
    "readable": "The masters of {cluster} can be read again",
    "unusable": "{cluster}: {what}: {error}. No job begins until that has ended",
    "late": lambda facts: ("{node}" if facts.get("node") else "{cluster}") + ": {error}",
    "usable": "{cluster} works again, and its jobs begin. This has ended: {what}",
}


def _not_worth(facts: Facts) -> str:
    plural = "" if facts["count"] == 1 else "s"
    whose = " of {giver}" if facts.get("giver") else ""
    return (
        f"Not moved: {{count}} {'' if facts.get('giver') else 'free '}node{plural}{whose} would save the "
        "jobs of {cluster} {saves_us} of waiting and cost {costs_us}"
    )


BALANCE: Mapping[str, Template] = {
    "grow": _grow,
    "shrink": _shrink,
    "shrink-to-admit": lambda facts: "{node} ({role}) leave{s} {cluster} to make room for {newcomer}" + _data(facts),
    "shrink-to-replace": lambda facts: (
        "{node} ({role}) leave{s} {cluster} to replace {instead_of} in {receiver}" + _data(facts)
    ),
    "undrain": _undrain,
    "not-worth": _not_worth,
    "budget": "{cluster} gives {granted} of {wanted} nodes for now: the move budget allows no more",
    "nothing-to-give": "{cluster} should give {wanted} nodes, but only {given} of them may leave: core nodes stay",
}
