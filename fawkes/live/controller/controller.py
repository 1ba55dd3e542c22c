"""The controller: the engine, the ledger, the live world and the commands' socket put together, and their end."""

from __future__ import annotations

import logging
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from functools import partial
from types import FrameType

from fawkes.base.errors import ElsewhereError, FawkesError, HeldUpError
from fawkes.base.units import SECOND_US
from fawkes.base.version import __version__
from fawkes.config.nodes.inventory import inventory_node
from fawkes.config.settings.reload import differences
from fawkes.core.clusters.closing import longest_us
from fawkes.core.clusters.keeping import copies_needed
from fawkes.core.clusters.picture import picture
from fawkes.core.deciding.ruling import BEAT_US, FolderStanding, Ruling
from fawkes.core.state import backoff
from fawkes.core.state.state import State
from fawkes.core.values.decision import Decision, PutCluster
from fawkes.core.values.effects import CountWork, Reply, Survey
from fawkes.core.values.events import Event, Reloaded, Requested, Started
from fawkes.core.values.model import ClusterId, ClusterLife, Facts, JobId, NodeAlert, NodeLife, NodeState, Plain
from fawkes.core.values.settings import Settings
from fawkes.engine import Engine
from fawkes.engine.ports import Entry
from fawkes.live.base import limits
from fawkes.live.base.hooks import FOLDER as HOOKS
from fawkes.live.base.hooks import Hooks
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.base.timers import Clock, Mark
from fawkes.live.clusters.deploy import Deployer
from fawkes.live.clusters.hosts import Hosts
from fawkes.live.clusters.log_keeper import LogKeeper, LogRoom
from fawkes.live.clusters.membership import MembershipKeeper
from fawkes.live.clusters.stages import Stages
from fawkes.live.controller import plans, ruling
from fawkes.live.controller.access import SHARED, Gate, Owners
from fawkes.live.controller.answers import answers
from fawkes.live.controller.check import fleet_of, ways_to
from fawkes.live.controller.control import ControlServer
from fawkes.live.controller.data_answers import DataAnswers
from fawkes.live.controller.plans import (
    ControllerPlan,
    first_event,
    known_nodes,
    refuse_other_names,
    refuse_other_places,
    reread_plan,
)
from fawkes.live.controller.restoring import Restorer
from fawkes.live.controller.ruling import Reign
from fawkes.live.controller.world import Hands, LiveWorld
from fawkes.live.eyes.free_nodes import FreeNodesWatch
from fawkes.live.eyes.measure import Sampler, tasks_ready
from fawkes.live.eyes.room import Room
from fawkes.live.eyes.sampling import Sampling
from fawkes.live.eyes.service import ServiceWatch
from fawkes.live.eyes.survey import survey
from fawkes.live.eyes.watch import Watch
from fawkes.live.eyes.work import work_us
from fawkes.live.hadoop.doors import DoorKeys, Doors
from fawkes.live.hadoop.ha import NameNodePair
from fawkes.live.hadoop.releases import Releases, provide_needed, refuse_without_release, releases
from fawkes.live.hadoop.setup import Setup
from fawkes.live.hadoop.users import refuse_shared_user, refuse_unfit_user
from fawkes.live.jobs.jobs import Jobs
from fawkes.live.jobs.leaving import LeavingTasks
from fawkes.live.jobs.quotas import Quotas
from fawkes.live.kerberos.kerberos import Kerberos
from fawkes.live.kerberos.secrets import FOLDER as SECRETS
from fawkes.live.kerberos.secrets import Secrets
from fawkes.live.masters.keeping import Keeper
from fawkes.live.masters.moving import MastersMover
from fawkes.live.masters.standby import StandbyWatch
from fawkes.live.masters.succession import Means
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.nodes.fleet import Fleet
from fawkes.live.nodes.ground import ControllerIdentity, Ground, new_controller
from fawkes.live.nodes.playbooks import lease, played
from fawkes.live.nodes.processes import gone
from fawkes.live.nodes.quotas import NodeQuotas
from fawkes.live.nodes.upload import Upload
from fawkes.live.wire.rest import Deadline
from fawkes.playbook.dist import pieces
from fawkes.playbook.dist.compile.compiled import DOORS, SECURE_IO
from fawkes.policy.worker.policies import load_admission, load_preemption, load_quota, load_weighting
from fawkes.report import history
from fawkes.report.tables.explain import as_plain, explain_plan
from fawkes.store.health import boot
from fawkes.store.place import place_of, same_place
from fawkes.store.private import make_private
from fawkes.store.quotas import QuotaRecord
from fawkes.store.record import to_plain
from fawkes.store.remembered import remembered
from fawkes.store.schema import CLAIM, CLOCK, SEAL
from fawkes.store.sqlite import LEDGER_FILE, Ledger, LedgerReader

_log = logging.getLogger(__name__)
#: steps between two pictures of the state in the ledger: some hours of samples, a second of replay
PICTURE_EVERY = 2000


def _keep_pictures(ledger: Ledger, last: int, clock: Clock) -> Callable[[int, State], None]:
    """Stores a picture so many steps after the ``last``, so that a start never replays many more than these.

    With each picture, at first and when the clock was set, the ledger gets a note of how the clocks stand.
    """
    noted: object = ledger

    def keep(seq: int, state: State) -> None:
        nonlocal last, noted
        # The step is stored and done. What cannot be stored now is stored after the next one.
        with suppress(HeldUpError):
            if noted is not state.clock or seq - last >= PICTURE_EVERY:
                ledger.put_note(CLOCK, clock.mark(boot()).text())
                noted = state.clock
            if seq - last >= PICTURE_EVERY:
                ledger.snapshot(seq, to_plain(picture(state)))
                last = seq

    return keep


class HeardLedger:
    """A ledger whose steps somebody hears of once they are stored."""

    def __init__(self, ledger: Ledger, hear: Callable[[Event, Decision], None]) -> None:
        self._ledger = ledger
        self._hear = hear

    def append(self, event: Event, decision: Decision) -> int:
        """Store a step, as the ledger does."""
        seq = self._ledger.append(event, decision)
        self._hear(event, decision)
        return seq

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """The steps after number ``after``, oldest first."""
        return self._ledger.entries(after)


class Controller:
    """One controller of one site, from `run` to its end."""

    def __init__(
        self,
        plan: ControllerPlan,
        say: Callable[[str], None],
        take_over: Callable[[str], None] | None = None,
        page: Mapping[str, Plain] | None = None,
    ) -> None:
        """``take_over`` asks the user about a copied or moved state folder; RefusedError when the user says no.

        ``page`` says how the page beside the controller is, for `fawkes status`.
        """
        self._plan = plan
        self._say = say
        self._take_over = take_over
        self._page = page or {}
        self._stack = ExitStack()
        self._problem: FawkesError | None = None
        self._for_good = False
        self._world: LiveWorld | None = None
        self._membership: MembershipKeeper | None = None
        self._clear_copies: Callable[[], None] = lambda: None
        self._control_server: ControlServer | None = None

    def run(self) -> None:
        """Control the pool until somebody stops it. ElsewhereError when another controller holds folder or nodes."""
        for note in self._plan.notes:
            self._say(note)
        # Connections to nodes and users are files: the soft limit of most machines, 1,024, would be too few.
        _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
        with self._stack:
            self._stack.enter_context(played(self._plan.playbooks))
            engine, world, started = self._build()
            self._world = world
            self._on_signals(world, engine)
            if not engine.offer(started):
                return
            self._accepted(world)
            if self._membership is not None and not self._plan.shadow:
                threading.Thread(target=self._membership.equip, name="equip", daemon=True).start()
            self._say(f"Fawkes {__version__} controls pool {started.pool}, epoch {started.epoch}")
            engine.run()
            if self._for_good:
                self._give_back(world.ground, engine.view)
                self._clear_copies()
        if self._problem is not None:
            raise self._problem

    def _build(self) -> tuple[Engine, LiveWorld, Started]:
        site, stack, ssh = self._plan.site, self._stack, self._plan.settings.ssh
        if not (site.state_dir / LEDGER_FILE).exists():
            self._look_first()
        reachable = make_private(site.state_dir)
        if reachable:
            self._say(f"{site.state_dir}: other users could reach {reachable} files and folders in it; now they cannot")
        ledger = stack.enter_context(closing(Ledger(site.state_dir)))
        state, pictured = remembered(ledger)
        self._tell_settings(state)
        refuse_other_names(self._plan, state)
        known = known_nodes(self._plan.inventory.nodes, state)
        fleet = stack.enter_context(closing(fleet_of(self._plan.inventory, known, ssh)))
        seen = ruling.look(fleet, known, within_s=ssh.answer_s)
        verdict = self._judge(ledger, state, seen)
        identity = ControllerIdentity(self._plan.inventory.pool, verdict.epoch, new_controller())
        clusters = Clusters()
        clusters.adopt(state)
        if not self._plan.shadow:
            provide_needed(state, self._say, self._fetch)
        ground = Ground(known, identity, fleet, command_s=ssh.command_timeout_us / SECOND_US, threads=ssh.fanout)
        ground.place_of = lambda node: state.nodes[node].place if node in state.nodes else ""
        claimed = {lease.node for lease in verdict.leases}
        starts = ruling.past(ledger, state)
        ground.starts_for = lambda node: "" if node in claimed else starts
        mailbox = Mailbox(Clock(state.now_us))
        world = LiveWorld(
            mailbox,
            ground,
            clusters,
            threads=max(32, ssh.fanout),
            reply=self._reply,
            ended=self._ended,
            refused=self._refused,
            held_up=self._held_up,
        )
        stack.callback(world.close)
        self._reign = Reign(ground, lambda: [cluster.master for cluster in clusters.all()], self._refused)
        self._claimed = sorted(claimed)
        self._ledger = ledger
        if verdict.standing is not FolderStanding.RULES:
            self._claim_first(ledger, identity)
        rules = self._plan.settings.hooks
        self._hooks = Hooks(site.root / HOOKS, rules.time_limit_us, wait=rules.before_join == "required")
        stack.callback(self._hooks.close)
        setup, stages, restorer = self._equip(world, fleet, state)
        keep = _keep_pictures(ledger, pictured, mailbox.clock)

        def hear(event: Event, decision: Decision) -> None:
            if isinstance(event, Reloaded) and event.nodes is not None:
                nodes = known_nodes([inventory_node(node.details) for node in event.nodes], state)
                ground.know(nodes)
                fleet.know(*ways_to(nodes))
            gone = {each.state.id for each in decision.changes if isinstance(each, PutCluster) and _is_gone(each)}
            if gone:
                # Its jobs knew the key, and the next MR-cluster of the name is somebody else's.
                for kept in (self._keys, self._kerberos):
                    kept.keep(set(state.clusters) - gone)
            if not self._plan.shadow:
                self._hooks.step(state, event, decision)

        engine = Engine(world, HeardLedger(ledger, hear), load_weighting, state, keep, load_admission, load_preemption)
        self._control_server = self._control(engine, world, state, setup, fleet, stages, restorer)
        stack.callback(self._control_server.close)
        now, before = mailbox.clock.mark(boot()), Mark.of(ledger.note(CLOCK))
        steady_us, stepped_us = (None, 0) if before is None else before.since(now, state.now_us)
        started = first_event(self._plan, identity, now.at_us)
        return engine, world, replace(started, steady_us=steady_us, stepped_us=stepped_us)

    def _look_first(self) -> None:
        """Judge by the nodes alone, before anything is made: a refused start leaves no empty ledger behind."""
        nodes, ssh = self._plan.inventory.nodes, self._plan.settings.ssh
        with closing(fleet_of(self._plan.inventory, nodes, ssh)) as first:
            answers = ruling.look(first, nodes, within_s=ssh.answer_s)
        self._judge(None, State(), answers)
        if note := ruling.not_asked(answers):
            self._say(note)

    def _tell_settings(self, state: State) -> None:
        """Say when other settings counted for this pool until now: an empty file changes them without a word."""
        if state.rules is not None:
            changed = differences(state.rules.settings, self._plan.settings.core, state.rules.version)
            if changed:
                self._say(f"the settings have changed since the last run: {'; '.join(changed)}")

    def _judge(self, ledger: Ledger | None, state: State, seen: ruling.NodeAnswers) -> Ruling:
        pool, where = self._plan.inventory.pool, str(self._plan.site.state_dir)
        verdict = ruling.rule(ledger, state, seen, pool=pool, where=where, take_over=self._take_over)
        refuse_other_places(self._plan, state, seen.leases(pool))
        if note := ruling.apart(verdict):
            self._say(note)
        return verdict

    def _claim_first(self, ledger: Ledger, identity: ControllerIdentity) -> None:
        """Take the nodes over before this start is stored: one that another was quicker with changes nothing."""
        ledger.put_note(CLAIM, f"{identity.epoch} {identity.controller}")
        try:
            self._reign.claim_in_turn(self._claimed)
        except ElsewhereError:
            ledger.put_note(CLAIM, "")
            raise

    def _accepted(self, world: LiveWorld) -> None:
        """This start is stored: the ledger is sealed where it lies, and the nodes learn of it."""
        self._ledger.beat()
        world.every("alive", BEAT_US, self._ledger.beat)
        with suppress(HeldUpError):
            if not same_place(self._ledger.note(SEAL), here := place_of(self._ledger.path)):
                self._ledger.put_note(SEAL, here)
            self._ledger.put_note(CLAIM, "")
        if not self._plan.shadow:
            threading.Thread(target=self._reign.claim, args=(self._claimed,), name="claim", daemon=True).start()
            world.every("beat", BEAT_US, self._reign.beat)

    def _fetch(self, wanted: pieces.Piece) -> None:
        pieces.provide([wanted], say=self._say)

    def _equip(self, world: LiveWorld, fleet: Fleet, state: State) -> tuple[Setup, Stages, Restorer]:
        settings, hold = self._plan.settings.core, self._stack.enter_context
        ground, clusters, mailbox = world.ground, world.clusters, world.mailbox
        cached = Releases(
            self._fetch,
            self._say,
            wait_us=lambda tries: backoff.wait_us(settings, tries),
            now_us=world.mailbox.clock.now_us,
        )
        self._stack.callback(cached.close)
        keys = self._keys = DoorKeys(self._plan.site.state_dir / "keys")
        keys.keep(state.clusters)
        doors = Doors(keys, lambda: cached.jar(DOORS))
        kerberos = self._kerberos = Kerberos(
            self._plan.settings.kerberos,
            self._plan.site.state_dir / "tls",
            lambda: {node.user for node in ground.nodes.values()},
            lambda: cached.jar(SECURE_IO),
        )
        kerberos.keep(state.clusters)
        setup = Setup(ground, fleet, cached, doors, Secrets(self._plan.site.root / SECRETS), kerberos)
        membership = self._membership = MembershipKeeper(
            ground, clusters, setup, workers_s=self._plan.settings.ssh.answer_s
        )
        folder = self._plan.site.state_dir / "logs"
        membership.adopt(state)
        keeper = LogKeeper(ground, fleet, folder, LogRoom(folder, self._plan.settings.keep_logs_bytes))
        keeper.clear()
        watch = hold(closing(Watch(clusters, setup, mailbox, partial(gone, ground), partial(self._now, state))))
        join = partial(self._hooks.before_join, holders=ground.holders)
        waits, open_doors = world.waits, membership.open_doors
        hosts = Hosts(ground, clusters, setup, world.stopping, keeper.keep, watch.see, waits, open_doors, join)
        deployer = Deployer(ground, clusters, setup, membership, world.stopping, waits, join)
        upload = Upload(fleet)
        stages = Stages(
            ground, clusters, setup, upload, world.stopping, world.waits, settings=settings, now_us=_steady_us
        )
        service = hold(closing(ServiceWatch(clusters, setup, mailbox)))
        over = partial(_over, state)
        jobs = hold(closing(Jobs(ground, clusters, setup, mailbox, upload, over, service.look_now)))
        sampler = hold(closing(Sampler(min(settings.sample_every_us / SECOND_US, limits.READING_S))))
        planned = self._steer(world, setup, state)
        sampling = hold(closing(Sampling(clusters, setup, sampler, mailbox.clock, planned)))

        def running(name: ClusterId, so: str) -> LiveCluster:
            if (cluster := clusters.get(name)) is None:
                raise FawkesError(f"it is not running, so {so}", where=name)
            return cluster

        def survey_of(effect: Survey) -> Facts:
            cluster = running(effect.cluster, "its data cannot be listed")
            return survey(cluster, setup, deadline=Deadline.after(settings.membership_us / SECOND_US))

        def work_of(effect: CountWork) -> Facts:
            masters = setup.masters(running(effect.cluster, "nobody has the counters of its jobs"))
            # As long as the core waits for the answer.
            return {"work_us": work_us(masters, effect, Deadline.after(settings.start_job_us / SECOND_US))}

        copies = Keeper(
            ground, clusters, fleet, mailbox, self._plan.site.state_dir / "kept", setup, self._plan.settings.keep
        )
        self._stack.callback(copies.close)
        pair = NameNodePair(ground, setup)
        mover = MastersMover(Means(ground, clusters, setup, membership, copies, world.stopping, pair))
        room = Room(clusters, setup, tasks_ready, world.stopping)
        leaving = LeavingTasks(ground, world.stopping)
        hands = Hands(deployer, hosts, membership, stages, jobs, survey_of, work_of, room.reach, mover, leaving)
        world.equip(hands, watch, sampling.round, settings.sample_every_us)
        second = hold(closing(StandbyWatch(clusters, pair, mailbox, behind_us=settings.standby_us)))
        world.every("service", limits.SERVICE_EVERY_US, service.round)
        world.every("standby", self._plan.settings.keep_every_us, second.round)
        if not self._plan.shadow:
            # Whoever only watches must not claim a lease: the second copy would be written under it.
            world.every("copies", self._plan.settings.keep_every_us, copies.round)
            free = hold(closing(FreeNodesWatch(ground, mailbox, lambda: _free(state))))
            world.every("free", limits.FREE_EVERY_US, free.round)
            world.every("second lists", limits.CATCH_UP_EVERY_US, membership.catch_up)
            world.every("members that joined again", limits.TAKE_BACK_EVERY_US, membership.take_back)
            self._clear_copies = lambda: copies.clear(lambda name: self._copies_needed(state, name))
            world.every("old copies", limits.CLEAR_EVERY_US, self._clear_copies)

        return setup, stages, Restorer(ground, clusters, setup, fleet, copies, mover.look, mailbox.clock.now_us)

    def _now(self, state: State) -> Settings:
        """The settings of decisions that count now: a reload changes them."""
        return self._plan.settings.core if state.rules is None else state.rules.settings

    def _steer(self, world: LiveWorld, setup: Setup, state: State) -> Callable[[], Mapping[ClusterId, int | None]]:
        """Give Spark applications with deadlines their cores, beside the engine; the nodes that their plans need."""
        policy, rules = self._plan.quota, self._plan.settings.quota
        if policy is None or self._plan.shadow:
            return dict
        nodes = NodeQuotas(world.ground, lifetime_s=rules.guard_us / SECOND_US)
        self._stack.callback(nodes.close)
        quotas = Quotas(
            state,
            world.clusters,
            setup,
            nodes,
            QuotaRecord(self._plan.site.state_dir, policy, rules),
            self._plan.site.profiles_dir,
            divide=load_quota(policy),
            rules=rules,
            shared_cores=lambda: self._now(state).shared_cores,
            now_us=world.mailbox.clock.now_us,
        )
        self._stack.callback(quotas.close)
        world.every("quotas", round(rules.parameters.period_s * SECOND_US), quotas.round)
        return quotas.planned

    def _control(
        self,
        engine: Engine,
        world: LiveWorld,
        state: State,
        setup: Setup,
        fleet: Fleet,
        stages: Stages,
        restorer: Restorer,
    ) -> ControlServer:
        folder = self._plan.site.state_dir
        data = DataAnswers(state, world.clusters, setup, world.ground, fleet, stages, folder / "logs")

        acts = not self._plan.shadow

        def check(event: Event) -> None:
            if acts:
                refuse_without_release(event, state)
                refuse_shared_user(event, state.clusters.values())
                refuse_unfit_user(event, world.ground)
                self._kerberos.refuse(event)

        def post(event: Event) -> None:
            check(event)
            world.mailbox.post(event)

        def rehearse(event: Event) -> Decision:
            check(event)
            return world.mailbox.between(lambda: engine.rehearse(event), limits.CORE_ANSWER_S)

        def plan_of_tick(_: Mapping[str, str]) -> Plain:
            foreseen = world.mailbox.between(engine.foresee, limits.CORE_ANSWER_S)
            answer: Plain = as_plain(explain_plan(foreseen, state))
            return answer

        access = self._plan.access

        def requests() -> list[Entry]:
            with closing(LedgerReader(folder)) as reader:
                return list(reader.entries(kinds=[Requested.__name__]))

        return ControlServer(
            self._plan.site.control_dir if access.open else folder,
            post,
            {
                **answers(state, lambda: LedgerReader(folder)),
                **data.queries(),
                **restorer.queries(),
                "plan": plan_of_tick,
                "ledger": lambda _: {**world.ledger_row(), "page": {**self._page}},
                "releases": lambda _: releases(acts=acts),
            },
            world.mailbox.clock.now_us,
            stop=lambda by: self._stop(world, f"{by} asked for it"),
            rehearse=rehearse,
            reread=partial(reread_plan, self._plan, engine),
            gate=Gate(access, Owners(requests, state), self._plan.site.root / SHARED),
            answer_within_s=longest_us(self._plan.settings.core) / SECOND_US + limits.CORE_ANSWER_S,
        )

    def _on_signals(self, world: LiveWorld, engine: Engine) -> None:
        if threading.current_thread() is not threading.main_thread():
            return

        def stop(number: int, frame: FrameType | None) -> None:
            self._stop(world, signal.Signals(number).name)

        def reload(number: int, frame: FrameType | None) -> None:
            threading.Thread(target=self._hang_up, args=(world, engine), name="reload", daemon=True).start()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        # The terminal of a controller in the foreground was closed; anybody else's SIGHUP is that of a daemon.
        signal.signal(signal.SIGHUP, stop if sys.stderr.isatty() else reload)

    def _hang_up(self, world: LiveWorld, engine: Engine) -> None:
        """SIGHUP: read the settings again; what cannot be is said, and the old ones stay in force."""
        try:
            news = reread_plan(self._plan, engine)
            if news.changed or news.restart:
                world.mailbox.post(replace(news, at_us=world.mailbox.clock.now_us(), by="SIGHUP"))
            self._say(plans.shown(news))
        except FawkesError as error:
            self._say(f"SIGHUP: the settings stay as they are: {error}")

    def _stop(self, world: LiveWorld, why: str, *, for_good: bool = False) -> None:
        self._for_good = for_good
        rest = "" if for_good else "; nodes, MR-clusters and jobs keep running, and `fawkes run` controls them again"
        self._say(f"stopping{' for good' * for_good}: {why}{rest}")
        world.stop()

    def _copies_needed(self, state: State, cluster: ClusterId) -> bool:
        if cluster in state.clusters:
            return True
        with closing(LedgerReader(self._plan.site.state_dir)) as reader:
            return copies_needed(next((row for row in history.clusters(reader) if row.id == cluster), None))

    def _give_back(self, ground: Ground, view: State) -> None:
        """Nodes that nobody holds forget the pool: otherwise they would refuse one with a ledger of its own."""
        had = {n for n in ground.nodes if view.nodes[n].generation or n in self._claimed}
        free = [n for n in ground.nodes if view.nodes[n].owner is None and n in had]
        scripts = {node: lease.forget(ground.lease(node, ClusterId(""), 0)) for node in free}
        for node, outcome in ground.run_on(scripts, "giving the node back for good").items():
            if isinstance(outcome, FawkesError):
                _log.warning("%s still has the lease of the pool: %s", node, outcome)

    def _ended(self, by: str) -> None:
        if self._world is not None:
            self._stop(self._world, f"{by} released the whole pool, and every node is clean", for_good=True)

    def _reply(self, effect: Reply) -> None:
        if self._control_server is not None:
            self._control_server.reply(effect)

    def _held_up(self, error: HeldUpError) -> None:
        if self._control_server is not None:
            hint = f"{error.way_out}. Fawkes may then still do what you asked for: check with `fawkes status`"
            self._control_server.hold_up(type(error)(f"not stored yet: {error.what}", where=error.where, hint=hint))

    def _refused(self, error: FawkesError) -> None:
        """A node knows a newer controller: this one must not act any more."""
        if self._problem is None:
            self._problem = error
            if self._world is not None:
                self._world.stop()


def _steady_us() -> int:
    return time.monotonic_ns() // 1000


def _is_gone(change: PutCluster) -> bool:
    return change.state.life is ClusterLife.GONE


def _over(view: State, cluster: ClusterId, job: JobId, attempt: int) -> bool:
    """True if an attempt has ended by the ledger; a job that the ledger never had is somebody else's to end."""
    known = view.jobs.get(job)
    return view.had_job(cluster, job) and (known is None or known.attempt != attempt)


def _free(state: State) -> list[NodeState]:
    """The nodes that belong to nobody, and those on which work failed because their hosts did not answer."""
    nodes = list(state.nodes.values())
    return [known for known in nodes if known.life is NodeLife.FREE or known.alert_kind is NodeAlert.SILENT]
