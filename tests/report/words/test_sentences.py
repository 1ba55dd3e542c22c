"""Every reason that the core can give has a sentence."""

from __future__ import annotations

import ast
import string
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from fawkes.core.values.model import Reason, Role
from fawkes.report.words.sentences import SENTENCES, VERDICTS, bare, sentence
from fawkes.store.base import Reader
from tests.report.admitted import ADMITTED
from tests.report.moved import MOVED
from tests.report.standing import STANDS
from tests.report.starts import STARTS
from tests.report.stuck import STUCK
from tests.report.words.preempted import PREEMPTED
from tests.report.words.steered import STEERED

CORE = Path(__file__).parents[3] / "fawkes" / "core"


def _texts(node: ast.AST) -> set[str]:
    return {each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)}


def _assigned(tree: ast.AST, name: str) -> set[str]:
    """The texts that a variable of a function, or a constant of a module, can hold."""
    texts: set[str] = set()
    for each in ast.walk(tree):
        if isinstance(each, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in each.targets):
            texts |= _texts(each.value)
        if isinstance(each, ast.For) and isinstance(each.target, ast.Tuple):
            places = [n for n, t in enumerate(each.target.elts) if isinstance(t, ast.Name) and t.id == name]
            texts |= {text for place in places for text in _column(tree, each.iter, place)}
    return texts


def _column(tree: ast.AST, rows: ast.expr, place: int) -> set[str]:
    """The texts at one place of the rows that a loop goes through."""
    name = rows.id if isinstance(rows, ast.Name) else ""
    tables = [each.value for each in ast.walk(tree) if isinstance(each, ast.Assign) and _is(each.targets, name)]
    table_rows = [row for table in tables if isinstance(table, ast.Tuple) for row in table.elts]
    return {text for row in table_rows if isinstance(row, ast.Tuple) for text in _texts(row.elts[place])}


def _is(targets: list[ast.expr], name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _codes(module: ast.Module) -> Iterator[str]:
    for function in ast.walk(module):
        if isinstance(function, (ast.FunctionDef, ast.ClassDef)):
            for call in ast.walk(function):
                code = _code(call)
                if isinstance(code, ast.Name):
                    yield from _assigned(function, code.id) or _assigned(module, code.id)
                elif code is not None:
                    yield from _texts(code)


def _code(call: ast.AST) -> ast.expr | None:
    """The argument of a call that is the code of a reason."""
    if not isinstance(call, ast.Call):
        return None
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    position = {"say": 0, "Reason": 0, "give": 3}.get(name, len(call.args))
    return call.args[position] if position < len(call.args) else None


@cache
def codes() -> set[str]:
    """Every code of a reason in the core, found in its source; constants are known in every module."""
    trees = {path: ast.parse(path.read_text()) for path in CORE.rglob("*.py")}
    constants = [each for tree in trees.values() for each in tree.body if isinstance(each, ast.Assign)]
    for tree in trees.values():
        tree.body += [each for each in constants if each not in tree.body]
    return {code for tree in trees.values() for code in _codes(tree)}


def test_the_source_is_read_rightly() -> None:
    known = codes()
    assert {"undeclared-data", "foreign-applications", "survey-failed", "discard-asked"} <= known
    assert {"grow", "shrink", "shrink-to-admit", "freed", "out-of-service", "job-failed", "job-cancelled"} <= known
    assert len(known) > 40


def test_every_code_has_a_sentence_and_every_sentence_a_code() -> None:
    assert set(SENTENCES) == codes()


def test_every_verdict_of_a_tick_has_a_sentence() -> None:
    tree = ast.parse((CORE / "deciding" / "tick.py").read_text())
    (verdict,) = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == "_verdict"]
    words = {text for text in _texts(verdict) if set(text) <= set(string.ascii_lowercase + "-")}
    assert words == set(VERDICTS)


def test_no_reason_of_a_run_falls_back_to_its_code(fresh: Reader) -> None:
    fallen = {
        sentence(reason)
        for entry in fresh.entries()
        for reason in entry.decision.reasons
        if sentence(reason) == bare(reason)
    }
    assert fallen == set()


def test_every_sentence_is_tried(played: Reader) -> None:
    """The recorded run tries a sentence, or a case by hand below."""
    tried = {reason.code for entry in played.entries() for reason in entry.decision.reasons}
    tried |= {reason.code for reason, _ in SAID}
    assert set(SENTENCES) <= tried


UNDECLARED = {
    "cluster": "c",
    "count": 3,
    "undeclared": [
        {
            "path": "/user/ann/{x}",
            "bytes": 1_500_000_000,
            "files": 12,
            "owner": "ann",
            "newest": [{"path": "/user/ann/{x}/a"}],
        },
        {"path": "/tmp", "bytes": 5, "files": 1, "owner": ""},
    ],
}
DATA_IN_WORDS = (
    "data in HDFS outside of its declared folders: /user/ann/{x} (1.5 GB, 12 files, of ann, the newest: "
    "/user/ann/{x}/a), "
    "/tmp (5 B, 1 file) and 1 more; copy it away, or discard all data of c, including its outputs, with "
    "`fawkes release c --discard-data`"
)
SAID = [
    (
        Reason("gone-fishing", {"where": "the lake", "wait_us": 90_000_000}),
        "gone-fishing: where the lake, wait_us 1m30s",
    ),
    (Reason("gone-fishing"), "gone-fishing"),
    (
        Reason("left-behind", {"cluster": "c", "node": "n1", "leftovers": 1, "names": ["/tmp/{a}"], "removed": True}),
        "The user of c had left 1 thing on n1: /tmp/{a}; they were removed",
    ),
    (
        Reason("left-behind", {"cluster": "c", "node": "n1", "leftovers": 9, "names": ["/tmp/a"], "removed": False}),
        "The user of c had left 9 things on n1: such as /tmp/a; they stay there, as `leftovers` says",
    ),
    (
        Reason("software-repaired", {"cluster": "c", "node": "n1", "files": ["lib/a.jar", "lib/b.jar"]}),
        "The software on n1 had been changed: lib/a.jar, lib/b.jar. It was copied again before c started anything "
        "there; find out who could write it",
    ),
    (Reason("grow", {"node": "n1"}), "grow: node n1"),
    (
        Reason("started", {"version": "1", "epoch": 2, "policy": "TD", "shadow": True}),
        "The controller started: Fawkes 1, epoch 2, policy TD, in shadow mode: it decides but does nothing",
    ),
    (
        Reason("waits-infeasible", {"cluster": "c", "minimum": 5, "promised": 6, "usable": 10}),
        "c waits: it needs 5 nodes, but 6 of the 10 nodes in service are promised to other MR-clusters",
    ),
    (
        Reason("waits-for-nodes", {"cluster": "c", "lacking": 2, "paused": "a visit"}),
        "c waits for 2 more nodes: voluntary moves are stopped (a visit)",
    ),
    (
        Reason("waits-for-nodes", {"cluster": "c", "lacking": 2, "paused": ""}),
        "c waits for 2 more nodes: no other MR-cluster has nodes above its minimum",
    ),
    (
        Reason("undrain", {"node": "n1", "cluster": "c", "role": Role.TRANSIENT, "target": 4, "held": 3}),
        "n1 stays with c after all: c held 3 nodes and should have 4; nodes that are still leaving come back first",
    ),
    (
        Reason("budget", {"cluster": "c", "wanted": 5, "granted": 2}),
        "c gives 2 of 5 nodes for now: the move budget allows no more",
    ),
    (
        Reason("not-worth", {"cluster": "c", "giver": "d", "count": 3, "saves_us": 40_000_000, "costs_us": 95_000_000}),
        "Not moved: 3 nodes of d would save the jobs of c 40s of waiting and cost 1m35s",
    ),
    (
        Reason("not-worth", {"cluster": "c", "giver": None, "count": 1, "saves_us": 0, "costs_us": 5_000_000}),
        "Not moved: 1 free node would save the jobs of c 0s of waiting and cost 5s",
    ),
    (
        Reason("nothing-to-give", {"cluster": "c", "wanted": 5, "given": 2}),
        "c should give 5 nodes, but only 2 of them may leave: core nodes stay",
    ),
    (
        Reason("held-blocks", {"node": "n1", "cluster": "c", "error": "3 blocks are only here"}),
        "n1 keeps its DataNode: its blocks are not known to be safe elsewhere (3 blocks are only here)",
    ),
    (
        Reason("drain-overdue", {"node": "n1", "cluster": "c", "role": Role.TRANSIENT}),
        "The tasks on n1 did not end in time: they are killed and run again elsewhere",
    ),
    (
        Reason("node-lost", {"node": "n1", "cluster": "c", "role": "transient", "error": "no route"}),
        "n1 of c stopped answering (no route): it stays out of use until it has been wiped",
    ),
    (
        Reason("node-lost", {"node": "n1", "cluster": "c", "role": "core", "error": "no route", "leaving": False}),
        "n1 of c stopped answering (no route): c waits for it, because it may hold data",
    ),
    (
        Reason("node-lost", {"node": "n1", "cluster": "c", "role": "core", "error": "no route", "leaving": True}),
        "n1 of c stopped answering (no route): it was leaving with data, and c waits until that data is proven to "
        "be elsewhere",
    ),
    (
        Reason("held-blocks", {"node": "n1", "cluster": "c", "error": "it is lost, and /a has too few", "lost": True}),
        "c waits for n1, which may hold data (it is lost, and /a has too few)",
    ),
    (
        Reason("held-blocks", {"node": "n1", "cluster": "c", "error": "/a is only here", "before_wipe": True}),
        "n1 is not wiped: a last check did not show that its blocks are elsewhere (/a is only here)",
    ),
    (
        Reason("evacuated", {"node": "n1", "cluster": "c", "seen": "dead", "listed": 4, "missing_before": 2}),
        "The blocks of n1 are safe on other nodes of c, although its DataNode is dead; blocks of 2 files had been "
        "missing before it began to leave",
    ),
    (
        Reason("evacuated", {"node": "n1", "cluster": "c", "seen": "left", "listed": 4, "missing_before": 0}),
        "The blocks of n1 are safe on other nodes of c",
    ),
    (
        Reason("replaces", {"node": "n2", "cluster": "c", "other": "n1"}),
        "n2 takes the place of n1 in the deployment of c",
    ),
    (
        Reason("free-silent", {"node": "n1", "error": "no answer"}),
        "n1 is free, but cannot be reached (no answer): no MR-cluster gets it before it can",
    ),
    (Reason("free-answers", {"node": "n1"}), "n1 answers, and can be given to an MR-cluster"),
    (
        Reason("node-away", {"node": "n1", "cluster": "c", "error": "no answer"}),
        "n1 does not answer (no answer): c is deployed without it, and it is wiped when it answers",
    ),
    (
        Reason("node-refused", {"node": "n1", "cluster": "c", "error": "n1: its lease is empty"}),
        "n1 refuses to be changed (n1: its lease is empty): it stays out of use until it is repaired and wiped",
    ),
    (
        Reason("leaves-while-lost", {"node": "n1", "cluster": "c", "role": "core"}),
        "n1 leaves c although it does not answer: it is wiped once its data is proven to be elsewhere or is discarded",
    ),
    (
        Reason("leaves-again", {"node": "n1", "cluster": "c", "role": "core"}),
        "n1 answers again and continues to leave c",
    ),
    (
        Reason("data-given-up", {"node": "n1", "cluster": "c"}),
        "The data on n1 is discarded: n1 is wiped without a proof that its blocks are elsewhere",
    ),
    (
        Reason("discard-asked", {"node": "n1", "cluster": "c", "reason": "the disk is dead", "by": "ann"}),
        "ann discards the data on n1: the disk is dead",
    ),
    (
        Reason("told-again", {"node": "n1", "cluster": "c", "what": "is not draining"}),
        "The masters of c get its member list again, because n1 is not draining",
    ),
    (
        Reason("retry-asked", {"subject": "n1", "by": "", "tried": 2}),
        "An operator asks for an immediate retry of n1",
    ),
    (
        Reason("no-such-subject", {"subject": "x"}),
        "x is neither a node of the pool nor an MR-cluster: `fawkes nodes` and `fawkes status` list them",
    ),
    (
        Reason("nothing-to-retry", {"subject": "n1"}),
        "n1 has nothing to retry; `fawkes status` shows its state",
    ),
    (
        Reason("nothing-held", {"node": "n1", "life": "free"}),
        "n1 is free, and no MR-cluster waits for data on it, so nothing was discarded. To take it out of service, use "
        "`fawkes drain n1` without --discard-data",
    ),
    (
        Reason("overtaken", {"cluster": "c"}),
        "c is already leaving, or a later request to release it is under way: `fawkes status c` shows its state",
    ),
    (
        Reason("survey-failed", {"cluster": "c", "error": "no answer"}),
        "c is not released: its data and applications are not known (no answer); try again, or discard "
        "everything on it with `fawkes release c --discard-data --force`",
    ),
    (Reason("undeclared-data", UNDECLARED), f"c has {DATA_IN_WORDS}"),
    (
        Reason("not-retired", {**UNDECLARED, "because": "undeclared-data"}),
        f"c is idle, but it is kept: c has {DATA_IN_WORDS}",
    ),
    (
        Reason(
            "foreign-applications",
            {"cluster": "c", "count": 1, "applications": [{"id": "app_1", "name": "pi", "user": "ann"}]},
        ),
        "c runs applications that are none of its jobs: app_1 (pi of ann); wait for them, or kill them with "
        "`fawkes release c --force`",
    ),
    (
        Reason("quarantine", {"node": "n1", "cluster": "c", "error": "no Java", "until_us": 0}),
        "n1 did not come up for c (no Java): it is quarantined until +00:00:00.000",
    ),
    (
        Reason("no-release", {"node": "n1", "cluster": "c", "error": "Hadoop 3.5.0 is being fetched"}),
        "n1 cannot join c yet: Hadoop 3.5.0 is being fetched",
    ),
    (
        Reason("join-failed", {"node": "n1", "cluster": "c", "error": "no Java"}),
        "n1 did not come up for c (no Java): another attempt follows",
    ),
    (
        Reason("not-clean", {"node": "n1", "cluster": "c", "error": "busy", "tries": 2}),
        "n1 could not be wiped (attempt 2: busy); it stays out of use until it has been",
    ),
    (Reason("asked-again", {"effect": "host:n1", "tries": 2}), "Still waiting for n1 (attempt 2)"),
    (
        Reason("asked-again", {"effect": "membership:c-1", "tries": 2}),
        "Still waiting for c-1's new member list (attempt 2)",
    ),
    (
        Reason("asked-again", {"effect": "job:j{1}", "tries": 3}),
        "Still waiting for YARN's answer about job j{1} (attempt 3)",
    ),
    (
        Reason("late-answer", {"node": "n1", "generation": 2, "condition": "clean"}),
        "A late answer about n1 is ignored: the situation has changed since",
    ),
    (
        Reason("late-answer", {"effect": "cluster:c", "version": 3}),
        "A late answer about the current stage of c is ignored: the situation has changed since",
    ),
    (
        Reason("loaded", {"cluster": "c", "took_us": 4_000_000, "load_bytes": 2_000_000_000, "skew": 0.1234}),
        "c has its data after 4s, load bytes 2.0 GB, skew 0.123",
    ),
    (
        Reason(
            "loaded",
            {
                "cluster": "c",
                "took_us": 4_000_000,
                "sets": [
                    {"to": "/in{1}", "size": 150_000_000, "files": 4, "node_bytes": {"n1": 7}, "uneven": ""},
                    {"to": "/b", "size": 5, "uneven": "n1 holds 3 times the mean"},
                ],
            },
        ),
        "c has its data after 4s, /in{1} 150.0 MB, /b 5 B (n1 holds 3 times the mean)",
    ),
    (
        Reason("saved", {"cluster": "c", "took_us": 4_000_000, "outputs": [{"path": "/o", "size": 7}, {"path": "/p"}]}),
        "The outputs of c are saved and verified after 4s, /o 7 B, /p",
    ),
    (
        Reason(
            "files-closed",
            {
                "cluster": "c",
                "files": [
                    {"path": "/o/{a}", "bytes": 7, "client": "DFSClient_1", "host": "n1"},
                    {"path": "/o/b", "bytes": None, "client": "", "host": "n2"},
                ],
                "count": 3,
            },
        ),
        "Files of c that clients held open were closed to be saved, as far as written: "
        "/o/{a} (7 B, DFSClient_1 on n1), /o/b (n2) and 1 more",
    ),
    (Reason("discarded", {"cluster": "c"}), "The outputs of c are discarded, as requested"),
    (
        Reason("idle", {"cluster": "c", "since_us": 0}),
        "c has been idle since +00:00:00.000: its outputs are saved, then its nodes are released",
    ),
    (Reason("pool-given-back", {"by": "ann", "discard": False}), "The whole pool is released by ann"),
    (
        Reason("pool-given-back", {"by": "", "discard": True}),
        "The whole pool is released, and all data is discarded",
    ),
    *ADMITTED,
    *STARTS,
    *MOVED,
    (
        Reason("pool-empty", {"by": "ann"}),
        "Every MR-cluster is gone and every node is clean: the controller stops",
    ),
    (
        Reason("pool-kept", {"refusals": [{"code": "has-jobs", "facts": {"cluster": "c", "jobs": ["j-1"]}}]}),
        "The pool is kept and nothing was released: c has jobs that have not ended (j-1): "
        "wait for them (`fawkes jobs c`), or cancel them all with --force",
    ),
    (
        Reason("pool-closing", {"by": "ann", "cluster": "c"}),
        "ann is releasing the whole pool, so c cannot get nodes; "
        "request it again after the next start of the controller",
    ),
    (
        Reason("down-overtaken", {"by": "ann"}),
        "ann has meanwhile asked to release the whole pool: `fawkes status` shows its state",
    ),
    (
        Reason("released", {"cluster": "c", "by": "ann", "discard": True}),
        "c is released by ann, and its data is discarded",
    ),
    (
        Reason("called-off", {"cluster": "c", "life": "loading", "took_us": 4_000_000}),
        "Loading the data of c was cancelled after 4s",
    ),
    (Reason("gone", {"cluster": "c", "failed": "no disk"}), "c is gone: no disk"),
    (Reason("gave-up", {"cluster": "c", "error": "no disk"}), "c has failed for good: no disk"),
    (
        Reason("not-reached", {"cluster": "c", "stage": "loading", "error": "no disk", "tries": 2}),
        "c failed while loading (attempt 2): no disk",
    ),
    (
        Reason("not-reached", {"cluster": "c", "stage": "membership", "error": "no answer", "tries": 1}),
        "c did not get its new member list (attempt 1): no answer",
    ),
    (
        Reason("unreadable", {"cluster": "c", "error": "refused"}),
        "The masters of c cannot be read (refused); c neither grows nor shrinks until they can",
    ),
    (Reason("readable", {"cluster": "c"}), "The masters of c can be read again"),
    *STUCK,
    *PREEMPTED,
    (
        Reason("job-failed", {"job": "j", "cluster": "c", "attempt": 2, "error": "exit code 1", "log": "/log/j"}),
        "Job j failed: exit code 1; its log is /log/j",
    ),
    (Reason("job-cancelled", {"job": "j", "cluster": "c", "error": "", "log": ""}), "Job j is cancelled"),
    (Reason("retry", {"job": "j", "attempt": 2, "error": "lost"}), "Job j failed (lost); attempt 2 follows"),
    (Reason("cancel-asked", {"job": "j", "by": "ann"}), "Job j was cancelled by ann"),
    (
        Reason("time-limit", {"job": "j", "limit_us": 60_000_000}),
        "Job j has exceeded its time limit of 1m00s and is stopped",
    ),
    (
        Reason("cluster-exists", {"cluster": "c", "minimum": 1, "able": 2}),
        "There is already an MR-cluster c, and nothing of it is changed. What its file says now counts for the next "
        "one: release this one first (`fawkes release c`)",
    ),
    (Reason("no-minimum", {"cluster": "c", "minimum": 0, "able": 2}), "c needs at least one node, not 0"),
    (
        Reason("minimum-above-pool", {"cluster": "c", "minimum": 9, "able": 8}),
        "c needs 9 core nodes, but only 8 nodes that may be core nodes are in service: "
        "`fawkes nodes` shows the others, and why they are not",
    ),
    (
        Reason("maximum-below-minimum", {"cluster": "c", "minimum": 3, "able": 8, "maximum": 2}),
        "c may have at most 2 nodes, but needs at least 3",
    ),
    (Reason("no-such-cluster", {"cluster": "c"}), "There is no MR-cluster c"),
    (Reason("no-such-node", {"node": "n"}), "There is no node n in the pool"),
    (Reason("no-such-job", {"job": "j"}), "There is no queued or running job j"),
    (Reason("job-exists", {"job": "j"}), "There is already a job j"),
    (
        Reason("has-jobs", {"cluster": "c", "jobs": ("j1", "j2")}),
        "c has jobs that have not ended (j1, j2): wait for them (`fawkes jobs c`), or cancel them all with --force",
    ),
    (
        Reason("master-node", {"node": "n", "cluster": "c"}),
        "n runs the masters of c and cannot leave before c is released. Run `fawkes release c`, then drain n again; "
        "the release saves its outputs",
    ),
    (
        Reason("master-node", {"node": "n", "cluster": "c", "life": "running", "jobs": ("j1", "j2")}),
        "n runs the masters of c and cannot leave before c is released. Run `fawkes release c` once j1, j2 ended, or "
        "now with --force, then drain n again; the release saves its outputs",
    ),
    (
        Reason("master-node", {"node": "n", "cluster": "c", "life": "deploying", "jobs": ()}),
        "n runs the masters of c and cannot leave before c is released. Run `fawkes release c`, then drain n again",
    ),
    (
        Reason("takes-over", {"node": "n", "cluster": "c", "role": "core", "instead_of": ["m"]}),
        "n joins c as core, to replace m",
    ),
    (
        Reason(
            "core-waits", {"node": "n", "cluster": "c", "alert": "leaves once 2 other core nodes of c are in service"}
        ),
        "n leaves once 2 other core nodes of c are in service",
    ),
    (
        Reason("core-leaves", {"node": "n", "cluster": "c", "role": "core", "why": "new fans"}),
        "n leaves c, which has enough core nodes without it: new fans",
    ),
    (
        Reason("core-leaves", {"node": "n", "cluster": "c", "role": "core", "why": ""}),
        "n leaves c: the core nodes that it was to replace stay",
    ),
    (
        Reason(
            "shrink-to-replace",
            {"node": "n", "cluster": "d", "role": "transient", "data_bytes": 0, "receiver": "c", "instead_of": ["m"]},
        ),
        "n (transient) leaves d to replace m in c",
    ),
    (Reason("not-drained", {"node": "n"}), "n is not out of service"),
    (
        Reason("not-in-inventory", {"node": "n"}),
        "n is no longer in the inventory: add it there, then restart the controller",
    ),
    (
        Reason("shadow", {"asked": "Requested"}),
        "The controller runs in shadow mode: it measures and decides, but changes nothing and takes no requests. "
        "To act, stop it with `fawkes down --keep` and start `fawkes run` without --shadow",
    ),
    (Reason("new"), "New in the inventory"),
    (Reason("retire", {"cluster": "c"}), "c ends: its nodes are stopped and wiped"),
    *STANDS,
    *STEERED,
    (
        Reason("shrink-to-admit", {"node": "n", "cluster": "c", "role": "transient", "data_bytes": 0, "newcomer": "d"}),
        "n (transient) leaves c to make room for d",
    ),
]


@pytest.mark.parametrize(("reason", "text"), SAID, ids=lambda each: each.code if isinstance(each, Reason) else "")
def test_sentences_of_what_goes_wrong(reason: Reason, text: str) -> None:
    assert sentence(reason) == text


def test_one_sentence_for_several_nodes() -> None:
    reason = Reason("grow", {"node": "n03", "cluster": "c", "role": Role.TRANSIENT, "target": 7, "held": 2, "tick": 3})
    said = sentence(reason, ("n03", "n04", "n07"))
    assert said == "n[03-04,07] join c as transient: c held 2 nodes and should have 7"
    assert sentence(reason, ("n03",)).startswith("n03 joins c ")


@pytest.mark.parametrize(
    ("verdict", "facts", "text"),
    [
        ("balanced", {}, "The discrimination is within the threshold: balanced, so no node moves"),
        (
            "confirming",
            {"over": 1},
            "The threshold is exceeded, but not for enough ticks in a row (1 so far): no node moves for a single peak",
        ),
        (
            "paused",
            {"paused": "a visit"},
            "The threshold is exceeded, but voluntary moves are stopped (a visit): no node moves",
        ),
        (
            "policy-failed",
            {"policy": "mine", "failed": "a: NaN"},
            "The policy mine gave no usable answer (a: NaN): all keep their nodes",
        ),
        ("no-weights", {"clusters": {}}, "No MR-cluster is active: there is nothing to balance"),
        (
            "no-weights",
            {"clusters": {"a": {"y": None, "kept": "a visit"}}},
            "Every active MR-cluster is held: all keep their nodes",
        ),
        (
            "no-weights",
            {"clusters": {"a": {"y": None}}},
            "No MR-cluster could be measured: all keep their nodes",
        ),
        (
            "no-weights",
            {"policy": "TD", "clusters": {"a": {"y": 0.0}, "b": {"y": None}}},
            "The policy TD measures 0 everywhere, so weights are undefined: all keep their nodes",
        ),
    ],
)
def test_verdicts(verdict: str, facts: dict[str, object], text: str) -> None:
    assert sentence(Reason("tick", {"verdict": verdict, **facts})) == text
