"""Sentences about nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from fawkes.core.values.model import Facts, Role
from fawkes.core.values.sight import Stored
from fawkes.report.words.facts import Template, because, literal, thing


def _core_leaves(facts: Facts) -> str:
    if facts["why"]:
        return "{node} leave{s} {cluster}, which has enough core nodes without it: {why}"
    return "{node} leave{s} {cluster}: the core nodes that it was to replace stay"


def _drained(facts: Facts) -> str:
    blocks = "; its blocks are copied next" if facts.get("role") in (Role.TRANSIENT_CORE, Role.CORE) else ""
    return "No task of {cluster} runs on {node} any more" + blocks


def _node_lost(facts: Facts) -> str:
    if facts["role"] == Role.TRANSIENT:
        then = "it stays out of use until it has been wiped"
    elif facts.get("leaving"):
        then = "it was leaving with data, and {cluster} waits until that data is proven to be elsewhere"
    else:
        then = "{cluster} waits for it, because it may hold data"
    return f"{{node}} of {{cluster}} stopped answering ({{error}}): {then}"


def _held_blocks(facts: Facts) -> str:
    if facts.get("before_wipe"):
        return "{node} is not wiped: a last check did not show that its blocks are elsewhere ({error})"
    if facts.get("lost"):
        return "{cluster} waits for {node}, which may hold data ({error})"
    return "{node} keeps its DataNode: its blocks are not known to be safe elsewhere ({error})"


def _evacuated(facts: Facts) -> str:
    """The end of an evacuation: the blocks that were proven safe, and those that were missing before it began."""
    gone = facts.get("seen") in (Stored.DEAD, Stored.ABSENT)
    text = "The blocks of {node} are safe on other nodes of {cluster}" + (", although its DataNode is dead" * gone)
    before = facts.get("missing_before")
    return text + ("; blocks of {missing_before} files had been missing before it began to leave" if before else "")


def _late_answer(facts: Facts) -> str:
    about = literal(thing(str(facts["effect"]))) if "effect" in facts else "{node}" if "node" in facts else "job {job}"
    return f"A late answer about {about} is ignored: the situation has changed since"


def _some(names: object) -> str:
    return literal(", ".join(cast(Sequence[str], names)))


def _left_behind(facts: Facts) -> str:
    then = "they were removed" if facts["removed"] else "they stay there, as `leftovers` says"
    more = "such as " if cast(int, facts["leftovers"]) > len(cast(Sequence[str], facts["names"])) else ""
    things = "1 thing" if facts["leftovers"] == 1 else "{leftovers} things"
    return f"The user of {{cluster}} had left {things} on {{node}}: {more}{_some(facts['names'])}; {then}"


def _software_repaired(facts: Facts) -> str:
    return (
        f"The software on {{node}} had been changed: {_some(facts['files'])}. It was copied again before {{cluster}} "
        "started anything there; find out who could write it"
    )


NODES: Mapping[str, Template] = {
    "left-behind": _left_behind,
    "software-repaired": _software_repaired,
    "node-adopted": "{node} belongs to {cluster} as a {role} node since the pool was adopted",
    "held-out": "{node} is held out of service: {error}. Run `fawkes undrain {node}` when it is known to be clean",
    "new": "New in the inventory",
    "serves": "{node} serve{s} {cluster} as {role}",
    "leaves-for-operator": "{node} leave{s} {cluster} because an operator takes it out of service: {reason}",
    "takes-over": "{node} join{s} {cluster} as {role}, to replace {instead_of}",
    "core-waits": "{node} {alert}",
    "core-leaves": _core_leaves,
    "out-of-service": because("{node} is out of service", "why"),
    "back-in-service": because("{node} is back in service", "why"),
    "drained": _drained,
    "drain-overdue": "The tasks on {node} did not end in time: they are killed and run again elsewhere",
    "evacuated": _evacuated,
    "held-blocks": _held_blocks,
    "freed": "{node} is wiped, verified and free",
    "node-lost": _node_lost,
    "leaves-while-lost": "{node} leaves {cluster} although it does not answer: it is wiped once its data is proven to "
    "be elsewhere or is discarded",
    "leaves-again": "{node} answers again and continues to leave {cluster}",
    "data-given-up": "The data on {node} is discarded: {node} is wiped without a proof that its blocks are elsewhere",
    "join-failed": "{node} did not come up for {cluster} ({error}): another attempt follows",
    "no-release": "{node} cannot join {cluster} yet: {error}",
    "replaces": "{node} takes the place of {other} in the deployment of {cluster}",
    "free-held": "{node} is free by the ledger, but {error}: no MR-cluster gets it",
    "node-away": "{node} cannot be used ({error}): {cluster} is deployed without it, and it is wiped when it can be",
    "free-silent": "{node} is free, but cannot be reached ({error}): no MR-cluster gets it before it can",
    "node-answers": "{node} answers again",
    "free-answers": "{node} answers, and can be given to an MR-cluster",
    "node-refused": "{node} refuses to be changed ({error}): it stays out of use until it is repaired and wiped",
    "quarantine": "{node} did not come up for {cluster} ({error}): it is quarantined until {until_us}",
    "not-clean": "{node} could not be wiped (attempt {tries}: {error}); it stays out of use until it has been",
    "asked-again": lambda facts: f"Still waiting for {literal(thing(str(facts['effect'])))} (attempt {{tries}})",
    "late-answer": _late_answer,
}
