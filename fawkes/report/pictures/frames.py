"""A store as pandas frames, the same for live and simulated runs. Times are seconds since the first step, as floats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

import pandas as pd

from fawkes.base.units import SECOND_US
from fawkes.core.values.decision import AddSample
from fawkes.core.values.events import Sampled
from fawkes.core.values.model import JobState, Sample
from fawkes.report import history
from fawkes.report.pictures.steps import PictureStep, held
from fawkes.report.words.sentences import sentence, why_ended
from fawkes.store.base import Reader

_TICK = ("tick", "verdict", "policy", "tau", "raw", "reducible", "share_error", "share_error_allowed", "usable")
_FIGURES = ("y", "weight", "mean_share", "discrimination", "nodes", "target", "min_nodes")


def nodes(store: Reader) -> pd.DataFrame:
    """Nodes over time: at_s, cluster, role, nodes; a row whenever a number changes, valid until the next one.

    ``cluster`` is empty for nodes of nobody; ``role`` is then free, out or lost.
    """
    return pd.DataFrame(held(store).steps, columns=list(PictureStep._fields))


def clusters(store: Reader) -> pd.DataFrame:
    """MR-clusters by arrival: state, min_nodes, requested_s; in seconds w^C, deployment, l^D, b^D (NaN: not yet)."""
    start_us = history.first_us(store)
    rows = [
        {
            "cluster": state.id,
            "state": state.life.value,
            "min_nodes": state.spec.min_nodes,
            "requested_s": _seconds(state.requested_us - start_us),
            "wait_s": _seconds(state.wait_us),
            "deploy_s": _seconds(state.deploy_us),
            "load_s": _seconds(state.load_us),
            "save_s": _seconds(state.save_us),
            "failed": state.failed,
        }
        for state in history.clusters(store)
    ]
    names = ("cluster", "state", "min_nodes", "requested_s", "wait_s", "deploy_s", "load_s", "save_s", "failed")
    return _frame(rows, names)


def jobs(store: Reader) -> pd.DataFrame:
    """Jobs in the order of their submission: w^J (wait_s), s^J (run_s), their sum (response_s), slowdown, state.

    The slowdown of a job that did not succeed is NaN.
    """
    start_us = history.first_us(store)
    names = ("job", "cluster", "state", "attempt", "submitted_s", "wait_s", "run_s", "response_s", "slowdown", "why")
    return _frame([_job(state, start_us) for state in history.jobs(store)], (*names, "application", "log"))


def _job(state: JobState, start_us: int) -> dict[str, object]:
    response_us = None if state.finished_us is None else state.finished_us - state.submitted_us
    return {
        "job": state.id,
        "cluster": state.cluster,
        "state": state.life.value,
        "attempt": state.attempt,
        "submitted_s": _seconds(state.submitted_us - start_us),
        "wait_s": _seconds(state.wait_us),
        "run_s": _seconds(state.run_us),
        "response_s": _seconds(response_us),
        "slowdown": state.slowdown,
        "why": why_ended(state),
        "application": state.application,
        "log": state.log,
    }


def ticks(store: Reader) -> pd.DataFrame:
    """Ticks, a row for each active MR-cluster (one with an empty cluster when there was none): verdict, the global
    discriminations and tau, and of the MR-cluster y, weight, mean_share (c_i), discrimination (D_i), nodes and target.
    """
    start_us = history.first_us(store)
    rows: list[dict[str, object]] = []
    for tick in history.ticks(store):
        common = {"at_s": _seconds(tick.at_us - start_us), **{name: tick.facts.get(name) for name in _TICK}}
        rows += [{**common, **row} for row in tick.rows or [{"cluster": ""}]]
    return _frame(rows, ("at_s", *_TICK, "cluster", *_FIGURES))


def moves(store: Reader) -> pd.DataFrame:
    """Moves by their beginning: node, from_cluster, to_cluster (empty: nobody), role, begun_s, ended_s, and why.

    A leaving that was called off is no move. ``ended_s`` is NaN while a move is under way.
    ``codes`` and ``why`` say why the node left and why it joined.
    """
    start_us = history.first_us(store)
    rows = [
        {
            "node": move.node,
            "from_cluster": move.source,
            "to_cluster": move.target,
            "role": move.role,
            "begun_s": _seconds(move.begun_us - start_us),
            "ended_s": None if move.ended_us is None else _seconds(move.ended_us - start_us),
            "codes": " ".join(reason.code for reason in move.reasons),
            "why": "; ".join(sentence(reason) for reason in move.reasons),
        }
        for move in history.moved(store)
    ]
    return _frame(rows, ("node", "from_cluster", "to_cluster", "role", "begun_s", "ended_s", "codes", "why"))


def samples(store: Reader) -> pd.DataFrame:
    """Samples: at_s, cluster, and every field of a sample; missing readings are NaN."""
    start_us = history.first_us(store)
    names = [each.name for each in fields(Sample) if each.name != "at_us"]
    values = attrgetter(*names)
    rows = [
        (_seconds(change.sample.at_us - start_us), change.cluster, *values(change.sample))
        for entry in store.entries(kinds=(Sampled.__name__,))
        for change in entry.decision.changes
        if isinstance(change, AddSample)
    ]
    return _frame(rows, ("at_s", "cluster", *names))


def _seconds(us: int | None) -> float | None:
    return None if us is None else us / SECOND_US


def _frame(rows: Sequence[dict[str, Any] | tuple[Any, ...]], columns: Sequence[str]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=list(columns))
    # A column in which nothing is known yet would be of Python objects, and sums over it would fail.
    return frame.astype({name: float for name in columns if name.endswith("_s")})
