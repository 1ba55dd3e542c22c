"""Adopting a pool whose ledger is lost: what is found on the nodes, and the new ledger that is made from it.

The steps are apart, so that the user sees what was found before anything is written anywhere.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import PurePosixPath

from fawkes.base.errors import BrokenError, DeadlineError, ElsewhereError, HostError, RefusedError, UserError
from fawkes.base.units import SECOND_US
from fawkes.config.clusters.details import KERBEROS, ClusterDetails, JobDetails
from fawkes.core.deciding.adopting import AdoptedPool, outcome
from fawkes.core.deciding.invariants import unsound
from fawkes.core.deciding.pool import decide
from fawkes.core.deciding.ruling import ALIVE_US, FolderStanding, LeaseSeen, alive, judge
from fawkes.core.state.state import State
from fawkes.core.values.adopted import Adopted, FoundCluster, FoundJob, FoundNode, KeptCluster, KeptJob
from fawkes.core.values.events import Started
from fawkes.core.values.model import ClusterId, NodeId
from fawkes.core.values.sight import Launcher
from fawkes.live.base.timers import Clock
from fawkes.live.controller import ruling
from fawkes.live.controller.endpoint import SOCKET
from fawkes.live.controller.plans import ControllerPlan, first_event
from fawkes.live.controller.ruling import NodeAnswers, Reign
from fawkes.live.hadoop.doors import KEY
from fawkes.live.hadoop.setup import addresses_of
from fawkes.live.nodes.fleet import Fleet
from fawkes.live.nodes.ground import ControllerIdentity, Ground, new_controller
from fawkes.live.nodes.playbooks import job as book
from fawkes.live.nodes.ssh import Result
from fawkes.live.wire import masters
from fawkes.live.wire.rest import Deadline, UnreadableError
from fawkes.playbook import Facts, Folders, read_facts
from fawkes.policy.worker.policies import load_admission, load_weighting
from fawkes.store.lock import LOCK_FILE, StateLock
from fawkes.store.place import place_of
from fawkes.store.private import FOLDER_MODE, sync_folder
from fawkes.store.record import RecordError, from_plain, loads
from fawkes.store.schema import SEAL
from fawkes.store.sqlite import LEDGER_FILE, Ledger

#: what may lie in a state folder that has no ledger
_NO_LEDGER = frozenset({LOCK_FILE, SOCKET, "logs", "keys", "control"})
_DRAFT = ".adopting"


@dataclass(frozen=True)
class Findings:
    """Everything that was found of a pool, the judgement on it, and the leases that show who ruled it."""

    adopted: Adopted
    outcome: AdoptedPool
    leases: tuple[LeaseSeen, ...]
    epoch: int


class Adoption:
    """One adoption: `examine` looks and changes nothing, `carry_out` makes the ledger and claims the nodes.

    As a context manager it holds the lock of the state folder, so that nobody else uses it meanwhile. ElsewhereError
    when another one does, RefusedError for a folder that is not empty.
    """

    def __init__(self, plan: ControllerPlan, fleet: Fleet, *, pause: Callable[[float], object] | None = None) -> None:
        """``pause`` waits so many seconds between two looks at the signs of life."""
        self._plan = plan
        self._fleet = fleet
        self._folder = plan.site.state_dir
        self._pause = pause or threading.Event().wait
        self._answer_s = plan.settings.ssh.answer_s
        self._lock: StateLock | None = None
        self._made = False

    def __enter__(self) -> Adoption:
        there = sorted(entry.name for entry in self._folder.iterdir()) if self._folder.is_dir() else []
        extra = [name for name in there if name not in _NO_LEDGER | {_DRAFT}]
        if extra:
            hint = "Nothing was changed. `fawkes run` uses it; to adopt the pool, move this folder away first"
            what = f"the state folder is not empty: it has {', '.join(extra)}"
            raise RefusedError(what, where=str(self._folder), hint=hint)
        self._made = not self._folder.exists()
        try:
            self._folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            self._lock = StateLock(self._folder)
        except OSError as error:
            raise UserError(f"cannot be written to: {error.strerror}", where=str(self._folder)) from None
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            self._lock.close()
        shutil.rmtree(self._folder / _DRAFT, ignore_errors=True)
        if self._made and not (self._folder / LEDGER_FILE).exists():
            shutil.rmtree(self._folder, ignore_errors=True)

    def examine(self, by: str) -> Findings:
        """The findings; ElsewhereError beside a living controller, RefusedError where there is nothing to adopt."""
        inventory = self._plan.inventory
        pool = inventory.pool
        look = ruling.look(self._fleet, inventory.nodes, within_s=self._answer_s)
        if look.beats():
            self._pause(ALIVE_US / SECOND_US)
            later = ruling.look(self._fleet, inventory.nodes, within_s=self._answer_s)
            if living := alive(look.beats(), later.beats()):
                who = later.beats()[living[0]].split()[0]
                hint = "Nothing was changed. Use that controller, or end it first: `fawkes down --keep` on its site"
                raise ElsewhereError(
                    f"controller {who} is at work: it has just left a sign of life", where=living[0], hint=hint
                )
            look = later
        leases = look.leases(pool)
        verdict = judge(None, in_place=True, leases=leases, all_answered=not look.silent)
        if verdict.standing is FolderStanding.RULES:
            silent = f"; {len(look.silent)} do not answer" if look.silent else ""
            then = "Make them answer and try again" if look.silent else "Start a new pool with `fawkes run`"
            hint = f"Nothing was changed. {then}"
            raise RefusedError(f"no node knows pool {pool}, so there is nothing to adopt{silent}", hint=hint)
        nodes = tuple(_node(NodeId(node.name), look, leases) for node in inventory.nodes)
        clusters, jobs = self._kept(nodes)
        adopted = Adopted(by=by, nodes=nodes, clusters=clusters, jobs=jobs)
        result = outcome(adopted)
        if result.strangers:
            names = ", ".join(result.strangers)
            hint = f"Nothing was changed. Put {names} back into the inventory, then run `fawkes adopt` again"
            raise UserError(
                f"an MR-cluster has {names}, which the inventory does not name", where="inventory.toml", hint=hint
            )
        return Findings(adopted, result, verdict.leases, verdict.epoch)

    def answers(self, findings: Findings) -> dict[ClusterId, str]:
        """The answers of the masters of each MR-cluster that is adopted, in a few words."""
        ground = self._ground(ControllerIdentity(self._plan.inventory.pool, findings.epoch, "adopts"))
        clusters = sorted(findings.outcome.clusters.items())
        return {name: self._answer(ground, kept, self._key(ground, kept)) for name, kept in clusters}

    def _answer(self, ground: Ground, kept: KeptCluster, key: str) -> str:
        if ClusterDetails.of(kept.spec.details).security == KERBEROS:
            return "its masters are not asked here, because they want tickets"
        addresses, deadline = addresses_of(ground, kept.master, key, _user(kept)), Deadline.after(self._answer_s)
        try:
            compute = masters.resource_manager_nodes(addresses, deadline)
            running = sum(node.state == masters.RUNNING for node in compute.values())
            data = sum(node.alive for node in masters.storage(addresses, deadline).nodes.values())
            applications = [app for app in masters.applications(addresses, deadline) if not app.ended]
        except UnreadableError as error:
            return f"its masters do not answer ({error})"
        return f"its masters see {running} NodeManagers, {data} DataNodes and {len(applications)} applications at work"

    def _key(self, ground: Ground, kept: KeptCluster) -> str:
        """The key of an MR-cluster, from its masters' node: the state folder that had it is lost; empty without one."""
        folders = ground.folders(kept.master, kept.spec.id)
        try:
            key = self._fleet.get(kept.master, folders.conf / KEY, deadline_s=self._answer_s, folders=folders)
        except HostError:
            return ""
        return key.decode(errors="replace").strip()

    def carry_out(self, findings: Findings) -> None:
        """Make the ledger, claim the nodes that answer, and put the ledger in its place.

        HeldUpError when the disk has no room for it, ElsewhereError when another adoption was quicker: then there is no
        ledger, and no node was changed.
        """
        identity = ControllerIdentity(self._plan.inventory.pool, findings.epoch, new_controller())
        event = replace(first_event(self._plan, identity, Clock().now_us()), adopted=findings.adopted)
        draft = self._folder / _DRAFT
        shutil.rmtree(draft, ignore_errors=True)
        with closing(Ledger(draft)) as ledger:
            self._store(ledger, event)
            ledger.put_note(SEAL, place_of(ledger.path, self._folder))
            # Before the claim: what finds no room on the disk has changed no node.
            ledger.settle()
        ground = self._ground(identity)
        Reign(ground, tuple, lambda error: None).claim_in_turn(lease.node for lease in findings.leases)
        os.replace(draft / LEDGER_FILE, self._folder / LEDGER_FILE)
        sync_folder(self._folder)

    def _store(self, ledger: Ledger, event: Started) -> None:
        """The one step: what was found, and what follows from it. Its effects begin when the controller starts."""
        state = State()
        given = event.settings.admission_parameters
        admission = None if event.admission is None else load_admission(event.admission, given)
        decision = decide(state, event, load_weighting(event.policy, event.settings), admission)
        if wrong := unsound(state, decision):
            raise BrokenError(f"an adoption would be unsound: {'; '.join(wrong)}")
        ledger.append(event, decision)

    def _ground(self, identity: ControllerIdentity) -> Ground:
        ssh = self._plan.settings.ssh
        return Ground(
            self._plan.inventory.nodes,
            identity,
            self._fleet,
            command_s=ssh.command_timeout_us / SECOND_US,
            threads=ssh.fanout,
        )

    def _kept(self, nodes: tuple[FoundNode, ...]) -> tuple[tuple[FoundCluster, ...], tuple[FoundJob, ...]]:
        """The kept copies on the nodes that an MR-cluster holds."""
        work = {node.name: node.work_dir for node in self._plan.inventory.nodes}
        held = {node.node: node.cluster for node in nodes if node.cluster and node.cluster in node.folders}
        folders = {n: Folders(work_dir=PurePosixPath(work[n]), cluster=cluster) for n, cluster in held.items()}
        results = self._fleet.run_many(held, lambda node: book.found(folders[NodeId(node)]), self._answer_s)
        masters_on = [NodeId(name) for name, result in results.items() if _copy(result) is not None]
        # An MR-cluster may have had thousands of jobs.
        command_s = self._plan.settings.ssh.command_timeout_us / SECOND_US

        def attempts(node: NodeId) -> Facts | HostError:
            kept = BytesIO()
            try:
                self._fleet.run(node, book.attempts(folders[node]), command_s, sink=kept).check("reading its jobs")
            except HostError as error:
                return error
            return read_facts(kept.getvalue().decode(errors="replace"))

        with ThreadPoolExecutor(self._plan.settings.ssh.fanout, thread_name_prefix="jobs") as threads:
            had = dict(zip(masters_on, threads.map(attempts, masters_on), strict=True))
        clusters: list[FoundCluster] = []
        jobs: list[FoundJob] = []
        for name, result in results.items():
            node, cluster = NodeId(name), held[NodeId(name)]
            facts = had.get(node)
            if isinstance(result, HostError):
                clusters.append(FoundCluster(node=node, cluster=cluster, error=result.what))
            elif isinstance(facts, HostError):
                clusters.append(FoundCluster(node=node, cluster=cluster, error=_unread(facts, command_s)))
            elif facts is not None and (text := _copy(result)) is not None:
                clusters.append(_cluster(node, cluster, text, result.facts.number("version")))
                jobs += _jobs(cluster, facts)
        return tuple(clusters), tuple(jobs)


def _copy(result: Result | HostError) -> str | None:
    return None if isinstance(result, HostError) else result.facts.get("cluster")


def _unread(error: HostError, command_s: float) -> str:
    late = f"; make ssh.command_timeout in fawkes.toml longer than {command_s:g} s"
    return f"those of its jobs: {error.what}{late if isinstance(error, DeadlineError) else ''}"


def _user(kept: KeptCluster) -> str:
    return ClusterDetails.of(kept.spec.details).run_as


def _node(node: NodeId, look: NodeAnswers, leases: list[LeaseSeen]) -> FoundNode:
    if node in look.silent:
        return FoundNode(node=node, unknown=f"it does not answer ({look.silent[node]})")
    facts = look.facts[node]
    folders = tuple(sorted(facts.all("folder")))
    said = facts.under("lease")
    mine = next((lease for lease in leases if lease.node == node), None)
    if mine is not None:
        return FoundNode(node=node, cluster=mine.cluster, generation=mine.generation, folders=folders)
    if "damage" in said:
        return FoundNode(node=node, unknown=f"its lease is damaged: {said['damage']}", folders=folders)
    if said:
        why = f"its lease belongs to node {said.get('node')} of pool {said.get('pool')}"
        return FoundNode(node=node, unknown=why, folders=folders)
    return FoundNode(node=node, folders=folders)


def _cluster(node: NodeId, cluster: str, text: str, version: int | None) -> FoundCluster:
    try:
        kept = from_plain(KeptCluster, loads(text))
        ClusterDetails.of(kept.spec.details)
    except (RecordError, RecursionError, UserError) as error:
        return FoundCluster(node=node, cluster=cluster, error=str(error))
    # The lists may be newer than the copy: a controller was killed in between.
    return FoundCluster(node=node, cluster=cluster, kept=replace(kept, version=max(kept.version, version or 0)))


def _jobs(cluster: str, facts: Facts) -> list[FoundJob]:
    copies, exits = facts.under("job"), facts.under("exit")
    jobs = []
    for name, state in facts.under("attempt").items():
        job, _, number = name.rpartition(".")
        if job and number.isdigit():
            jobs.append(
                FoundJob(
                    cluster=cluster,
                    job=job,
                    attempt=int(number),
                    launcher=Launcher(state) if state in set(Launcher) else Launcher.NOT_KNOWN,
                    exit=int(exits[name]) if exits.get(name, "").isdigit() else None,
                    kept=_job(cluster, job, int(number), copies),
                )
            )
    return jobs


def _job(cluster: str, job: str, attempt: int, copies: Mapping[str, str]) -> KeptJob | None:
    """The kept copy of a job; None for one that is missing, damaged, or another job's."""
    try:
        kept = from_plain(KeptJob, loads(copies.get(f"{job}.{attempt}", "")))
        JobDetails.of(kept.spec.details)
    except (RecordError, RecursionError, UserError):
        return None
    return kept if (kept.spec.cluster, kept.spec.id, kept.attempt) == (cluster, job, attempt) else None
