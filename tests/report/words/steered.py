"""Sentences about holds and moves by hand."""

from __future__ import annotations

from fawkes.core.values.model import Reason

_C = {"cluster": "c"}
_UNTIL = {"until_us": 1_777_896_000_000_000}
_WHOSE = {"node": "n", "life": "serving", "owner": "d"}

STEERED: list[tuple[Reason, str]] = [
    (
        Reason("hold-asked", {"subject": "c", "reason": "a visit", "by": "ann", "until_us": 0}),
        "ann holds c until `fawkes unhold`, so that balancing leaves it alone: a visit",
    ),
    (
        Reason("hold-asked", {"subject": "n", "reason": "a visit", "by": "", **_UNTIL}),
        "An operator holds n until 2026-05-04T12:00:00.000Z, so that balancing leaves it alone: a visit",
    ),
    (
        Reason("reloaded", {"by": "ann", "changed": ["period: 2m -> 4m", "tau: 1 -> 2"], "restart": ["ssh"]}),
        "ann had the settings read again: period: 2m -> 4m; tau: 1 -> 2. These count after a restart of the "
        "controller: ssh",
    ),
    (
        Reason("reloaded", {"by": "", "changed": [], "restart": []}),
        "The settings were read again: no setting of decisions has changed",
    ),
    (Reason("unhold-asked", {"subject": "c", "by": "ann"}), "ann ends the hold of c"),
    (Reason("hold-ended", {"subject": "c"}), "The hold of c is over: balancing counts it again"),
    (Reason("not-held", {"subject": "c"}), "c is not held"),
    (
        Reason("hold-over", {"subject": "c", **_UNTIL}),
        "A hold of c until 2026-05-04T12:00:00.000Z would be over already: name a later time",
    ),
    (
        Reason("not-active", {**_C, "life": "loading"}),
        "c is loading: only nodes of an MR-cluster that is running are moved by hand",
    ),
    (
        Reason("not-readable", _C),
        "c cannot be read now, so nobody knows what its nodes do: `fawkes status c`",
    ),
    (
        Reason("halted", {**_C, "lost": 7}),
        "7 nodes are lost, so no node is moved before enough of them are back: `fawkes nodes`",
    ),
    (
        Reason("above-maximum", {**_C, "count": 2, "held": 5, "maximum": 6}),
        "c holds 5 nodes and may have at most 6 (max_nodes): it cannot get 2 more",
    ),
    (
        Reason("below-minimum", {**_C, "count": 2, "held": 5, "minimum": 4}),
        "c holds 5 nodes and keeps at least 4 (min_nodes): it cannot give 2",
    ),
    (
        Reason("too-few-free", {**_C, "count": 3, "held": 5, "free": 1, "reserved": 0}),
        "c cannot get 3 nodes: 1 can be had now. Nothing was moved",
    ),
    (
        Reason("too-few-free", {**_C, "count": 3, "held": 5, "free": 1, "reserved": 2}),
        "c cannot get 3 nodes: 1 can be had now; others are kept for MR-clusters that wait for 2 nodes. "
        "Nothing was moved",
    ),
    (
        Reason("too-few-to-give", {**_C, "count": 3, "able": 1, "kept": 2}),
        "c cannot give 3 nodes: 1 may leave; core nodes stay, and 2 nodes are held. Nothing was moved",
    ),
    (
        Reason("not-to-be-had", {**_WHOSE, "reserved": 0}),
        "n is serving with d, so it cannot join: name a free node (`fawkes nodes`), or a number of nodes",
    ),
    (
        Reason("not-to-be-had", {"node": "n", "life": "free", "owner": None, "reserved": 2}),
        "n is free, but it does not answer, or it is kept for an MR-cluster that waits for 2 nodes",
    ),
    (
        Reason("not-its-own", {**_C, **_WHOSE}),
        "n is serving with d: only a node that serves c can leave it (`fawkes nodes`)",
    ),
    (
        Reason("is-core-node", {**_C, "node": "n", "life": "serving", "owner": "c"}),
        "n is a core node of c, and core nodes stay: `fawkes drain n` takes it out of service once another one has "
        "replaced it",
    ),
    (
        Reason("node-held", {"node": "n", "reason": "a visit", "until_us": 0}),
        "n is held until `fawkes unhold`: a visit. End that first with `fawkes unhold n`",
    ),
    (
        Reason("shrink", {**_C, "node": "n", "role": "transient", "held": 5, "target": 4, "by": "ann"}),
        "n (transient) leaves c, which holds 5 nodes and should have 4, as ann asked",
    ),
    (
        Reason("undrain", {**_C, "node": "n", "role": "transient", "held": 4, "target": 5, "by": ""}),
        "n stays with c after all: c held 4 nodes and should have 5, as an operator asked; nodes that are still "
        "leaving come back first",
    ),
]
