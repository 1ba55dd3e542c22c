"""The Unix users that MR-clusters run as on the nodes: refused before any node is touched, if they cannot be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fawkes.base.errors import UserError
from fawkes.config.clusters.details import ClusterDetails
from fawkes.config.files.nodeset import fold
from fawkes.core.values.events import Event, Requested
from fawkes.core.values.model import ClusterLife, ClusterState, Plain
from fawkes.live.hadoop.fitness import USER_HINT
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import node
from fawkes.playbook import Facts

_KEY = "run_as"


def refuse_shared_user(event: Event, clusters: Iterable[ClusterState]) -> None:
    """UserError for a request whose Unix user another MR-cluster of the pool has: neither would be safe from it."""
    if not isinstance(event, Requested) or not (user := _user(event.spec.details)):
        return
    for state in clusters:
        if state.id != event.spec.id and state.life is not ClusterLife.GONE and _user(state.spec.details) == user:
            raise UserError(
                f"{user!r} is the Unix user of {state.id} already",
                where=f"{event.spec.id}: {_KEY}",
                hint=f"Give each MR-cluster a user of its own, or release {state.id} first",
            )


def refuse_unfit_user(event: Event, ground: Ground) -> None:
    """UserError for a request whose Unix user some node of the pool has not, or cannot run anything as.

    A node that does not answer now is asked again before it gets anything of the MR-cluster.
    """
    if not isinstance(event, Requested) or not (user := _user(event.spec.details)):
        return
    answers = ground.run_on(dict.fromkeys(ground.nodes, node.fit_users([user])), "checking the user")
    unfit = {name: why for name, facts in answers.items() if isinstance(facts, Facts) and (why := _why(facts, user))}
    if unfit:
        first = sorted(unfit)[0]
        others = f" ({len(unfit)} nodes cannot: {fold(unfit)})" if len(unfit) > 1 else ""
        raise UserError(
            f"{first}: {unfit[first]}{others}",
            where=f"{event.spec.id}: {_KEY}",
            hint=f"{USER_HINT}. `fawkes check` shows whether that is so",
        )


def unfit_users(facts: Facts, users: Iterable[str]) -> dict[str, str]:
    """The reason why a node cannot run anything as these users, by user; those that it can are left out."""
    return {user: why for user in users if (why := _why(facts, user))}


def _why(facts: Facts, user: str) -> str:
    """The reason why a node cannot run programs as a user ("" if it can); a node that does not know cannot."""
    return facts.get(f"unfit.{user}", "it did not say whether it can")


def _user(details: Mapping[str, Plain]) -> str:
    return ClusterDetails.of(details).run_as
