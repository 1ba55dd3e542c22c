"""The World of real nodes: effects become goals that hands reach over SSH, what they see becomes events."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from fawkes.base.errors import (
    ElsewhereError,
    FawkesError,
    HeldUpError,
    NodeAwayError,
    NodeRefusedError,
    RefusedError,
    UserError,
)
from fawkes.core.values import effects
from fawkes.core.values.effects import Effect
from fawkes.core.values.events import Condition, Done, Event, Failed, NodeObserved, Sampled, Woke
from fawkes.core.values.model import Facts, Plain
from fawkes.live.base import limits
from fawkes.live.base.hooks import HookError
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.base.timers import Timers
from fawkes.live.base.waits import Waits
from fawkes.live.clusters.deploy import Deployer
from fawkes.live.clusters.hosts import Hosts, NoImageError, NotProvenError
from fawkes.live.clusters.membership import MembershipKeeper
from fawkes.live.clusters.stages import Stages
from fawkes.live.controller.reconcile import Reconciler
from fawkes.live.data.saved import UnsavedError
from fawkes.live.eyes.watch import Watch
from fawkes.live.hadoop.releases import MissingReleaseError
from fawkes.live.jobs.jobs import Jobs
from fawkes.live.jobs.leaving import LeavingTasks, OfTasks
from fawkes.live.kerberos.keytab import is_of_site
from fawkes.live.masters.moving import MastersMover
from fawkes.live.masters.succession import GoneError, StayError, UntouchedError
from fawkes.live.nodes.clusters import Clusters
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.ssh import NOBODY_ANSWERS, ConnectionState, SshError

_log = logging.getLogger(__name__)


OfMasters = effects.LookAtMasters | effects.MoveMasters | effects.ArmStandby
OfCluster = (
    effects.Deploy | effects.Load | effects.Save | effects.Retire | effects.Survey | effects.Membership | OfMasters
)
"""Goals of an MR-cluster that end as `Done` or `Failed` with its version."""
OfJobs = effects.ClearSaved | effects.EndAttempts | effects.SteerStream
Answered = OfCluster | OfJobs | OfTasks | effects.CountWork | effects.AwaitRoom
"""All goals that end as `Done` or `Failed`."""


@dataclass(frozen=True)
class Hands:
    """The parts that reach goals, by the kind of goal."""

    deployer: Deployer
    hosts: Hosts
    membership: MembershipKeeper
    stages: Stages
    jobs: Jobs
    survey: Callable[[effects.Survey], Facts]
    count_work: Callable[[effects.CountWork], Facts]
    room: Callable[[effects.AwaitRoom, Callable[[], bool]], Facts | None]
    masters: MastersMover
    leaving: LeavingTasks


@dataclass(eq=False)
class LiveWorld:
    """Holds the queue of events, the goals, the timers and the regular rounds together.

    ``reply`` takes the answers to commands; ``refused`` is told once when a node says that another controller has
    taken over: this one must stop. ``held_up`` is told when the ledger takes nothing: whoever waits for an
    answer must not wait for that.
    """

    mailbox: Mailbox
    ground: Ground
    clusters: Clusters
    threads: int
    reply: Callable[[effects.Reply], None]
    ended: Callable[[str], None]
    refused: Callable[[FawkesError], None]
    held_up: Callable[[HeldUpError], None] = lambda error: None

    def __post_init__(self) -> None:
        mailbox = self.mailbox
        self.goals = Reconciler(self._act, self.threads)
        self.stopping = threading.Event()
        self.waits = Waits(mailbox)
        self._timers = Timers(mailbox.clock, lambda: mailbox.tell(lambda at: Woke(at_us=at)), mailbox.look)
        self._hands: Hands | None = None

    def equip(self, hands: Hands, watch: Watch, sample: Callable[[], Sampled | None], sample_every_us: int) -> None:
        """Hands and eyes; they need the world to be there first."""
        self._hands = hands

        def sampled() -> None:
            event = sample()
            if event is not None:
                self.mailbox.post(event)

        self._timers.every("samples", sample_every_us, sampled)
        self._timers.every("watch", limits.WATCH_EVERY_US, watch.round)
        self._timers.every("jobs", limits.JOBS_EVERY_US, hands.jobs.round)
        self._timers.every("waits", limits.WAITS_EVERY_US, self.waits.round)

    def every(self, name: str, period_us: int, do: Callable[[], None]) -> None:
        """Call ``do`` every ``period_us`` while the world works."""
        self._timers.every(name, period_us, do)

    def next_event(self) -> Event | None:
        """The next event; waits for it. None once the controller stops."""
        if self.mailbox.refusal is not None:
            _log.warning("the ledger can be written again: the controller continues")
            self.mailbox.release()
        return self.mailbox.take()

    def wait_for_room(self, error: HeldUpError) -> bool:
        """Wait a moment for the ledger; False once the controller stops.

        Hands and eyes go on; nothing new is decided, and people are refused, until the next event is asked for.
        """
        if self.mailbox.refusal is None:
            hint = f"Nothing was done. {error.way_out}, then repeat the command; the controller needs no restart"
            self.mailbox.hold(RefusedError(f"the ledger cannot be written: {error.what}", where=error.where, hint=hint))
            _log.error("%s. Nothing is decided until then; MR-clusters and jobs keep running", error)
            self.held_up(error)
        return self.mailbox.wait(limits.ROOM_EVERY_S)

    def ledger_row(self) -> dict[str, Plain]:
        """The standing of the ledger, for the commands: why nothing is stored at the moment (empty when all is).

        ``event`` is the kind of event that the engine works on, for ``event_s`` seconds; empty while it waits for one.
        """
        refusal = self.mailbox.refusal
        event, event_s = self.mailbox.at_work()
        trouble = "" if refusal is None else f"{refusal.where}: {refusal.what}"
        return {"trouble": trouble, "event": event, "event_s": event_s}

    def start(self, goals: Iterable[Effect]) -> None:
        """Take these goals over; returns at once."""
        for effect in goals:
            match effect:
                case effects.WakeAt():
                    self._timers.wake_at(effect.at_us)
                case effects.Reply():
                    self.reply(effect)
                case effects.EndControl():
                    self.ended(effect.by)
                case _:
                    self.goals.want(effect)

    def stop(self) -> None:
        """End the run after the events that are there already; nodes, MR-clusters and jobs go on."""
        self.mailbox.end()

    def close(self) -> None:
        """Stop working; leave everything outside as it is."""
        self.stopping.set()
        self._timers.close()
        self.goals.close()

    def _act(self, effect: Effect) -> None:
        if self._hands is None or not self.goals.is_current(effect):
            return
        try:
            self._reach(self._hands, effect)
        except ElsewhereError as error:
            self.refused(error)
            self._not_reached(effect, error)
        except FawkesError as error:
            self._not_reached(effect, error)
        except Exception as error:
            _log.exception("a defect while working on %s", effect.key)
            self._not_reached(effect, FawkesError(f"a defect: {type(error).__name__}: {error}"))
        finally:
            self.waits.over(effect.key)

    def _reach(self, hands: Hands, effect: Effect) -> None:
        wanted = partial(self._wanted, effect)
        match effect:
            case effects.Host():
                reached = hands.hosts.reach(effect, wanted)
                if reached is not None:
                    self._observed(effect, reached.condition, reached.facts)
            case effects.StartJob():
                hands.jobs.start(effect)
            case effects.CancelJob():
                hands.jobs.cancel(effect)
            case effects.CountWork():
                self._done(effect, hands.count_work(effect))
            case effects.AwaitRoom():
                self._done(effect, hands.room(effect, wanted))
            case _ if isinstance(effect, OfJobs):
                self._done(effect, hands.jobs.reach(effect))
            case _ if isinstance(effect, OfTasks):
                self._done(effect, hands.leaving.reach(effect, wanted))
            case _ if isinstance(effect, OfCluster):
                self._done(effect, self._work(hands, effect, wanted))

    def _wanted(self, effect: Effect) -> bool:
        return self.goals.is_current(effect) and not self.stopping.is_set()

    def _work(self, hands: Hands, effect: OfCluster, wanted: Callable[[], bool]) -> Facts | None:
        """Reach a goal of an MR-cluster; None when it was overtaken by a newer one."""
        match effect:
            case effects.Deploy():
                return hands.deployer.deploy(effect, wanted)
            case effects.Load():
                loaded = hands.stages.load(effect, wanted)
                if loaded is not None:
                    hands.membership.keep(effect.cluster)
                return loaded
            case effects.Save():
                return hands.stages.save(effect, wanted)
            case effects.Survey():
                return hands.survey(effect)
            case effects.LookAtMasters() | effects.MoveMasters() | effects.ArmStandby():
                return hands.masters.reach(effect, wanted)
            case effects.Retire():
                # Not before the stage that it ends has let go: that would make the MR-cluster known again.
                self.clusters.remove(effect.cluster)
                return {}
            case effects.Membership():
                if self.clusters.get(effect.cluster) is None:
                    raise FawkesError("it is no longer running", where=effect.cluster)
                return hands.membership.apply(effect)

    def _done(self, effect: Answered, facts: Facts | None) -> None:
        """``facts`` None: the goal was overtaken by a newer one.

        What was reached when nobody wanted it any more is not told: an MR-cluster of the same name, whose versions
        begin anew, may be under way by then.
        """
        if facts is not None and self.goals.is_current(effect):
            self.mailbox.tell(lambda at: Done(at_us=at, effect=effect.key, version=_version(effect), facts=facts))

    def _observed(self, effect: effects.Host, condition: Condition, facts: Facts, error: str = "") -> None:
        node, generation = effect.node, effect.generation
        self.mailbox.tell(
            lambda at: NodeObserved(
                at_us=at, node=node, generation=generation, condition=condition, error=error, facts=facts
            )
        )

    def _not_reached(self, effect: Effect, error: FawkesError) -> None:
        _log.warning("%s: %s", effect.key, error)
        if self._hands is None or not self.goals.is_current(effect):
            return
        match effect:
            case effects.Host():
                condition = Condition.HELD if isinstance(error, NotProvenError) else Condition.FAILED
                self._observed(effect, condition, _facts_of_host(error), str(error))
            case effects.StartJob() | effects.CancelJob():
                self._hands.jobs.refused(effect, error)
            case _ if isinstance(effect, Answered):
                version, facts = _version(effect), _facts(error)
                # Trying again is useless where what the user wrote must change first.
                final, why = isinstance(error, UserError), str(error)
                self.mailbox.tell(
                    lambda at: Failed(at_us=at, effect=effect.key, version=version, error=why, final=final, facts=facts)
                )


def _version(effect: Answered) -> int:
    """The version of the answer to a goal; work is counted for an attempt."""
    return effect.attempt if isinstance(effect, effects.CountWork) else effect.version


def _facts_of_host(error: FawkesError) -> Facts:
    """The facts for the core about a node that was not reached, besides the error."""
    if is_of_site(error):
        return {"site": True}
    if isinstance(error, MissingReleaseError):
        return {"no_release": True}
    if isinstance(error, NoImageError):
        return {"no_image": True}
    if isinstance(error, NodeAwayError):
        return {"away": True}
    if isinstance(error, SshError) and error.state in NOBODY_ANSWERS:
        return {"silent": True}
    return {"refused": True} if isinstance(error, NodeRefusedError) else {}


def _facts(error: FawkesError) -> Facts:
    """The facts for the core and for people about a stage that failed, besides its error."""
    if isinstance(error, NodeRefusedError | HookError):
        return {"refused": error.host}
    if isinstance(error, MissingReleaseError):
        return {"no_release": True} if error.failed else {}
    if isinstance(error, NodeAwayError) or (
        isinstance(error, SshError) and error.state not in (ConnectionState.TOO_MUCH, ConnectionState.NOT_TRIED)
    ):
        return {"away": error.host}
    if isinstance(error, StayError):
        return error.facts
    if isinstance(error, GoneError):
        return {"gone": True}
    # A lack of the site, such as its KDC, is the fault of no node, and of nobody's try.
    site: Facts = {"site": True} if is_of_site(error) else {}
    if isinstance(error, UntouchedError):
        return {"untouched": True, "unreadable": error.unreadable, **site}
    return error.facts if isinstance(error, UnsavedError) else site
