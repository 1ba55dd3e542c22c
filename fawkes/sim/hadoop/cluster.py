"""One simulated MR-cluster: tasks of jobs, first come first served, on the slots of its nodes, at shared rates."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Literal

from fawkes.base.units import SECOND_US
from fawkes.core.values.effects import StartJob
from fawkes.core.values.events import Progress
from fawkes.core.values.model import ClusterId, NodeId, Reading, Role
from fawkes.core.values.tags import tag_of
from fawkes.sim.hadoop.between import far_bytes
from fawkes.sim.hadoop.chance import NO_STREAM, Chance, factor_of_node, stream_of
from fawkes.sim.hadoop.constants import Constants
from fawkes.sim.hadoop.flows import Flow, Flows
from fawkes.sim.hadoop.machine import Common, Leg, Machine, Owner, daemons_of, input_of_a_core_node
from fawkes.sim.hadoop.model import TaskEvent
from fawkes.sim.hadoop.preempted import by_priority, running, work_of
from fawkes.sim.hadoop.profile import has_chance, profile_of
from fawkes.sim.hadoop.tasks import Copy, End, JobAttempt, Phase, Running, SimJob, SimNode, TaskAttempt, kept_by_role

#: storage of a node, for readings alone
NODE_BYTES = 10**12


class SimCluster:
    """The state of one MR-cluster, and what its masters would answer. Each attempt of a job runs once."""

    def __init__(
        self, name: ClusterId, flows: Flows[Owner], constants: Constants, common: Common, seed: int = 0
    ) -> None:
        self.id = name
        self.jobs: dict[JobAttempt, SimJob] = {}
        self.ended: dict[JobAttempt, End] = {}
        self.nodes: dict[NodeId, SimNode] = {}
        self.stored: dict[NodeId, int] = {}
        self.jobs_done = self.tasks_done = self.output_bytes = 0
        self.data_bytes = 0
        self.replication = 3
        self._ranked = False
        self._sites: set[str] = set()
        self.loaded = False
        self.events: list[TaskEvent] | None = None
        self._flows = flows
        self._constants = constants
        self._seed = seed
        self._chance = Chance(constants.spread, constants.stragglers, constants.straggle, constants.speculative)
        self._shared_slots = constants.map_slots == 0
        self._masters = self._shared_slots and constants.master_share > 0
        self._starts = bool(constants.task_start_us or constants.task_start_cpu_us)
        self._map_slots: deque[SimNode] = deque()
        self._reduce_slots: deque[SimNode] = self._map_slots if self._shared_slots else deque()
        self.machine = Machine(name, flows, constants, common)

    # --- nodes

    def join(self, name: NodeId, role: Role, site: str = "") -> None:
        """A node of a site offers its slots (again)."""
        node = self.nodes.get(name)
        if node is not None and node.role is role:
            if node.draining:
                node.draining = node.stopped = False
                self._offer(node)
        else:
            self.leave(name)
            node = self.nodes[name] = SimNode(name, role, site, *self.slots_of_a_node)
            node.factor = factor_of_node(self._seed, name, self._constants.node_spread)
            self._offer(node)
            self._resize()
        self.assign()

    def drain(self, name: NodeId) -> None:
        """A node gets no more tasks."""
        node = self.nodes.get(name)
        if node is not None and not node.draining:
            node.draining = True
            self._map_slots = deque(slot for slot in self._map_slots if slot is not node)
            if self._shared_slots:
                self._reduce_slots = self._map_slots
            else:
                self._reduce_slots = deque(slot for slot in self._reduce_slots if slot is not node)

    def leave(self, name: NodeId) -> None:
        """A node is gone: its tasks wait again, and so do finished maps whose output is still needed."""
        self.drain(name)
        node = self.nodes.pop(name, None)
        self.stored.pop(name, None)
        if node is None:
            return
        self._stop_all(node)
        self._resize()
        self.assign()

    def stop_tasks(self, name: NodeId) -> None:
        """Nothing computes on a node any more, as when it leaves; what it stores stays until it does."""
        self.drain(name)
        node = self.nodes.get(name)
        if node is not None:
            node.stopped = True
            self._stop_all(node)
            self.assign()

    def _stop_all(self, node: SimNode) -> None:
        for job in list(node.masters):
            self._lose_master(job)
        stopped, kept = list(node.attempts), list(node.kept)
        node.kept.clear()
        for attempt in stopped:
            self._stop(attempt)
        broken = dict.fromkeys([*(attempt.job for attempt in stopped), *kept])
        for job in broken:
            self._run_lost_maps(job)
        for job in [job for job in self.jobs.values() if job.profile.gang and job in broken]:
            self._stop_gang(job)

    def _stop_gang(self, job: SimJob) -> None:
        """One of its maps has lost its node: all start again."""
        for task in list(job.running):
            self._stop(task)
        job.maps_waiting += job.maps_done
        self.tasks_done -= job.maps_done
        job.maps_done = 0

    @property
    def output_replicas(self) -> int:
        """The number of replicas of what jobs write."""
        return self._constants.output_replicas or self.replication

    @property
    def slots_of_a_node(self) -> tuple[int, int]:
        """The slots for maps and for reduces; containers are for either and count as the first."""
        of = self._constants
        return (of.slots, 0) if self._shared_slots else (of.map_slots, of.reduce_slots)

    @property
    def free_slots(self) -> tuple[deque[SimNode], ...]:
        """The nodes of free slots in the order in which they are taken: for maps and for reduces, or for either."""
        return (self._map_slots,) if self._shared_slots else (self._map_slots, self._reduce_slots)

    def busy_us(self, name: NodeId) -> int:
        """The time for which the tasks on a node still run, as things are; 0 when there are none."""
        node = self.nodes.get(name)
        if node is None:
            return 0
        masters = SECOND_US if node.masters else 0
        return max(masters, max((self._left_us(attempt) for attempt in node.attempts), default=0))

    # --- tasks that have to go

    def savable(self, name: NodeId) -> list[Running]:
        """The tasks on a node that can be saved."""
        node, now_us = self.nodes.get(name), self._flows.now_us
        tasks = [] if node is None else [each for each in node.attempts if each.job.effect.spec.saves]
        return [running(each, now_us, self._left_us(each)) for each in tasks]

    def preempt(self, name: NodeId, task: Running, kept: float | None, restore_us: int) -> bool:
        """A task leaves its node and waits again; False if it is not there."""
        node = self.nodes.get(name)
        for each in [] if node is None else list(node.attempts):
            if (each.job.attempt, each.number) == (task.attempt, task.number):
                each.job.again.append(each.brought.left(each.factor, kept, restore_us, self._flows.now_us))
                each.job.work_us += 0 if kept is None else self._flows.now_us - each.since_us
                self._stop(each, ordered=True)
                self.assign()
                return True
        return False

    # --- jobs

    def knows(self, attempt: JobAttempt) -> bool:
        """True if an attempt was submitted, refused or cancelled before."""
        return attempt in self.jobs or attempt in self.ended

    def submit(self, effect: StartJob) -> End | int:
        """An attempt of a job begins; when it was submitted (us), or what became of it."""
        key = (effect.job, effect.attempt)
        if key in self.ended:
            return self.ended[key]
        if key not in self.jobs:
            profile = profile_of(effect.spec)
            job = SimJob(effect, profile, self._flows.now_us, profile.maps, profile.reduces)
            job.stream = stream_of(self._seed, *key) if has_chance(effect.spec, profile) else NO_STREAM
            self.jobs[key] = job
            self._ranked = self._ranked or effect.spec.priority != 0
            if not self._masters or profile.gang:
                self._prepare(job)
            self.assign()
        return self.jobs[key].since_us

    def refuse(self, attempt: JobAttempt, error: str) -> End:
        """An attempt fails before its first task."""
        now_us = self._flows.now_us
        return self.ended.setdefault(attempt, End(Progress.FAILED, now_us, now_us, error))

    def cancel(self, attempt: JobAttempt) -> End:
        """Stop an attempt, or see to it that it never starts; how it ended."""
        job = self.jobs.pop(attempt, None)
        since_us = self._flows.now_us if job is None else job.since_us
        if job is not None:
            for flow in job.steps:
                self._flows.drop(flow)
            job.steps.clear()
            for task in list(job.running):
                self._stop(task)
            self._forget(job)
            self.assign()
        return self.ended.setdefault(attempt, End(Progress.CANCELLED, since_us, self._flows.now_us))

    def flow_ended(self, owner: SimJob | TaskAttempt | Copy, flow: Flow[Owner]) -> SimJob | Copy | None:
        """Something of a job or of a copy is over; the job or the copy when that ended with it."""
        if isinstance(owner, SimJob):
            # It was cancelled by what else ended in this microsecond.
            return self._job_step_ended(owner, flow) if flow in owner.steps else None
        if isinstance(owner, Copy):
            wanted = flow in owner.flows
            owner.flows.pop(flow, None)
            return owner if wanted and not owner.flows else None
        if flow not in owner.flows or owner not in owner.job.running:
            # It was killed by what else ended in this microsecond, or what it read from has left.
            return None
        del owner.flows[flow]
        over = None if owner.flows else self._phase_ended(owner)
        if owner.phase is Phase.WAIT and owner.job.granted:
            # The maps that it waits for may need its part of the grant.
            self.assign()
        return over

    # --- copies

    def load(self, of: object) -> Copy:
        """The input, ``data_bytes``, comes from persistent storage, once."""
        wanted = 0 if self.loaded else self.data_bytes
        return self._copy(of, self.machine.load(wanted, self.replication))

    def save(self, of: object) -> Copy:
        """All output goes to persistent storage."""
        return self._copy(of, self.machine.save(self.output_bytes))

    def hold(self, name: NodeId, held_bytes: int) -> None:
        """Let a node store so many bytes of earlier outputs."""
        self.stored[name] = held_bytes

    def evacuate(self, name: NodeId, of: object) -> Copy:
        """Begin the copy of what a node stores to the nodes that stay, and return it."""
        node = self.nodes.get(name)
        held = self.stored.get(name, 0)
        if node is not None and node.role is Role.CORE:
            core = sum(1 for each in self.nodes.values() if each.role is Role.CORE)
            held += input_of_a_core_node(self.data_bytes, self.replication, core)
        return self._copy(of, self.machine.evacuate(held))

    def start_daemons(self, time_us: int, of: object, *, deploys: int = 0) -> Copy:
        """The daemons of a node that comes: so long when they start alone, longer beside what computes.

        A deployment starts those of so many nodes, and the masters.
        """
        count, each_us = daemons_of(self._constants, time_us, deploys)
        return self._copy(of, self.machine.start(time_us, each_us, count))

    def _copy(self, of: object, legs: Iterable[Leg]) -> Copy:
        copy = Copy(of)
        copy.flows.update(self.machine.begin(legs, (self, copy)))
        return copy

    # --- readings

    @property
    def tasks_ready(self) -> int:
        """The tasks that wait for nothing but room."""
        return sum(self._ready(job) for job in self.jobs.values())

    def read(self) -> Reading:
        """The reading that the masters give: jobs, tasks, slots and bytes."""
        waiting = [job for job in self.jobs.values() if not job.started]
        running = sum(len(job.running) for job in self.jobs.values())
        return Reading(
            cluster=self.id,
            jobs_waiting=len(waiting),
            jobs_running=len(self.jobs) - len(waiting),
            tasks_waiting=sum(job.tasks_waiting for job in self.jobs.values()),
            tasks_running=running,
            tasks_ready=self.tasks_ready,
            waiting_tags=tuple(tag_of(*job.attempt) for job in waiting),
            slots_used=running,
            slots_total=sum(self.slots_of_a_node) * sum(not node.stopped for node in self.nodes.values()),
            output_bytes=self.output_bytes,
            storage_bytes=NODE_BYTES * sum(node.role is not Role.TRANSIENT for node in self.nodes.values()),
            jobs_done=self.jobs_done,
            tasks_done=self.tasks_done,
            master_slots=int(self._masters),
            node_bytes=dict(self.stored),
            masters=self._masters_held if self._masters else None,
            work=work_of(self.jobs.values()),
        )

    # --- scheduling

    def assign(self) -> None:
        """Start waiting tasks on free slots: jobs as YARN serves them, maps before reduces, within their grants."""
        for job in by_priority(self.jobs.values()) if self._ranked else self.jobs.values():
            if not self._map_slots and not self._reduce_slots:
                return
            if self._masters and job.master is None and not job.profile.gang and self._may_master():
                self._give_master(job, self._map_slots.popleft())
            if job.ready:
                if job.profile.gang and len(self._map_slots) < job.maps_waiting:
                    # What comes later would take the slots that it waits for, for ever.
                    return
                while job.maps_waiting and self._map_slots and job.may_start:
                    job.maps_waiting -= 1
                    self._start(job, self._map_slots.popleft(), Phase.MAP)
                while job.reduces_waiting and self._reduce_slots and job.may_start and self._may_reduce(job):
                    job.reduces_waiting -= 1
                    self._start(job, self._reduce_slots.popleft(), Phase.FETCH)
                if self._make_way(job) and not self._shared_slots:
                    # Slots for reduces are free again, for jobs before this one as well.
                    self.assign()
                    return

    @property
    def _masters_held(self) -> int:
        return sum(len(node.masters) for node in self.nodes.values())

    def _may_master(self) -> bool:
        """True if one more ApplicationMaster may hold a slot: the first always, so that something runs."""
        return self._masters_held < max(
            1, int(self._constants.master_share * (self._constants.slots * len(self.nodes)))
        )

    def _give_master(self, job: SimJob, node: SimNode) -> None:
        node.maps_free -= 1
        job.master = node
        node.masters[job] = None
        self._prepare(job)

    def _take_master(self, job: SimJob) -> None:
        """The slot of a job's ApplicationMaster is free."""
        node, job.master = job.master, None
        if node is not None:
            del node.masters[job]
            node.maps_free += 1
            if not node.draining and node.name in self.nodes:
                self._map_slots.append(node)

    def _lose_master(self, job: SimJob) -> None:
        """A job's ApplicationMaster is gone, and its tasks with it: it waits for a slot again, and ended maps count."""
        self._take_master(job)
        job.ready = False
        for flow in job.steps:
            self._flows.drop(flow)
        job.steps.clear()
        for task in list(job.running):
            self._stop(task)

    def _ready(self, job: SimJob) -> int:
        """Tasks that lack nothing but a slot; one of a job that has not begun."""
        if not job.ready:
            return 1
        ready = job.maps_waiting + (job.reduces_waiting if self._may_reduce(job) else 0)
        return min(ready, job.granted - len(job.running)) if job.granted else ready

    def _may_reduce(self, job: SimJob) -> bool:
        """Containers go to the maps first: reduces that hold them all would wait for maps for ever.

        Under a grant they would hold all of that, so that they begin when all maps have ended, as live.
        """
        if self._shared_slots and job.maps_waiting:
            return False
        return job.maps_done >= (1.0 if job.granted else self._constants.slow_start) * job.profile.maps

    def _make_way(self, job: SimJob) -> bool:
        """Maps that run again take the containers of reduces that wait for them, the last ones first (as YARN does).

        Where there are free slots they take the reduces' part of the grant. Whether any reduce was stopped.
        """
        made = False
        while job.maps_waiting and (self._shared_slots or self._map_slots):
            free = bool(self._map_slots)
            waits = [task for task in job.running if task.phase is Phase.WAIT and (free or not task.node.draining)]
            if not waits:
                break
            made = True
            self._stop(waits[-1])
            job.maps_waiting -= 1
            self._start(job, self._map_slots.popleft(), Phase.MAP)
        return made

    def _start(self, job: SimJob, node: SimNode, phase: Phase) -> None:
        if phase is Phase.MAP or self._shared_slots:
            node.maps_free -= 1
        else:
            node.reduces_free -= 1
        job.started = True
        brought = job.brought(self._flows.now_us)
        factor = brought.factor or self._chance.factor(job.stream, job.attempts) * node.factor
        task = TaskAttempt(job, node, phase, job.attempts, self._flows.now_us, factor, brought=brought)
        task.starts = self._starts and not job.profile.gang
        job.attempts += 1
        job.running[task] = node.attempts[task] = None
        self._note(task, "start")
        self._work(task)

    def _stop(self, task: TaskAttempt, *, ordered: bool = False) -> None:
        """A task is killed and waits again."""
        for flow in task.flows:
            self._flows.drop(flow)
        task.job.waits_again(task, 0 if ordered else self._flows.now_us - task.since_us)
        self._note(task, "killed")
        self._release(task)

    def _run_lost_maps(self, job: SimJob) -> None:
        """Maps whose output left with its node wait again when a reduce needs it, even one that was killed only now."""
        if job.needs_map_output:
            lost = job.maps_done - sum(kept_by_role(self.nodes.values(), job).values())
            job.maps_done -= lost
            job.maps_waiting += lost
            self.tasks_done -= lost

    def _note(self, task: TaskAttempt, what: Literal["start", "done", "killed"]) -> None:
        if self.events is not None:
            kind: Literal["map", "reduce"] = "map" if task.is_map else "reduce"
            name = task.node.name
            self.events.append(TaskEvent(self._flows.now_us, self.id, *task.job.attempt, kind, task.number, name, what))

    def _release(self, task: TaskAttempt) -> None:
        node = task.node
        del task.job.running[task], node.attempts[task]
        if task.is_map or self._shared_slots:
            node.maps_free += 1
            slots = self._map_slots
        else:
            node.reduces_free += 1
            slots = self._reduce_slots
        if not node.draining and node.name in self.nodes:
            slots.append(node)

    def _offer(self, node: SimNode) -> None:
        self._map_slots.extend([node] * node.maps_free)
        if not self._shared_slots:
            self._reduce_slots.extend([node] * node.reduces_free)

    # --- the course of a job and of a task

    def _step(self, job: SimJob, time_us: int, cpu_us: int) -> None:
        """A job is prepared or brought to its end, if that takes anything; the time of a gang has both."""
        if (time_us or cpu_us) and not job.profile.gang:
            job.steps.update(self.machine.begin(self.machine.start(time_us, cpu_us), (self, job)))

    def _job_step_ended(self, job: SimJob, flow: Flow[Owner]) -> SimJob | None:
        del job.steps[flow]
        if job.steps:
            return None
        if job.ready:
            return self._finish(job)
        job.ready = True
        if job.ended:
            # Its ApplicationMaster was lost after the last task.
            return self._tasks_ended(job)
        self.assign()
        return None

    def _prepare(self, job: SimJob) -> None:
        self._step(job, self._constants.job_begin_us, self._constants.job_begin_cpu_us)
        job.ready = not job.steps

    def _tasks_ended(self, job: SimJob) -> SimJob | None:
        self._step(job, self._constants.job_end_us, 0)
        if not job.steps:
            return self._finish(job)
        self.assign()
        return None

    def _finish(self, job: SimJob) -> SimJob:
        self.jobs.pop(job.attempt, None)
        self._forget(job)
        self.ended[job.attempt] = End(Progress.SUCCEEDED, job.since_us, self._flows.now_us, work_us=job.work_us)
        self.jobs_done += 1
        self.assign()
        return job

    def _forget(self, job: SimJob) -> None:
        self._take_master(job)
        for node in self.nodes.values():
            node.kept.pop(job, None)

    def _phase_ended(self, task: TaskAttempt) -> SimJob | None:
        if task.starts:
            task.starts = False
            self._work(task)
            return None
        if task.tail_us:
            tail = self.machine.pause(task.tail_us)
            task.tail_us = 0.0
            task.flows.update(self.machine.begin([tail], (self, task)))
            return None
        match task.phase:
            case Phase.MAP | Phase.REDUCE:
                return self._task_ended(task)
            case Phase.FETCH if task.share < 1.0:
                self._fetch_rest(task)
            case _:
                self._enter(task, Phase.REDUCE)
        return None

    def _task_ended(self, task: TaskAttempt) -> SimJob | None:
        job, profile = task.job, task.job.profile
        self._note(task, "done")
        job.work_us += self._flows.now_us - task.since_us
        self._release(task)
        self.tasks_done += 1
        if task.is_map:
            job.maps_done += 1
            if profile.reduces:
                task.node.kept[job] = task.node.kept.get(job, 0) + 1
        else:
            job.reduces_done += 1
        if not (task.is_map and profile.reduces):
            self._count_output(task.node, profile.output_bytes + profile.noted_bytes)
        if job.maps_done == profile.maps:
            for waiting in [each for each in job.running if each.phase is Phase.WAIT]:
                self._fetch_rest(waiting)
        if job.ended:
            return self._tasks_ended(job)
        self.assign()
        return None

    def _count_output(self, node: SimNode, output_bytes: int) -> None:
        self.output_bytes += output_bytes
        if node.role is not Role.TRANSIENT and output_bytes:
            self.stored[node.name] = self.stored.get(node.name, 0) + output_bytes

    def _fetch_rest(self, task: TaskAttempt) -> None:
        """Fetch what the reduce has not fetched yet, once all maps have ended; until then it waits."""
        if task.job.maps_done < task.job.profile.maps:
            task.phase = Phase.WAIT
        else:
            self._enter(task, Phase.FETCH_REST)

    def _enter(self, task: TaskAttempt, phase: Phase) -> None:
        task.phase = phase
        self._work(task)

    # --- work

    def _work(self, task: TaskAttempt) -> None:
        """Begin the flows of the task's start, or of its phase; a tail follows when these have ended."""
        if task.starts:
            legs = self.machine.start(self._constants.task_start_us, self._constants.task_start_cpu_us)
        else:
            legs = self._legs(task)
        work = [(pool, amount * task.factor, width) for pool, amount, width in legs]
        if not task.starts:
            ends = task.phase in (Phase.MAP, Phase.REDUCE) and not task.job.profile.gang
            task.tail_us = self.machine.tail_us(work, ends=ends) + task.brought.restore_us
        task.flows.update(self.machine.begin(work, (self, task)))

    def _legs(self, task: TaskAttempt) -> list[Leg]:
        fetched = 0.0
        if task.phase in (Phase.FETCH, Phase.FETCH_REST):
            before, task.share = task.share, task.job.maps_done / max(1, task.job.profile.maps)
            fetched = task.job.profile.shuffle_bytes * max(0.0, task.share - before)
        kept = kept_by_role(self.nodes.values(), task.job) if fetched else {}
        far = 0.0
        if len(self._sites) > 1:
            maps, replicas = sum(kept.values()), self.output_replicas
            far = far_bytes(task, self.nodes.values(), fetched, maps, self.replication, replicas)
        legs = self.machine.legs(task, fetched, kept, self.output_replicas)
        return [*legs, *self.machine.between_sites(far)]

    def _resize(self) -> None:
        counts = dict.fromkeys(Role, 0)
        for node in self.nodes.values():
            counts[node.role] += 1
        self._sites = {node.site for node in self.nodes.values()}
        self.machine.resize(counts)
        for role in (role for role, count in counts.items() if not count):
            self._give_up(role)

    def _give_up(self, role: Role) -> None:
        """Reduces that fetch from nodes of which none is left go on with what they have got: those maps run again.

        Without this they would wait for disks that are not there, until a node of that role comes or for ever.
        """
        gone = self.machine.disks(role)
        for job in self.jobs.values():
            for task in [each for each in job.running if each.phase in (Phase.FETCH, Phase.FETCH_REST)]:
                dead = [flow for flow in task.flows if flow.pool is gone]
                for flow in dead:
                    self._flows.drop(flow)
                    del task.flows[flow]
                if dead and not task.flows:
                    self._phase_ended(task)

    def _left_us(self, task: TaskAttempt) -> int:
        """Time that a task's present phase still takes at the present rates; a second for one that waits for maps."""
        return max((flow.left_us(self._flows.now_us) for flow in task.flows), default=SECOND_US)
