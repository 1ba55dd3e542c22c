"""One job on one MR-cluster for tests of `live.jobs`: they say how its launcher and YARN look."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from typing import Any

from fawkes.base.errors import HostError
from fawkes.config.clusters.details import JobDetails
from fawkes.core.jobs.attempts import judge
from fawkes.core.values.effects import CancelJob, StartJob
from fawkes.core.values.events import AttemptSeen, Progress
from fawkes.core.values.model import ClusterId, JobId, JobSpec, NodeId
from fawkes.core.values.sight import AppLife, Attempt
from fawkes.live.base.mailbox import Mailbox
from fawkes.live.base.timers import Clock
from fawkes.live.hadoop.orders import AddressedOrder
from fawkes.live.jobs.jobs import Jobs
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.nodes.ssh import Result
from fawkes.live.wire.hadoop_rpc import kill_application, kill_attempt
from fawkes.live.wire.masters import MasterAddresses
from fawkes.playbook import Facts, Script
from tests.live.played import CARRIED_OUT, NoUpload, PlayedGround, PlayedSetup, live_cluster
from tests.support.stub import Stub

C = ClusterId("c")
MASTER = NodeId("node01")
APPS, INFO = "/ws/v1/cluster/apps", "/ws/v1/cluster/info"
ACTIVE = {"state": "STARTED", "haState": "ACTIVE", "startedOn": 1}


class Bench(PlayedGround, PlayedSetup):
    """One job on one MR-cluster, its nodes and its set-up; the test says how its launcher and YARN look."""

    def __init__(self, master: Stub, kind: str = "class", profile: dict[str, int] | None = None) -> None:
        super().__init__(MASTER, user="root")
        self.master = master
        self.launcher: dict[str, str] = {"state": "absent"}
        self.stderr = ""
        self.did: list[str] = []
        self.unreachable = False
        self.namenode = ""
        self.meanwhile: Callable[[], None] = lambda: None
        self.forwards_nothing = False
        self.orders: list[socket.socket] = []
        self.mailbox = Mailbox(Clock())
        self.clusters = Clusters()
        self.clusters._put(live_cluster(C, MASTER, ready=True, working=True))
        details = JobDetails(kind=kind, command="true", main_class="Main", profile=profile or {}).plain()
        self.spec = JobSpec(id=JobId("job"), cluster=C, details=details)
        self.start = StartJob(self.spec.id, C, 1, self.spec)
        self.cancel = CancelJob(self.spec.id, C, 1)
        self.jobs = self.controller()
        self.yarn()
        self.recovered()

    def controller(self) -> Jobs:
        """The hands of a controller that has just started."""
        return Jobs(self, self.clusters, self, self.mailbox, NoUpload())

    def yarn(self, *states: str, diagnostics: Sequence[str] = ()) -> None:
        """Sets the applications that the ResourceManager knows, by their states, and the diagnostics of the first."""
        rows = [
            {
                "id": f"application_1_{n}",
                "user": "u",
                "state": state,
                "finalStatus": {"FINISHED": "SUCCEEDED", "RUNNING": "UNDEFINED"}.get(state, state),
                "diagnostics": "Task failed task_1_1_m_000007\nJob failed" if state == "FAILED" else "",
                "startedTime": n,
                "finishedTime": 0 if state == "RUNNING" else 10 + n,
            }
            for n, state in enumerate(states, 1)
        ]
        for row, text in zip(rows, diagnostics, strict=False):
            row["diagnostics"] = text
        self.master.answers[APPS] = {"apps": {"app": rows} if rows else None}

    def recovered(self, **info: object) -> None:
        """How far the ResourceManager is; it has finished its recovery unless the test says else."""
        self.master.answers[INFO] = {"clusterInfo": ACTIVE | info}

    def played(self, node: NodeId, script: Script, doing: str) -> Facts:
        if self.unreachable:
            raise HostError("did not answer", host=node)
        self.did.append(doing)
        if doing == "starting a job":
            self.launcher = {"state": "running"}
        return Facts([])

    def told(self) -> list[Attempt]:
        """The attempts that were reported since the last time."""
        self.mailbox.end()
        attempts = []
        for event in iter(self.mailbox.take, None):
            assert isinstance(event, AttemptSeen)
            assert (event.job, event.attempt) == ("job", 1)
            attempts.append(event.seen)
        return attempts

    def seen(self) -> list[Attempt]:
        """The attempts that one more round reports."""
        self.jobs.round()
        for look in self.jobs._looks.values():
            look.result(timeout=60)
        return self.told()

    def begin(self) -> list[Attempt]:
        """The attempts that are reported when the job begins."""
        self.jobs.start(self.start)
        return self.told()

    # --- the parts of Ground and Setup that jobs use

    def look(self, node: NodeId, script: Script, *, within_s: float | None = None) -> tuple[Facts, Result]:
        if self.unreachable:
            raise HostError("did not answer", host=node)
        facts = Facts(list(self.launcher.items()))
        meanwhile, self.meanwhile = self.meanwhile, lambda: None
        meanwhile()
        return facts, Result(node, 0, "", self.stderr)

    def masters(self, cluster: LiveCluster) -> MasterAddresses:
        url = self.master.url
        return MasterAddresses(resource_manager=url, namenode=self.namenode or url, history=url, user="root")

    def kill_order(self, cluster: LiveCluster, application: str) -> Any:
        return AddressedOrder("10.98.1.1", 8032, kill_application(application))

    def kill_argv(self, cluster: LiveCluster, application: str) -> list[str]:
        return ["yarn", "-kill", application]

    def end_order(self, cluster: LiveCluster, attempt: str, at: str) -> Any:
        return AddressedOrder("10.98.1.2", 4000, kill_attempt(attempt)) if at else None

    def end_argv(self, cluster: LiveCluster, attempt: str) -> list[str]:
        return ["job", "-kill-task", attempt]

    def through(self, node: NodeId) -> Any:
        """A ResourceManager that does what it is told; ``orders`` has its ends of the connections."""
        if self.forwards_nothing:
            return refused

        def connect(address: str, port: int, limit_s: float) -> socket.socket:
            ours, theirs = socket.socketpair()
            theirs.sendall(CARRIED_OUT)
            self.orders.append(theirs)
            return ours

        return connect


def refused(address: str, port: int, limit_s: float) -> socket.socket:
    raise ConnectionError("forwarding is prohibited")


def lives(seen: Attempt) -> list[AppLife] | None:
    return None if seen.applications is None else [app.life for app in seen.applications]


def verdict(seen: Attempt, *, cancelling: bool = False, lasted: bool = False) -> Progress | None:
    """The core's verdict on the facts about an attempt that was begun."""
    outcome = judge(seen, began=True, cancelling=cancelling, lasted=lasted)
    return None if outcome is None else outcome.progress
