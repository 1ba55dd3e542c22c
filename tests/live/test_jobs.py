from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fawkes.config.details import ClusterDetails, JobDetails
from fawkes.core.effects import CancelJob, Goal, Member, StartJob
from fawkes.core.events import JobObserved, Progress
from fawkes.core.model import ClusterId, ClusterSpec, JobId, JobSpec, NodeId, Role
from fawkes.errors import FawkesError, HostError, UserError
from fawkes.live.clusters import Clusters, LiveCluster
from fawkes.live.ground import Ground
from fawkes.live.jobs import Jobs
from fawkes.live.masters import MasterAddresses
from fawkes.live.post import Mailbox
from fawkes.live.setup import Setup, _streaming
from fawkes.live.timers import Clock
from fawkes.live.upload import Upload
from fawkes.playbook import Facts, Folders
from tests.support.stub import Stub, stub_master

C = ClusterId("c")
MASTER = NodeId("node01")
APPS = "/ws/v1/cluster/apps"


class Bench:
    """One job on one MR-cluster; the test says how its launcher and YARN look."""

    def __init__(self, master: Stub, kind: str, profile: dict[str, int] | None = None) -> None:
        self.master = master
        self.launcher: dict[str, str] = {"state": "absent"}
        self.stderr = ""
        self.did: list[str] = []
        self.unreachable = False
        self.mailbox = Mailbox(Clock())
        clusters = Clusters()
        spec = ClusterSpec(id=C, min_nodes=1, replication=1, details=ClusterDetails().plain())
        members = {MASTER: Member(Goal.SERVING, Role.CORE, 1)}
        clusters._put(LiveCluster(spec, ClusterDetails(), MASTER, members, ready=True, working=True))
        details = JobDetails(kind=kind, command="true", main_class="Main", profile=profile or {}).plain()
        job = JobSpec(id=JobId("job"), cluster=C, details=details)
        self.start = StartJob(job.id, C, 1, job)
        self.cancel = CancelJob(job.id, C, 1)
        self.jobs = Jobs(
            cast(Ground, self), clusters, cast(Setup, self), self.mailbox, cast(Upload, SimpleNamespace(job_files=_no))
        )
        self.yarn()

    def yarn(self, *states: str) -> None:
        """What the ResourceManager knows: applications in these states."""
        rows = [
            {
                "id": f"application_1_{n}",
                "state": state,
                "finalStatus": {"FINISHED": "SUCCEEDED", "RUNNING": "UNDEFINED"}.get(state, state),
                "diagnostics": "Task failed task_1_1_m_000007\nJob failed" if state == "FAILED" else "",
                "startedTime": n,
                "finishedTime": 0 if state == "RUNNING" else 10 + n,
            }
            for n, state in enumerate(states, 1)
        ]
        self.master.answers[APPS] = {"apps": {"app": rows} if rows else None}

    def seen(self) -> list[JobObserved]:
        """What was told after one more round."""
        self.jobs.round()
        for look in self.jobs._looks.values():
            look.result(timeout=60)
        self.mailbox.end()
        found = []
        while (event := self.mailbox.take()) is not None:
            assert isinstance(event, JobObserved)
            found.append(event)
        return found

    # --- the parts of Ground and Setup that jobs use

    def look(self, node: NodeId, script: object, *, within_s: float) -> Any:
        return Facts(list(self.launcher.items())), SimpleNamespace(stderr=self.stderr)

    def run(self, node: NodeId, script: object, doing: str) -> Facts:
        if self.unreachable:
            raise HostError("did not answer", host=node)
        self.did.append(doing)
        return Facts([])

    def folders(self, node: NodeId, cluster: ClusterId) -> Folders:
        return Folders(work_dir=self.nodes[node].work_dir, cluster=cluster)

    nodes: Any = {MASTER: SimpleNamespace(work_dir=PurePosixPath("/srv/fawkes"))}
    identity: Any = SimpleNamespace(pool="pool", epoch=1, controller="controller")

    def lease(self, node: NodeId, cluster: ClusterId, generation: int) -> Any:
        return Ground.lease(cast(Ground, self), node, cluster, generation)

    def masters(self, cluster: LiveCluster) -> MasterAddresses:
        url = self.master.url
        return MasterAddresses(resource_manager=url, namenode=url, history=url, user="root")

    def job_command(self, cluster: LiveCluster, effect: StartJob, details: JobDetails) -> Any:
        return SimpleNamespace(argv=["true"], env={}, conf={})


def _no(*args: object) -> None:
    """There are no files to bring."""


@pytest.fixture
def master() -> Iterator[Stub]:
    with stub_master() as stub:
        yield stub


def test_a_script_runs_from_its_start_an_application_from_yarn_s(master: Stub) -> None:
    for kind, progress in (("script", [Progress.RUNNING]), ("class", [])):
        bench = Bench(master, kind)
        bench.jobs.start(bench.start)
        bench.launcher = {"state": "running"}
        assert [event.progress for event in bench.seen()] == progress


def test_an_attempt_that_was_begun_is_not_begun_again(master: Stub) -> None:
    bench = Bench(master, "class")
    bench.yarn("RUNNING")
    bench.jobs.start(bench.start)
    bench.launcher = {"state": "running"}
    assert bench.did == []
    assert [(e.progress, e.application) for e in bench.seen()] == [(Progress.RUNNING, "application_1_1")]


def test_a_client_that_was_killed_has_not_ended_its_job(master: Stub) -> None:
    bench = Bench(master, "class")
    bench.jobs.start(bench.start)
    bench.launcher = {"state": "finished", "exit": "137"}
    bench.yarn("RUNNING")
    assert [event.progress for event in bench.seen()] == [Progress.RUNNING]
    bench.yarn("FINISHED")
    assert [event.progress for event in bench.seen()] == [Progress.SUCCEEDED]


@pytest.mark.parametrize(
    ("kind", "said", "progress"),
    [
        ("streaming", "java.io.IOException: Unknown Job job_1_1", Progress.SUCCEEDED),
        ("streaming", "java.io.IOException: Unknown Job job_1_2", Progress.FAILED),
        ("streaming", "java.io.IOException: the disk is full", Progress.FAILED),
        ("class", "java.io.IOException: Unknown Job job_1_1", Progress.FAILED),
    ],
)
def test_yarn_decides_when_the_history_server_did_not_know_the_only_application(
    master: Stub, kind: str, said: str, progress: Progress
) -> None:
    bench = Bench(master, kind)
    bench.jobs.start(bench.start)
    bench.yarn("FINISHED")
    bench.launcher = {"state": "finished", "exit": "5"}
    bench.stderr = f"ERROR streaming.StreamJob: Error Launching job : {said}\n"
    assert [event.progress for event in bench.seen()] == [progress]


def test_a_load_job_whose_client_was_lost_ended_as_its_application(master: Stub) -> None:
    bench = Bench(master, "script", {"maps": 1})
    bench.jobs.start(bench.start)
    bench.launcher = {"state": "running"}
    assert bench.seen() == []
    bench.launcher = {"state": "finished", "exit": "137"}
    bench.yarn("RUNNING")
    assert [event.progress for event in bench.seen()] == [Progress.RUNNING]
    bench.yarn("FINISHED")
    assert [event.progress for event in bench.seen()] == [Progress.SUCCEEDED]


def test_files_of_a_streaming_job_are_those_on_the_master() -> None:
    details = JobDetails(kind="streaming", mapper="python3 m.py", files=("/home/me/m.py", "/home/me/words.txt"))
    words = _streaming(details, PurePosixPath("/srv/job.1"), details.args)
    assert words[:2] == ["-files", "/srv/job.1/m.py,/srv/job.1/words.txt"]


def test_how_a_job_failed_is_not_known_while_yarn_does_not_answer(master: Stub) -> None:
    bench = Bench(master, "class")
    bench.jobs.start(bench.start)
    bench.launcher = {"state": "finished", "exit": "1"}
    del master.answers[APPS]
    assert bench.seen() == []
    bench.yarn("FAILED")
    (end,) = bench.seen()
    assert (end.progress, end.error) == (Progress.FAILED, "Task failed task_1_1_m_000007")
    assert end.log == "fawkes logs c --job job"


def test_a_failed_job_says_what_its_task_said(master: Stub) -> None:
    bench = Bench(master, "class")
    bench.jobs.start(bench.start)
    bench.yarn("FAILED")
    bench.launcher = {"state": "finished", "exit": "1"}
    said = "Error: java.io.FileNotFoundException: Path is not a file: /words/more\n\tat java.base"
    attempts = [{"state": "FAILED", "diagnostics": said}, {"state": "KILLED", "diagnostics": "Container killed"}]
    path = "/ws/v1/history/mapreduce/jobs/job_1_1/tasks/task_1_1_m_000007/attempts"
    master.answers[path] = {"taskAttempts": {"taskAttempt": attempts}}
    (end,) = bench.seen()
    why = "Task failed task_1_1_m_000007: java.io.FileNotFoundException: Path is not a file: /words/more"
    assert end.error == why


def test_a_job_without_an_application_says_what_its_client_said(master: Stub) -> None:
    bench = Bench(master, "class")
    bench.jobs.start(bench.start)
    bench.launcher = {"state": "finished", "exit": "1"}
    bench.stderr = 'Exception in thread "main" Input path does not exist: /nowhere\n\tat org.apache.Main\n'
    (end,) = bench.seen()
    assert end.error == 'Exception in thread "main" Input path does not exist: /nowhere'


def test_what_could_not_be_begun_is_begun_with_the_next_round(master: Stub) -> None:
    bench = Bench(master, "script")
    bench.unreachable = True
    with pytest.raises(HostError) as raised:
        bench.jobs.start(bench.start)
    bench.jobs.refused(bench.start, raised.value)
    assert bench.seen() == []
    bench.unreachable = False
    bench.seen()
    assert bench.did == ["starting a job"]


def test_what_can_never_begin_is_refused(master: Stub) -> None:
    bench = Bench(master, "script")
    bench.jobs.refused(bench.start, UserError("there is no such file", where="app.jar"))
    (end,) = bench.seen()
    assert (end.progress, end.error) == (Progress.REFUSED, "app.jar: there is no such file")


def test_a_cancelled_job_ends_when_its_applications_have(master: Stub) -> None:
    bench = Bench(master, "class")
    bench.yarn("RUNNING")
    bench.jobs.start(bench.start)
    bench.jobs.cancel(bench.cancel)
    assert master.puts == [f"{APPS}/application_1_1/state"]
    bench.launcher = {"state": "finished", "exit": "143", "cancelled": "yes"}
    assert [event.progress for event in bench.seen()] == [Progress.RUNNING]
    bench.yarn("KILLED")
    assert [event.progress for event in bench.seen()] == [Progress.CANCELLED]


def test_a_job_that_is_cancelled_before_it_could_begin_is_cancelled(master: Stub) -> None:
    bench = Bench(master, "class")
    bench.jobs.refused(bench.start, FawkesError("not now"))
    bench.jobs.cancel(bench.cancel)
    assert [event.progress for event in bench.seen()] == [Progress.CANCELLED]
    assert bench.did == ["cancelling a job"]
