"""Membership documents: who belongs to an MR-cluster and how, as a function of its nodes.

A document follows from the state after its decision, so the ledger stores which document is due, and no members: with
nodes that leave one by one it would otherwise hold every member for each of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from fawkes.base.values import replace
from fawkes.core.state.state import State
from fawkes.core.values.effects import Effect, Goal, Member, Membership
from fawkes.core.values.model import NodeId, NodeLife, NodeState, Role
from fawkes.core.values.settings import Settings

_GOALS = {
    NodeLife.JOINING: Goal.SERVING,
    NodeLife.SERVING: Goal.SERVING,
    NodeLife.LOST: Goal.SERVING,
    NodeLife.DRAINING: Goal.DRAINING,
    NodeLife.EVACUATING: Goal.EVACUATING,
}

#: documents have a line for each node: equal lines are one value; a text that equals a role is kept apart from it
_member = lru_cache(maxsize=4096, typed=True)(Member)


def members(nodes: Iterable[NodeState], settings: Settings) -> dict[NodeId, Member]:
    """The document that names these nodes, all of one MR-cluster; a node that is being wiped is not named."""
    document = {}
    for state in nodes:
        goal = Goal.EVACUATING if state.leaving else _GOALS.get(state.life)
        if goal is not None and state.role is not None:
            graceful_us = 0 if goal is Goal.SERVING else leave_us(state.role, settings)
            document[state.node.id] = _member(goal, state.role, state.generation, graceful_us)
    return document


def leave_us(role: Role | None, settings: Settings) -> int:
    """The graceful time of a node that leaves, in microseconds."""
    return settings.transient_leave_us if role is Role.TRANSIENT else settings.transient_core_leave_us


def in_full(view: State, effects: Iterable[Effect]) -> tuple[Effect, ...]:
    """The effects as the world gets them: each membership document with the members of the state in ``view``.

    ``view`` is the state right after the decision was applied, with the rules of its engine.
    """
    return tuple(_with_members(view, effect) if isinstance(effect, Membership) else effect for effect in effects)


def _with_members(view: State, effect: Membership) -> Membership:
    if view.rules is None:
        raise ValueError(f"a membership document of {effect.cluster} before Started")
    nodes = [view.nodes[node] for node in sorted(view.nodes_of(effect.cluster))]
    cluster = view.clusters.get(effect.cluster)
    master = None if cluster is None else cluster.master
    named = members(nodes, view.rules.settings)
    standby = None if cluster is None else cluster.standby
    return replace(effect, members=named, master=master, copy_on=copy_on(nodes, master), standby=standby)


def copy_on(nodes: Iterable[NodeState], master: NodeId | None) -> NodeId | None:
    """The node beside the masters' that has a copy of their data: the first core node that stays; None without one."""
    able = [
        state.node.id
        for state in nodes
        if state.role is Role.CORE and state.life is NodeLife.SERVING and not state.kept_out and state.node.id != master
    ]
    return min(able, default=None)
