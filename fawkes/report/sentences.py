"""Reasons as sentences: one template for each code that the core gives.

A template is a text with the facts' names in braces, or a function of the facts. ``{node}`` may be several nodes; then
``{s}``, the ending of the verb, is empty. Names ending in ``_us`` and ``_bytes`` are shown with their units.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from fawkes.core.model import ClusterLife, Facts, Reason, Role
from fawkes.units import show_bytes, show_duration, show_time

Template = str | Callable[[Facts], str]

_MOMENTS = frozenset({"until_us", "since_us", "at_us"})
_COMING_UP = frozenset({ClusterLife.DEPLOYING, ClusterLife.LOADING})


def sentence(reason: Reason, nodes: tuple[str, ...] = ()) -> str:
    """One sentence without a full stop; ``nodes`` stand for all nodes that the same reason holds for.

    A code without a template, or one whose facts are missing, gives the code and its facts.
    """
    facts = {**reason.facts, "s": "s"}
    if nodes:
        facts["node"] = fold(nodes)
        facts["s"] = "s" if len(nodes) == 1 else ""
    template = SENTENCES.get(reason.code)
    if template is not None:
        try:
            text = template if isinstance(template, str) else template(facts)
            return text.format_map(_Shown(facts))
        except (KeyError, TypeError, ValueError, AttributeError):
            return bare(reason)
    return bare(reason)


def bare(reason: Reason) -> str:
    """The code and the facts as they are."""
    shown = ", ".join(
        f"{key} {show_fact(key, value)}" for key, value in reason.facts.items() if value not in ("", None)
    )
    return f"{reason.code}: {shown}" if shown else reason.code


def fold(names: Sequence[str]) -> str:
    """Names as one node set, ``node[01-03]``."""
    if len(names) == 1:
        return names[0]
    # ClusterShell takes a while to import, and most sentences name one node.
    from fawkes.config.nodeset import fold as folded

    return folded(names)


def show_fact(key: str, value: object) -> str:
    """A fact for people, by the ending of its name."""
    if isinstance(value, int) and not isinstance(value, bool):
        if key in _MOMENTS:
            return show_time(value)
        if key.endswith("_us"):
            return show_duration(value)
        if key.endswith("_bytes"):
            return show_bytes(value)
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, (list, tuple)):
        names = [str(each) for each in value]
        return fold(names) if key == "nodes" and names else ", ".join(names)
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {show_fact(str(name), each)}" for name, each in value.items())
    return str(value)


class _Shown(dict[str, object]):
    """Facts that format themselves."""

    def __getitem__(self, key: str) -> str:
        return show_fact(key, super().__getitem__(key))


def _by(text: str) -> Template:
    """``text`` and who asked, when that is known."""
    return lambda facts: text + (" by {by}" if facts.get("by") else "")


def _because(text: str, fact: str) -> Template:
    """``text`` and, after a colon, the fact, when there is one."""
    return lambda facts: text + (f": {{{fact}}}" if facts.get(fact) else "")


def _started(facts: Facts) -> str:
    shadow = ", in shadow: it decides and does nothing" if facts["shadow"] else ""
    return f"The controller started: Fawkes {{version}}, epoch {{epoch}}, policy {{policy}}{shadow}"


def _waits_for_nodes(facts: Facts) -> str:
    text = "{cluster} waits for {lacking} more nodes: "
    if facts["paused"]:
        return text + "voluntary moves are stopped ({paused})"
    return text + "no MR-cluster has more above its minimum to give"


def _data(facts: Facts) -> str:
    """Why this node and not another, where data decides (paper section 3.2)."""
    return "; least data first ({data_bytes})" if facts.get("role") == Role.TRANSIENT_CORE else ""


def _shrink(facts: Facts) -> str:
    return "{node} ({role}) leave{s} {cluster}, which holds {held} nodes and should have {target}" + _data(facts)


def _shrink_to_admit(facts: Facts) -> str:
    return "{node} ({role}) leave{s} {cluster} to make room for {newcomer}" + _data(facts)


def _shrink_to_replace(facts: Facts) -> str:
    return "{node} ({role}) leave{s} {cluster} to take over in {receiver} from {instead_of}" + _data(facts)


def _drained(facts: Facts) -> str:
    blocks = ", its blocks are next" if facts.get("role") in (Role.TRANSIENT_CORE, Role.CORE) else ""
    return "No task of {cluster} runs on {node} any more" + blocks


def _node_lost(facts: Facts) -> str:
    data = facts["role"] != Role.TRANSIENT
    then = "it has data, so {cluster} waits for it" if data else "it is wiped before anybody gets it"
    return f"{{node}} of {{cluster}} stopped answering ({{error}}): {then}"


def _late_answer(facts: Facts) -> str:
    names = ("node", "job", "effect")
    about = next(f"{{{name}}}" for name in names if name in facts)
    return f"An answer about {about} came after things had moved on: it does not count"


def _took(text: str) -> Template:
    """``text``, how long it took, and what else the world had to say about it."""

    def said(facts: Facts) -> str:
        folders = [one for name in ("sets", "outputs") for one in cast(Sequence[Facts], facts.get(name, ()))]
        rest = [name for name in facts if name not in ("cluster", "took_us", "s", "sets", "outputs")]
        more = "".join(f", {name.removesuffix('_us').replace('_', ' ')} {{{name}}}" for name in rest)
        # Names of folders may have braces, which would be taken for placeholders.
        what = "".join(f", {_folder(one)}" for one in folders).replace("{", "{{").replace("}", "}}")
        return f"{text} after {{took_us}}{what}{more}"

    return said


def _folder(facts: Facts) -> str:
    """A folder that was loaded or saved: its path, its size when that is known, and what is wrong with its spread."""
    size, uneven = facts.get("size"), facts.get("uneven")
    return (
        str(facts.get("to", facts.get("path")))
        + (f" {show_bytes(size)}" if isinstance(size, int) else "")
        + (f" ({uneven})" if uneven else "")
    )


def _released(facts: Facts) -> str:
    by = " by {by}" if facts.get("by") else ""
    return f"{{cluster}} is given back{by}" + (" and its outputs are given up" if facts.get("discard") else "")


def _core_leaves(facts: Facts) -> str:
    if facts["why"]:
        return "{node} leave{s} {cluster}, which has core nodes enough without it: {why}"
    return "{node} leave{s} {cluster}: the core nodes that it was to take over from stay"


def _master_node(facts: Facts) -> str:
    """What has to end before the node of the masters can leave, and how: an administrator goes on from here."""
    jobs = ", once {jobs} ended or with --force" if facts.get("jobs") else ""
    saves = "" if facts.get("life") in _COMING_UP else ", which saves its outputs"
    return (
        "{node} runs the masters of {cluster}, so it stays as long as {cluster} lives; "
        f"give {{cluster}} back first (`fawkes release {{cluster}}`{jobs}{saves}), then drain {{node}} again"
    )


def _job_ended(text: str) -> Template:
    def said(facts: Facts) -> str:
        why = ": {error}" if facts.get("error") else ""
        return text + why + ("; its log is {log}" if facts.get("log") else "")

    return said


def _tick(facts: Facts) -> str:
    template = VERDICTS[str(facts["verdict"])]
    return template if isinstance(template, str) else template(facts)


def _no_weights(facts: Facts) -> str:
    clusters = cast(Mapping[str, Mapping[str, object]], facts["clusters"])
    if not clusters:
        return "No MR-cluster is active: there is nothing to balance"
    if all(row.get("y") is None for row in clusters.values()):
        return "No MR-cluster could be measured: all keep what they hold"
    return "The policy {policy} measures 0 everywhere, so that weights are undefined: all keep what they hold"


#: the last sentence about a tick: what its figures led to
VERDICTS: Mapping[str, Template] = {
    "unbalanced": "The discrimination exceeds the threshold: nodes are to move",
    "balanced": "The discrimination is within the threshold: balanced, so no node moves",
    "as-balanced-as-possible": "Minimums and whole nodes allow nothing better than what is held: no node moves",
    "confirming": "The threshold is exceeded, but not for enough ticks in a row ({over} so far): a single peak moves "
    "no node",
    "settling": "The threshold is exceeded, but the latest moves have not settled yet: no node moves before their "
    "effect can be seen",
    "paused": "The threshold is exceeded, but voluntary moves are stopped ({paused}): no node moves",
    "halted": "Too many nodes are lost: no node moves until they are back or somebody has looked",
    "no-weights": _no_weights,
    "policy-failed": "The policy {policy} gave no usable answer ({failed}): all keep what they hold",
}

SENTENCES: Mapping[str, Template] = {
    # engine and operators
    "started": _started,
    "paused": _because("Voluntary moves are stopped", "reason"),
    "resumed": _by("Voluntary moves are allowed again"),
    "drain-asked": lambda facts: (
        ("{by} takes" if facts.get("by") else "An operator takes") + " {node} out of service: {reason}"
    ),
    "leaves-for-operator": "{node} leave{s} {cluster} because an operator takes it out of service: {reason}",
    "takes-over": "{node} join{s} {cluster} as {role}, to take over from {instead_of}",
    "core-waits": "{node} {alert}",
    "core-leaves": _core_leaves,
    "out-of-service": _because("{node} is out of service", "why"),
    "back-in-service": _because("{node} is back in service", "why"),
    # MR-clusters
    "requested": lambda facts: (
        "{cluster} was asked for" + (" by {by}" if facts.get("by") else "") + ", with at least {minimum} nodes"
    ),
    "admitted": "{cluster} gets {nodes} as core nodes after waiting {wait_us}",
    "waits-infeasible": "{cluster} waits: it needs {minimum} nodes, and {promised} of the {usable} in service are "
    "promised to others",
    "waits-for-nodes": _waits_for_nodes,
    "deployed": _took("{cluster} is deployed"),
    "loaded": _took("{cluster} has its data"),
    "saved": _took("The outputs of {cluster} are saved and verified"),
    "discarded": "The outputs of {cluster} are given up, as was asked",
    "idle": "{cluster} has had nothing to do since {since_us}: its outputs are saved and its nodes given back",
    "released": _released,
    "called-off": "{cluster} was {life} for {took_us}: that stops; no job ran, so that there is nothing to save",
    "retire": "{cluster} ends: its nodes are stopped and wiped",
    "gone": _because("{cluster} is gone", "failed"),
    "gave-up": "{cluster} is given up: {error}",
    "not-reached": "{cluster} failed at {stage}, try {tries}: {error}",
    "unreadable": "{cluster} cannot be read ({error}): it neither grows nor shrinks until it can",
    "readable": "{cluster} can be read again",
    # balancing
    "tick": _tick,
    "grow": "{node} join{s} {cluster} as {role}: {cluster} held {held} nodes and should have {target}",
    "shrink": _shrink,
    "shrink-to-admit": _shrink_to_admit,
    "shrink-to-replace": _shrink_to_replace,
    "undrain": "{node} stay{s} with {cluster} after all: {cluster} held {held} nodes and should have {target}; what "
    "is still leaving comes back first",
    "budget": "{cluster} gives {granted} of {wanted} nodes for now: the budget of moves allows no more",
    "nothing-to-give": "{cluster} should give {wanted} nodes but only {given} of them may leave: core nodes stay",
    # nodes
    "new": "New in the inventory",
    "serves": "{node} serve{s} {cluster} as {role}",
    "drained": _drained,
    "drain-overdue": "The time for the tasks on {node} is over: they are killed and run again elsewhere",
    "evacuated": "The blocks of {node} are safe on other nodes of {cluster}",
    "held-blocks": "{node} keeps its DataNode: its blocks are not known to be safe elsewhere ({error})",
    "freed": "{node} wiped and verified: free",
    "node-lost": _node_lost,
    "join-failed": "{node} did not come up for {cluster} ({error}): one more try",
    "quarantine": "{node} did not come up for {cluster} ({error}): wiped and kept out until {until_us}",
    "not-clean": "{node} could not be wiped, try {tries} ({error}): nobody gets it before it was",
    "asked-again": "{effect} is not reached yet: try {tries}",
    "late-answer": _late_answer,
    # jobs
    "job-queued": "Job {job} waits in the queue of {cluster}",
    "job-released": "Job {job} is handed to YARN on {cluster}, attempt {attempt}",
    "job-succeeded": "Job {job} succeeded",
    "job-failed": _job_ended("Job {job} failed"),
    "job-cancelled": _job_ended("Job {job} is cancelled"),
    "retry": "Job {job} failed ({error}): attempt {attempt} follows",
    "cancel-asked": _by("Job {job} is taken back"),
    "time-limit": "Job {job} has passed its time limit of {limit_us}: it is stopped",
    # refusals
    "cluster-exists": "There is a MR-cluster {cluster} already",
    "no-minimum": "{cluster} needs at least one node, not {minimum}",
    "minimum-above-pool": "{cluster} needs {minimum} core nodes, but only {able} nodes of the pool may be core nodes",
    "maximum-below-minimum": "{cluster} may have at most {maximum} nodes, but needs at least {minimum}",
    "no-such-cluster": "There is no MR-cluster {cluster}",
    "no-such-node": "There is no node {node} in the pool",
    "no-such-job": "There is no job {job} that has not ended",
    "job-exists": "There is a job {job} already",
    "has-jobs": "{cluster} has jobs that have not ended ({jobs}): wait for them, or force it",
    "master-node": _master_node,
    "not-drained": "{node} is not out of service",
    "not-in-inventory": "{node} is no longer in the inventory: put it back there and start the controller again",
    "shadow": "The controller runs in shadow: it decides and does nothing, so that {asked} has no effect",
}
