"""Reasons as sentences: one template for each code that the core gives.

A template is a text with the facts' names in braces, or a function of the facts. ``{node}`` may be several nodes; then
``{s}``, the ending of the verb, is empty. Names ending in ``_us`` and ``_bytes`` are shown with their units.
`cluster_sentences`, `node_sentences` and `job_sentences` have the templates about MR-clusters, nodes and jobs, this
module has all others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

from fawkes.base.units import counted
from fawkes.core.values.model import ClusterLife, Facts, Hold, JobState, Reason
from fawkes.report.words.cluster_sentences import BALANCE, CLUSTERS
from fawkes.report.words.facts import (
    Template,
    because,
    by,
    fold,
    listed,
    literal,
    operator,
    show_fact,
    undeclared_in_words,
)
from fawkes.report.words.job_sentences import JOBS
from fawkes.report.words.masters_sentences import MASTER_REFUSALS, MASTERS
from fawkes.report.words.node_sentences import NODES

_MANY = re.compile(r"\{(\w+)\} (?:node|core node|job|CPU|file)s\b")
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
            return _numbered(text, facts).format_map(_Shown(facts))
        except (KeyError, TypeError, ValueError, AttributeError):
            return bare(reason)
    return bare(reason)


def why_ended(job: JobState) -> str:
    """The reason why Fawkes ended a job, else what others said of its end; empty when neither is known."""
    return job.why if job.stop is None else sentence(job.stop)


def _numbered(text: str, facts: Facts) -> str:
    """A template whose nouns behind a 1 are singular: ``{minimum} nodes`` becomes ``{minimum} node``."""
    return _MANY.sub(lambda match: match[0][:-1] if facts.get(match[1]) == 1 else match[0], text)


def bare(reason: Reason) -> str:
    """The code and the facts as they are."""
    shown = ", ".join(
        f"{key} {show_fact(key, value)}" for key, value in reason.facts.items() if value not in ("", None)
    )
    return f"{reason.code}: {shown}" if shown else reason.code


class _Shown(dict[str, object]):
    """Facts that format themselves."""

    def __getitem__(self, key: str) -> str:
        return show_fact(key, super().__getitem__(key))


def _started(facts: Facts) -> str:
    shadow = ", in shadow mode: it decides but does nothing" if facts["shadow"] else ""
    return f"The controller started: Fawkes {{version}}, epoch {{epoch}}, policy {{policy}}{shadow}"


def _adopted(facts: Facts) -> str:
    clusters = ", ".join(cast(Sequence[str], facts["clusters"])) or "no MR-cluster"
    nodes, jobs = cast(Sequence[str], facts["nodes"]), cast(Sequence[str], facts["jobs"])
    who = f"{facts['by']} adopted the pool" if facts.get("by") else "The pool was adopted"
    return literal(f"{who}: {clusters} with {counted(len(nodes), 'node')} and {counted(len(jobs), 'known job')}")


def _clock_jumped(facts: Facts) -> str:
    way = "ahead" if facts["ahead"] else "back"
    put_off = "; all deadlines and idle times are put off by {uncounted_us}" if facts["uncounted_us"] else ""
    return f"The clock of the controller's machine was set {way} by {{by_us}}. This counts as no time{put_off}"


def _application(row: Facts) -> str:
    facts = [str(row[key]) for key in ("name", "user") if row.get(key)]
    return f"{row.get('id')}" + (f" ({' of '.join(facts)})" if facts else "")


def _undeclared_data(facts: Facts) -> str:
    folders = listed(facts["undeclared"], facts.get("count"), undeclared_in_words)
    return (
        f"{{cluster}} has data in HDFS outside of its declared folders: {folders}; copy it away, or discard all data "
        "of {cluster}, including its outputs, with `fawkes release {cluster} --discard-data`"
    )


def _foreign_applications(facts: Facts) -> str:
    names = listed(facts["applications"], facts.get("count"), _application)
    return (
        f"{{cluster}} runs applications that are none of its jobs: {names}; wait for them, or kill them with "
        "`fawkes release {cluster} --force`"
    )


def _not_retired(facts: Facts) -> str:
    why = sentence(Reason(str(facts["because"]), facts))
    return f"{{cluster}} is idle, but it is kept: {literal(why)}"


def _pool_given_back(facts: Facts) -> str:
    name = " by {by}" if facts.get("by") else ""
    return f"The whole pool is released{name}" + (", and all data is discarded" if facts.get("discard") else "")


def _pool_kept(facts: Facts) -> str:
    refusals = cast(Sequence[Facts], facts["refusals"])
    sentences = [sentence(Reason(str(row["code"]), cast(Facts, row["facts"]))) for row in refusals]
    return f"The pool is kept and nothing was released: {literal('; '.join(sentences))}"


def _master_node(facts: Facts) -> str:
    """The end of jobs that the node of the masters waits for, and the commands with which an administrator goes on."""
    jobs = " once {jobs} ended, or now with --force" if facts.get("jobs") else ""
    saves = "" if facts.get("life") in _COMING_UP else "; the release saves its outputs"
    return (
        "{node} runs the masters of {cluster} and cannot leave before {cluster} is released. "
        f"Run `fawkes release {{cluster}}`{jobs}, then drain {{node}} again{saves}"
    )


def _until(facts: Facts) -> str:
    """The end of a hold: a time, or the command that ends it."""
    return "until {until_us}" if facts.get("until_us") else "until `fawkes unhold`"


def _reloaded(facts: Facts) -> str:
    """The change of settings, and the keys that wait for a restart."""
    who = "{by} had the settings read again" if facts.get("by") else "The settings were read again"
    changed = "; ".join(cast(Sequence[str], facts["changed"]))
    waits = ", ".join(cast(Sequence[str], facts["restart"]))
    rest = f". These count after a restart of the controller: {literal(waits)}" if waits else ""
    return f"{who}: {literal(changed) or 'no setting of decisions has changed'}{rest}"


def held_by(hold: Hold) -> str:
    """A hold in words, without its subject: who holds it, until when, and why."""
    who = hold.by or "an operator"
    end = f"until {show_fact('until_us', hold.until_us)}" if hold.until_us else "until `fawkes unhold`"
    return f"held by {who} {end}: {hold.reason}"


def _hold_asked(facts: Facts) -> str:
    who = "{by}" if facts.get("by") else "An operator"
    return f"{who} holds {{subject}} {_until(facts)}, so that balancing leaves it alone: {{reason}}"


def _not_to_be_had(facts: Facts) -> str:
    if facts["owner"] is None and facts["life"] == "free":
        return "{node} is free, but it does not answer, or it is kept for an MR-cluster that waits for {reserved} nodes"
    whose = " with {owner}" if facts["owner"] else ""
    return f"{{node}} is {{life}}{whose}, so it cannot join: name a free node (`fawkes nodes`), or a number of nodes"


def _not_its_own(facts: Facts) -> str:
    whose = " with {owner}" if facts["owner"] else ""
    return f"{{node}} is {{life}}{whose}: only a node that serves {{cluster}} can leave it (`fawkes nodes`)"


def _too_few_free(facts: Facts) -> str:
    kept = "; others are kept for MR-clusters that wait for {reserved} nodes" if facts["reserved"] else ""
    return f"{{cluster}} cannot get {{count}} nodes: {{free}} can be had now{kept}. Nothing was moved"


def _too_few_to_give(facts: Facts) -> str:
    kept = ", and {kept} nodes are held" if facts["kept"] else ""
    return f"{{cluster}} cannot give {{count}} nodes: {{able}} may leave; core nodes stay{kept}. Nothing was moved"


def _tick(facts: Facts) -> str:
    template = VERDICTS[str(facts["verdict"])]
    return template if isinstance(template, str) else template(facts)


def _no_weights(facts: Facts) -> str:
    clusters = cast(Mapping[str, Mapping[str, object]], facts["clusters"])
    if not clusters:
        return "No MR-cluster is active: there is nothing to balance"
    if all(row.get("kept") for row in clusters.values()):
        return "Every active MR-cluster is held: all keep their nodes"
    if all(row.get("y") is None for row in clusters.values()):
        return "No MR-cluster could be measured: all keep their nodes"
    return "The policy {policy} measures 0 everywhere, so weights are undefined: all keep their nodes"


#: the last sentence about a tick: what its figures led to
VERDICTS: Mapping[str, Template] = {
    "unbalanced": "The discrimination exceeds the threshold: nodes will move",
    "balanced": "The discrimination is within the threshold: balanced, so no node moves",
    "as-balanced-as-possible": "Minimums and whole nodes allow no better balance: no node moves",
    "spare": "The policy moves no node now. Free nodes join all the same, and nodes beyond equal parts come home where "
    "that saves waiting",
    "not-worth": "The threshold is exceeded, but no move would save more than it costs: no node moves",
    "confirming": "The threshold is exceeded, but not for enough ticks in a row ({over} so far): no node moves for a "
    "single peak",
    "settling": "The threshold is exceeded, but the latest moves have not taken effect yet: no node moves before they "
    "have",
    "paused": "The threshold is exceeded, but voluntary moves are stopped ({paused}): no node moves",
    "halted": "Too many nodes are lost: no node moves until enough of them are back; `fawkes nodes` shows them",
    "no-weights": _no_weights,
    "policy-failed": "The policy {policy} gave no usable answer ({failed}): all keep their nodes",
}

OPERATORS: Mapping[str, Template] = {
    "started": _started,
    "reloaded": _reloaded,
    "adopted": _adopted,
    "not-adopted": "{cluster} is not adopted: {error}; its nodes keep running, out of service",
    "clock-jumped": _clock_jumped,
    "away": "No controller ran for {away_us}; {counted_us} of that count for deadlines and idle times",
    "paused": because("Voluntary moves are stopped", "reason"),
    "resumed": by("Voluntary moves are allowed again"),
    "drain-asked": operator(" takes {node} out of service: {reason}"),
    "discard-asked": operator(" discards the data on {node}: {reason}"),
    "hold-asked": _hold_asked,
    "unhold-asked": operator(" ends the hold of {subject}"),
    "hold-ended": "The hold of {subject} is over: balancing counts it again",
    "pool-given-back": _pool_given_back,
    "pool-empty": "Every MR-cluster is gone and every node is clean: the controller stops",
    "retry-asked": operator(" asks for an immediate retry of {subject}"),
}

REFUSALS: Mapping[str, Template] = {
    "cluster-exists": "There is already an MR-cluster {cluster}, and nothing of it is changed. What its file says now "
    "counts for the next one: release this one first (`fawkes release {cluster}`)",
    "no-minimum": "{cluster} needs at least one node, not {minimum}",
    "minimum-above-pool": "{cluster} needs {minimum} core nodes, but only {able} nodes that may be core nodes are in "
    "service: `fawkes nodes` shows the others, and why they are not",
    "maximum-below-minimum": "{cluster} may have at most {maximum} nodes, but needs at least {minimum}",
    "no-such-cluster": "There is no MR-cluster {cluster}",
    "takes-no-jobs": "{cluster} is {life}, on its way to be released: it takes no jobs any more",
    "no-such-subject": "{subject} is neither a node of the pool nor an MR-cluster: `fawkes nodes` and `fawkes status` "
    "list them",
    "nothing-to-retry": "{subject} has nothing to retry; `fawkes status` shows its state",
    "not-held": "{subject} is not held",
    "hold-over": "A hold of {subject} until {until_us} would be over already: name a later time",
    "not-active": "{cluster} is {life}: only nodes of an MR-cluster that is running are moved by hand",
    "not-readable": "{cluster} cannot be read now, so nobody knows what its nodes do: `fawkes status {cluster}`",
    "halted": "{lost} nodes are lost, so no node is moved before enough of them are back: `fawkes nodes`",
    "above-maximum": "{cluster} holds {held} nodes and may have at most {maximum} (max_nodes): it cannot get {count} "
    "more",
    "below-minimum": "{cluster} holds {held} nodes and keeps at least {minimum} (min_nodes): it cannot give {count}",
    "too-few-free": _too_few_free,
    "too-few-to-give": _too_few_to_give,
    "not-to-be-had": _not_to_be_had,
    "not-its-own": _not_its_own,
    "is-core-node": "{node} is a core node of {cluster}, and core nodes stay: `fawkes drain {node}` takes it out of "
    "service once another one has replaced it",
    "node-held": lambda facts: (
        f"{{node}} is held {_until(facts)}: {{reason}}. End that first with `fawkes unhold {{node}}`"
    ),
    "nothing-held": "{node} is {life}, and no MR-cluster waits for data on it, so nothing was discarded. To take it "
    "out of service, use `fawkes drain {node}` without --discard-data",
    "undeclared-data": _undeclared_data,
    "foreign-applications": _foreign_applications,
    "survey-failed": "{cluster} is not released: its data and applications are not known ({error}); try again, or "
    "discard everything on it with `fawkes release {cluster} --discard-data --force`",
    "pool-kept": _pool_kept,
    "pool-closing": "{by} is releasing the whole pool, so {cluster} cannot get nodes; request it again after the next "
    "start of the controller",
    "down-overtaken": "{by} has meanwhile asked to release the whole pool: `fawkes status` shows its state",
    "overtaken": "{cluster} is already leaving, or a later request to release it is under way: `fawkes status "
    "{cluster}` shows its state",
    "no-such-node": "There is no node {node} in the pool",
    "no-such-job": "There is no queued or running job {job}",
    "no-promise": "Job {job} is not taken: no number of CPUs can be kept for it ({error}). Set admit_unkept = true in "
    "fawkes.toml to let such jobs in without a promise",
    "job-exists": "There is already a job {job}. The name of a job is used once for good: choose another one",
    "has-jobs": "{cluster} has jobs that have not ended ({jobs}): wait for them (`fawkes jobs {cluster}`), or "
    "cancel them all with --force",
    "master-node": _master_node,
    "not-drained": "{node} is not out of service",
    "not-in-inventory": "{node} is no longer in the inventory: add it there, then restart the controller",
    "shadow": "The controller runs in shadow mode: it measures and decides, but changes nothing and takes no requests. "
    "To act, stop it with `fawkes down --keep` and start `fawkes run` without --shadow",
}

#: the template of each code
SENTENCES: Mapping[str, Template] = {
    **OPERATORS,
    **CLUSTERS,
    **MASTERS,
    "not-retired": _not_retired,
    "tick": _tick,
    **BALANCE,
    **NODES,
    **JOBS,
    **REFUSALS,
    **MASTER_REFUSALS,
}
