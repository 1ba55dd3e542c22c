"""Reasons as sentences: one template for each code that the core gives.

A template is a text with the facts' names in braces, or a function of the facts. ``{node}`` may be several nodes; then
``{s}``, the ending of the verb, is empty. Names ending in ``_us`` and ``_bytes`` are shown with their units.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from fawkes.core.keys import Key
from fawkes.core.model import ClusterLife, Facts, Reason, Role
from fawkes.core.sight import Stored
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


def thing(key: str) -> str:
    """What a key of the core stands for, by its name: people never see the key itself."""
    kind, _, name = key.partition(":")
    return _THINGS.get(kind, "{}").format(name or key)


_THINGS: Mapping[str, str] = {
    Key.HOST: "{}",
    Key.CLUSTER: "the current stage of {}",
    Key.MEMBERSHIP: "{}'s new member list",
    Key.SURVEY: "the survey of {}'s data and applications",
    Key.JOB: "YARN's answer about job {}",
}


def _asked_again(facts: Facts) -> str:
    return f"Still waiting for {literal(thing(str(facts['effect'])))} (attempt {{tries}})"


def literal(text: str) -> str:
    """Text that is no template: names of folders may have braces, which would be taken for placeholders."""
    return text.replace("{", "{{").replace("}", "}}")


def _drained(facts: Facts) -> str:
    blocks = ", its blocks are next" if facts.get("role") in (Role.TRANSIENT_CORE, Role.CORE) else ""
    return "No task of {cluster} runs on {node} any more" + blocks


def _node_lost(facts: Facts) -> str:
    if facts["role"] == Role.TRANSIENT:
        then = "it stays out of use until it has been wiped"
    elif facts.get("leaving"):
        then = "it was leaving with data, and is waited for until its data is proven to be elsewhere"
    else:
        then = "it is waited for: it may hold data"
    return f"{{node}} of {{cluster}} stopped answering ({{error}}): {then}"


def _held_blocks(facts: Facts) -> str:
    if facts.get("before_wipe"):
        return "{node} is not wiped: a last check did not show that its blocks are elsewhere ({error})"
    if facts.get("lost"):
        return "{node} is waited for: it may hold data ({error})"
    return "{node} keeps its DataNode: its blocks are not known to be safe elsewhere ({error})"


def _evacuated(facts: Facts) -> str:
    """What was proven, and what was not asked for because it was missing before."""
    gone = facts.get("seen") in (Stored.DEAD, Stored.ABSENT)
    text = "The blocks of {node} are safe on other nodes of {cluster}" + (", although its DataNode is dead" * gone)
    before = facts.get("missing_before")
    files = "1 file" if before == 1 else "{missing_before} files"
    return text + (f"; blocks of {files} were missing before it began to leave" if before else "")


def _late_answer(facts: Facts) -> str:
    about = literal(thing(str(facts["effect"]))) if "effect" in facts else "{node}" if "node" in facts else "job {job}"
    return f"A late answer about {about} is ignored: things have moved on"


def _took(text: str) -> Template:
    """``text``, how long it took, and what else the world had to say about it."""

    def said(facts: Facts) -> str:
        folders = [one for name in ("sets", "outputs") for one in cast(Sequence[Facts], facts.get(name, ()))]
        rest = [name for name in facts if name not in ("cluster", "took_us", "s", "sets", "outputs")]
        more = "".join(f", {name.removesuffix('_us').replace('_', ' ')} {{{name}}}" for name in rest)
        what = literal("".join(f", {_folder(one)}" for one in folders))
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


def _pool_given_back(facts: Facts) -> str:
    by = " by {by}" if facts.get("by") else ""
    return f"The whole pool is given back{by}" + (", and all data is given up" if facts.get("discard") else "")


def _pool_kept(facts: Facts) -> str:
    refusals = cast(Sequence[Facts], facts["refusals"])
    said = [sentence(Reason(str(one["code"]), cast(Facts, one["facts"]))) for one in refusals]
    return f"The pool is kept, nothing was released: {literal('; '.join(said))}"


def _released(facts: Facts) -> str:
    by = " by {by}" if facts.get("by") else ""
    return f"{{cluster}} is released{by}" + (", and its data is given up" if facts.get("discard") else "")


def _called_off(facts: Facts) -> str:
    stage = "Deployment" if facts["life"] == ClusterLife.DEPLOYING else "Loading the data"
    return f"{stage} of {{cluster}} was cancelled after {{took_us}}; no job had run, so there is nothing to save"


def _not_reached(facts: Facts) -> str:
    stage = str(facts["stage"])
    what = "did not get its new member list" if stage == Key.MEMBERSHIP else f"failed while {stage}"
    return f"{{cluster}} {what} (attempt {{tries}}): {{error}}"


def _operator(text: str) -> Template:
    """``text`` after who did it."""
    return lambda facts: ("{by}" if facts.get("by") else "An operator") + text


def _listed(rows: object, count: object, row_in_words: Callable[[Facts], str]) -> str:
    """Rows in words, and how many more there are."""
    shown = [row_in_words(row) if isinstance(row, Mapping) else str(row) for row in cast(Sequence[object], rows)]
    more = (count if isinstance(count, int) else len(shown)) - len(shown)
    return literal(", ".join(shown) + (f" and {more} more" if more > 0 else ""))


def named_files(files: Sequence[str], count: int, most: int = 10) -> str:
    """The first names of a list that may have been cut, and how many more there are."""
    more = count - min(most, len(files))
    return ", ".join(files[:most]) + (f" and {more} more" if more > 0 else "")


def undeclared_in_words(row: Facts) -> str:
    """A folder that nobody declared: its path, how much lies there, whose it is, and its newest files."""
    size, files, owner = row.get("bytes"), row.get("files"), row.get("owner")
    facts = [show_bytes(size)] if isinstance(size, int) else []
    facts += [f"{files} file{'' if files == 1 else 's'}"] if isinstance(files, int) else []
    facts += [f"of {owner}"] if owner else []
    newest = [str(file.get("path")) for file in cast(Sequence[Facts], row.get("newest") or ())]
    facts += [f"the newest: {', '.join(newest)}"] if newest else []
    return f"{row.get('path')}" + (f" ({', '.join(facts)})" if facts else "")


def _application(row: Facts) -> str:
    facts = [str(row[key]) for key in ("name", "user") if row.get(key)]
    return f"{row.get('id')}" + (f" ({' of '.join(facts)})" if facts else "")


def _undeclared_data(facts: Facts) -> str:
    folders = _listed(facts["undeclared"], facts.get("count"), undeclared_in_words)
    return (
        f"{{cluster}} has data in HDFS outside of its declared folders: {folders}; copy it away, or give up all data "
        "of {cluster}, its outputs included, with `fawkes release {cluster} --discard-data`"
    )


def _foreign_applications(facts: Facts) -> str:
    names = _listed(facts["applications"], facts.get("count"), _application)
    return (
        f"{{cluster}} runs applications that were not submitted to Fawkes: {names}; wait for them, or kill them with "
        "`fawkes release {cluster} --force`"
    )


def _not_retired(facts: Facts) -> str:
    because = sentence(Reason(str(facts["because"]), facts))
    return f"{{cluster}} is idle, but it is kept: {literal(because)}"


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
        return "No MR-cluster could be measured: all keep their nodes"
    return "The policy {policy} measures 0 everywhere, so weights are undefined: all keep their nodes"


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
    "policy-failed": "The policy {policy} gave no usable answer ({failed}): all keep their nodes",
}

SENTENCES: Mapping[str, Template] = {
    # engine and operators
    "started": _started,
    "paused": _because("Voluntary moves are stopped", "reason"),
    "resumed": _by("Voluntary moves are allowed again"),
    "drain-asked": _operator(" takes {node} out of service: {reason}"),
    "discard-asked": _operator(" gives up the data on {node}: {reason}"),
    "retry-asked": _operator(" asks for another attempt now: {subject} does not wait for its next one any more"),
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
    "idle": "{cluster} has been idle since {since_us}: its outputs are saved, then its nodes are released",
    "released": _released,
    "pool-given-back": _pool_given_back,
    "pool-empty": "Every MR-cluster is gone and every node is clean: the controller ends",
    "pool-kept": _pool_kept,
    "down-overtaken": "{by} has asked meanwhile to give back the whole pool: look with `fawkes status`",
    "pool-closing": "{by} is giving back the whole pool, so {cluster} cannot have nodes; request it when the "
    "controller has been started again",
    "called-off": _called_off,
    "retire": "{cluster} ends: its nodes are stopped and wiped",
    "gone": _because("{cluster} is gone", "failed"),
    "gave-up": "{cluster} is given up: {error}",
    "not-reached": _not_reached,
    "not-retired": _not_retired,
    "told-again": "The masters of {cluster} get its member list again, because {node} {what}",
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
    "drain-overdue": "The tasks on {node} have used up their time: they are killed and run again elsewhere",
    "evacuated": _evacuated,
    "held-blocks": _held_blocks,
    "freed": "{node} wiped and verified: free",
    "node-lost": _node_lost,
    "leaves-while-lost": "{node} leaves {cluster} although it does not answer: it is wiped when its data is proven to "
    "be elsewhere, or is given up",
    "leaves-again": "{node} is back, and goes on leaving {cluster}",
    "data-given-up": "The data on {node} is given up: {node} is wiped without a proof that its blocks are elsewhere",
    "join-failed": "{node} did not come up for {cluster} ({error}): another attempt follows",
    "replaces": "{node} takes the place of {other} in the deployment of {cluster}",
    "node-refused": "{node} refuses to be changed ({error}): it stays out of use until it is repaired and wiped",
    "quarantine": "{node} did not come up for {cluster} ({error}): it is kept out until {until_us}",
    "not-clean": "{node} could not be wiped (attempt {tries}: {error}); it stays out of use until it has been",
    "asked-again": _asked_again,
    "late-answer": _late_answer,
    # jobs
    "job-queued": "Job {job} waits in the queue of {cluster}",
    "job-released": "Job {job} is handed to YARN on {cluster}, attempt {attempt}",
    "job-succeeded": "Job {job} succeeded",
    "job-failed": _job_ended("Job {job} failed"),
    "job-cancelled": _job_ended("Job {job} is cancelled"),
    "retry": "Job {job} failed ({error}); attempt {attempt} follows",
    "cancel-asked": _by("Job {job} was cancelled"),
    "time-limit": "Job {job} has passed its time limit of {limit_us}: it is stopped",
    # refusals
    "cluster-exists": "There is already an MR-cluster {cluster}",
    "no-minimum": "{cluster} needs at least one node, not {minimum}",
    "minimum-above-pool": "{cluster} needs {minimum} core nodes, but only {able} nodes of the pool may be core nodes",
    "maximum-below-minimum": "{cluster} may have at most {maximum} nodes, but needs at least {minimum}",
    "no-such-cluster": "There is no MR-cluster {cluster}",
    "no-such-subject": "{subject} is neither a node of the pool nor an MR-cluster: `fawkes nodes` and `fawkes status` "
    "list them",
    "nothing-to-retry": "Nothing of {subject} waits for another attempt: `fawkes status` shows how it stands",
    "nothing-held": "{node} is {life}, and no data on it holds anything up: nothing was given up. To take it out of "
    "service, use `fawkes drain {node}` without --discard-data",
    "undeclared-data": _undeclared_data,
    "foreign-applications": _foreign_applications,
    "survey-failed": "{cluster} stays: it is not known what lies in its HDFS and what runs on it ({error}); try again, "
    "or give up everything on it with `fawkes release {cluster} --discard-data --force`",
    "overtaken": "{cluster} is already leaving, or another request to release it came later: `fawkes status {cluster}` "
    "shows how it stands",
    "no-such-node": "There is no node {node} in the pool",
    "no-such-job": "There is no job {job} that has not ended",
    "job-exists": "There is already a job {job}",
    "has-jobs": "{cluster} has jobs that have not ended ({jobs}): wait for them (`fawkes jobs {cluster}`), or "
    "cancel them all with --force",
    "master-node": _master_node,
    "not-drained": "{node} is not out of service",
    "not-in-inventory": "{node} is no longer in the inventory: add it there, then restart the controller",
    "shadow": "The controller runs in shadow: it decides but does nothing, so nothing was done",
}
