"""The rule over the pool, on real nodes: the look before a start, the claim after it, and the beat while it works."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from fawkes.base.errors import ElsewhereError, FawkesError
from fawkes.config.files.nodeset import fold
from fawkes.config.nodes.inventory import InventoryNode
from fawkes.core.deciding.ruling import FolderStanding, KnownPool, LeaseSeen, Ruling, judge
from fawkes.core.state.state import State
from fawkes.core.values.model import ClusterId, NodeId
from fawkes.live.nodes.fleet import Fleet
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import lease
from fawkes.live.nodes.ssh import Result
from fawkes.playbook import Facts, Lease, read_facts
from fawkes.report.words.facts import controller_name
from fawkes.store.place import host_of, place_of, same_place
from fawkes.store.schema import CLAIM, SEAL
from fawkes.store.sqlite import Ledger

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class NodeAnswers:
    """The answers of the nodes: the facts of ``lease.show`` of each that answered, and who did not answer and why."""

    facts: Mapping[NodeId, Facts]
    silent: Mapping[NodeId, str]

    def leases(self, pool: str) -> list[LeaseSeen]:
        """The sound leases of a pool. A damaged one, and that of another pool or node, is no evidence."""
        leases = []
        for node, facts in self.facts.items():
            said = facts.under("lease")
            if "damage" in said or (said.get("pool"), said.get("node")) != (pool, node):
                continue
            leases.append(
                LeaseSeen(
                    node=node,
                    epoch=int(said["epoch"]),
                    controller=said["controller"],
                    cluster=said.get("cluster", ""),
                    generation=int(said.get("generation") or 0),
                )
            )
        return leases

    def beats(self) -> dict[NodeId, str]:
        """The beat of each node that has one."""
        return {node: facts.get("beat", "") for node, facts in self.facts.items() if facts.get("beat")}


def look(fleet: Fleet, nodes: Iterable[InventoryNode], *, within_s: float) -> NodeAnswers:
    """Read the leases of all nodes at once; changes nothing. A node that takes longer is silent."""
    work = {node.name: PurePosixPath(node.work_dir) for node in nodes}
    results = fleet.run_many(work, lambda name: lease.show(work[name]), within_s)
    facts: dict[NodeId, Facts] = {}
    silent: dict[NodeId, str] = {}
    for name, result in results.items():
        if isinstance(result, Result) and result.exit == 0:
            facts[NodeId(name)] = read_facts(result.stdout)
        else:
            silent[NodeId(name)] = f"exit code {result.exit}" if isinstance(result, Result) else result.what
    return NodeAnswers(facts, silent)


def known(ledger: Ledger, view: State, *, starts: bool = True) -> KnownPool:
    """The pool as a ledger knows it; without ``starts`` only its latest start, for which no step is read."""
    epoch, _, controller = ledger.note(CLAIM).partition(" ")
    begun = ledger.starts() if starts else []
    return KnownPool(
        starts=frozenset(start[:2] for start in begun),
        adopted=max([since for since, _, adopted in begun if adopted], default=0),
        epoch=ledger.identity().last_epoch,
        controller="" if view.rules is None else view.rules.controller,
        generations={node: state.generation for node, state in view.nodes.items()},
        claimed=(int(epoch), controller) if controller else None,
    )


def rule(
    ledger: Ledger | None,
    view: State,
    seen: NodeAnswers,
    *,
    pool: str,
    where: str,
    take_over: Callable[[str], None] | None,
) -> Ruling:
    """The verdict on a state folder that may start; ElsewhereError for one that may not, with the next command.

    ``take_over`` is told what would happen and raises RefusedError if the user does not agree; None: nobody was asked.
    """
    seal = "" if ledger is None else ledger.note(SEAL)
    in_place = ledger is None or not seal or same_place(seal, place_of(ledger.path))
    leases = seen.leases(pool)
    # The steps of all starts are read only where a node is not of the latest one.
    latest = None if view.rules is None else (view.rules.epoch, view.rules.controller)
    earlier = any((lease.epoch, lease.controller) != latest for lease in leases)
    verdict = judge(
        None if ledger is None else known(ledger, view, starts=earlier),
        in_place=in_place,
        leases=leases,
        all_answered=not seen.silent,
    )
    if verdict.standing is FolderStanding.RULES:
        return verdict
    if verdict.standing is FolderStanding.ELSEWHERE and take_over is not None:
        silent = f". {note}" if (note := not_asked(seen)) else ""
        take_over(f"{where} {_copied(seal)}. The controller with the original is shut out for good{silent}")
        return verdict
    raise _refusal(verdict, seal, pool, where, ledger)


def past(ledger: Ledger, view: State) -> str:
    """The starts of a ledger, for scripts on nodes whose lease is not known to be that of one (`Lease.starts`)."""
    pool = known(ledger, view)
    starts = sorted({*pool.starts, *([pool.claimed] if pool.claimed else [])})
    return " ".join([str(pool.adopted), *(f"{epoch}:{controller}" for epoch, controller in starts)])


def apart(verdict: Ruling) -> str:
    """Words about nodes that are left alone, because another controller has them; empty without any."""
    if not verdict.strangers:
        return ""
    return f"{_strangers(verdict)}. They are left alone; {_APART}"


def _strangers(verdict: Ruling) -> str:
    newest = max(verdict.strangers, key=lambda lease: lease.epoch)
    nodes, who = fold([lease.node for lease in verdict.strangers]), controller_name(newest.controller)
    return f"{nodes} know epoch {newest.epoch} of a controller that was never a start of this ledger ({who})"


_APART = 'the page `operations`, "A node that is refused", says how to take them, if that controller is no more'


def not_asked(seen: NodeAnswers) -> str:
    """Words about the nodes whose leases nobody could read; empty when all answered."""
    if not seen.silent:
        return ""
    return f"{fold(seen.silent)}: no answer. Another ledger of the pool may have handed them out, with data on them"


def _copied(seal: str) -> str:
    return f"is a copy of a state folder, or was moved: its ledger was made in another place (host {host_of(seal)})"


def _refusal(verdict: Ruling, seal: str, pool: str, where: str, ledger: Ledger | None) -> ElsewhereError:
    nodes = fold([lease.node for lease in verdict.leases])
    newest = max(verdict.leases, key=lambda lease: (lease.epoch, lease.generation), default=None)
    if verdict.standing is FolderStanding.ELSEWHERE:
        hint = (
            "No node was changed. Start the controller with the original folder; if it never runs again, "
            "`fawkes run --take-over`"
        )
        return ElsewhereError(_copied(seal), where=where, hint=hint)
    if verdict.standing is FolderStanding.STRANGER:
        hint = (
            "No node was changed. Use the site of that controller, or give this one another pool and other nodes; "
            "if the ledger of that controller is lost, move this folder away and run `fawkes adopt`"
        )
        return ElsewhereError(_strangers(verdict), where=where, hint=hint)
    assert newest is not None
    if ledger is None:
        hint = (
            "No node was changed. Start the controller that has its ledger; if that is lost, `fawkes adopt` makes a "
            "new one"
        )
        what = f"there is no ledger here, but pool {pool} has a controller: {nodes} know epoch {newest.epoch}"
        return ElsewhereError(what, where=where, hint=hint)
    what = (
        f"the nodes know more than this ledger, which is a restored backup or an older copy: its epoch is "
        f"{ledger.identity().last_epoch}, but {nodes} know epoch {newest.epoch} of another controller "
        f"({controller_name(newest.controller)})"
    )
    if newest.cluster:
        what += f", with generation {newest.generation} on {newest.node}"
    hint = (
        "No node was changed. Start the controller with the newest ledger; if that is lost, move this folder away and "
        "run `fawkes adopt`"
    )
    return ElsewhereError(what, where=where, hint=hint)


class Reign:
    """The right of one controller, made known to the nodes: claims once, and a sign of life as long as it works.

    ``refused`` is told when a node knows a newer controller; ``at`` gives the nodes that get the sign of life.
    """

    def __init__(
        self, ground: Ground, at: Callable[[], Iterable[NodeId]], refused: Callable[[FawkesError], None]
    ) -> None:
        self._ground = ground
        self._at = at
        self._refused = refused
        self._count = itertools.count(1)

    def claim_in_turn(self, nodes: Iterable[NodeId]) -> None:
        """Claim nodes one after another, by name: of two that take over at once, one is refused by the first node.

        ElsewhereError when a node knows a newer controller; a node that does not answer is passed over.
        """
        for node in sorted(nodes):
            try:
                self._ground.run(node, lease.claim(self._right(node)), "claiming the node")
            except ElsewhereError:
                raise
            except FawkesError as error:
                _log.warning("%s could not be claimed: %s", node, error)

    def claim(self, nodes: Iterable[NodeId]) -> None:
        """Claim nodes at once; a node that refuses ends the controller."""
        scripts = {node: lease.claim(self._right(node)) for node in nodes}
        self._judge(self._ground.run_on(scripts, "claiming the node") if scripts else {})

    def beat(self) -> None:
        """Leave a sign of life."""
        count = next(self._count)
        scripts = {node: lease.beat(self._right(node), count) for node in self._at()}
        self._judge(self._ground.run_on(scripts, "leaving a sign of life") if scripts else {})

    def _right(self, node: NodeId) -> Lease:
        return self._ground.lease(node, ClusterId(""), 0)

    def _judge(self, outcomes: Mapping[NodeId, Facts | FawkesError]) -> None:
        for node, outcome in outcomes.items():
            if isinstance(outcome, ElsewhereError):
                self._refused(outcome)
            elif isinstance(outcome, FawkesError):
                _log.info("%s: %s", node, outcome)
