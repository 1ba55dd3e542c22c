from __future__ import annotations

import threading
from pathlib import PurePosixPath
from typing import Any

import pytest

from fawkes.base.errors import ElsewhereError, FawkesError, HostError, UserError
from fawkes.config.clusters.details import JobDetails
from fawkes.core.values.effects import StartJob
from fawkes.core.values.events import Progress
from fawkes.core.values.model import ClusterId, JobId, JobSpec, NodeId
from fawkes.core.values.sight import AppLife, Attempt, Launcher, Resumes
from fawkes.live.jobs import half_done
from fawkes.live.nodes.upload import streaming_words
from fawkes.live.wire.webhdfs import Hdfs
from tests.live.fake_hdfs import running as running_hdfs
from tests.live.job_bench import APPS, INFO, MASTER, Bench, C, lives, verdict
from tests.live.played import live_cluster
from tests.support.stub import Stub

# --- begun once


def test_a_job_is_begun_once_and_how_it_stands_is_told_once(bench: Bench) -> None:
    (seen,) = bench.begin()
    assert (seen.launcher, seen.applications, seen.error) == (Launcher.RUNNING, (), "")
    assert bench.seen() + bench.seen() == []
    bench.begin()
    assert bench.did == ["starting a job"]


def test_a_controller_that_has_just_started_finds_what_was_begun(bench: Bench) -> None:
    bench.begin()
    bench.yarn("RUNNING")
    bench.jobs = bench.controller()
    (seen,) = bench.begin()
    assert (seen.launcher, lives(seen)) == (Launcher.RUNNING, [AppLife.LIVE])
    assert bench.did == ["starting a job"]


@pytest.mark.parametrize("state", ["running", "finished", "lost", "", "of another kind"])
def test_what_was_begun_or_may_have_been_is_not_begun_again(bench: Bench, state: str) -> None:
    bench.launcher = {"state": state} if state else {}
    (seen,) = bench.begin()
    assert bench.did == []
    assert (seen.launcher is Launcher.NOT_KNOWN) is (state not in ("running", "finished", "lost"))


@pytest.mark.parametrize("states", [("RUNNING",), ("KILLED",), ("FAILED", "RUNNING")])
def test_what_yarn_knows_of_is_not_begun_again(bench: Bench, states: tuple[str, ...]) -> None:
    """The folder of the launcher may be gone with its disk; its applications are not."""
    bench.yarn(*states)
    (seen,) = bench.begin()
    assert bench.did == []
    assert (seen.launcher, len(seen.applications or ())) == (Launcher.ABSENT, len(states))


@pytest.mark.parametrize(
    "info",
    [{"haState": "STANDBY"}, {"haState": "INITIALIZING"}, {"state": "INITED"}, {"state": None}, {"startedOn": None}],
)
def test_nothing_begins_before_the_resourcemanager_has_finished_its_recovery(
    bench: Bench, info: dict[str, object]
) -> None:
    """Its web server lists no application then, although it will know of some in a moment."""
    bench.recovered(**info)
    (seen,) = bench.begin()
    assert bench.did == []
    assert seen.applications is None
    assert "has not finished its recovery" in seen.error
    bench.yarn("RUNNING")
    bench.recovered()
    (seen,) = bench.begin()
    assert (bench.did, lives(seen), seen.error) == ([], [AppLife.LIVE], "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("states", "makes_way"),
    [(("FAILED",), True), (("KILLED",), True), (("FINISHED",), False), (("FAILED", "FAILED"), False), ((), False)],
)
def test_what_a_failed_attempt_has_written_is_no_longer_in_the_way(
    master: Stub, states: tuple[str, ...], makes_way: bool
) -> None:
    """Only of an attempt with one application: a program of several may go on with what it made."""
    with running_hdfs() as hdfs:
        hdfs.put("/out/part-0", b"half")
        bench = Bench(master)
        bench.namenode = hdfs.masters().namenode
        bench.yarn(*states)
        before, nothing = master.answers[APPS], {"apps": None}
        # By their tags: the new attempt has none, the one before has these.
        answers = iter([nothing, before])
        master.answers[APPS] = lambda: next(answers, nothing)
        conf = [{"name": "a", "value": "b"}, {"name": half_done.OUTPUT, "value": "hdfs://10.0.0.1:8020/out"}]
        master.answers["/ws/v1/history/mapreduce/jobs/job_1_1/conf"] = {"conf": {"property": conf}}
        bench.jobs.start(StartJob(bench.spec.id, C, 2, bench.spec))
        left = [file.path for file in Hdfs.of(hdfs.masters()).below("/") if not file.folder]
    assert left == (["/staging/u/.staging/job_1_1/output/part-0"] if makes_way else ["/out/part-0"])
    assert bench.did == ["starting a job"]


@pytest.mark.slow
def test_an_attempt_begins_although_nobody_knows_what_the_one_before_wrote(bench: Bench, master: Stub) -> None:
    bench.yarn("FAILED")
    answers = iter([{"apps": None}, master.answers[APPS]])
    master.answers[APPS] = lambda: next(answers, {"apps": None})
    master.answers["/ws/v1/history/mapreduce/jobs/job_1_1/conf"] = {"no": "configuration"}
    bench.jobs.start(StartJob(bench.spec.id, C, 2, bench.spec))
    assert bench.did == ["starting a job"]


def test_nothing_begins_when_the_resourcemanager_was_started_anew_while_it_answered(bench: Bench, master: Stub) -> None:

    def restarted() -> object:
        bench.recovered(startedOn=2)
        return {"apps": None}

    master.answers[APPS] = restarted
    (seen,) = bench.begin()
    assert (bench.did, seen.applications) == ([], None)
    assert "was restarted in between" in seen.error


@pytest.mark.parametrize("path", [APPS, INFO])
def test_nothing_begins_while_yarn_does_not_answer(bench: Bench, master: Stub, path: str) -> None:
    del master.answers[path]
    (seen,) = bench.begin()
    assert (bench.did, seen.applications, seen.error != "") == ([], None, True)


def test_a_look_that_began_before_the_job_did_does_not_say_that_it_is_gone(master: Stub) -> None:
    """A round met the moment before the start: told after it, a script's attempt would have failed, and be retried."""
    bench = Bench(master, "script")
    bench.jobs._watch(bench.start, JobDetails.of(bench.spec.details))
    bench.meanwhile = lambda: bench.jobs.start(bench.start)
    assert [seen.launcher for seen in bench.seen()] == [Launcher.RUNNING]
    bench.launcher = {"state": "finished", "exit": "0"}
    assert [seen.launcher for seen in bench.seen()] == [Launcher.FINISHED]


# --- told


def test_how_an_attempt_stands_is_told_when_it_changes(bench: Bench) -> None:
    bench.begin()
    bench.yarn("RUNNING")
    (seen,) = bench.seen()
    assert seen.applications is not None
    (app,) = seen.applications
    assert (app.id, app.life, app.started_us, app.finished_us) == ("application_1_1", AppLife.LIVE, 1000, None)
    assert bench.seen() == []
    bench.yarn("FINISHED")
    bench.launcher = {"state": "finished", "exit": "0", "began_us": "5", "ended_us": "7"}
    (seen,) = bench.seen()
    assert (seen.launcher, seen.exit, seen.began_us, seen.ended_us) == (Launcher.FINISHED, 0, 5, 7)
    assert seen.applications is not None
    assert (seen.applications[0].life, seen.applications[0].finished_us) == (AppLife.SUCCEEDED, 11_000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "profile", "own", "single"),
    [
        ("script", None, True, False),
        ("script", {"maps": 1}, False, True),
        ("pig", None, True, False),
        ("streaming", None, False, True),
        ("class", None, False, False),
    ],
)
def test_it_is_told_whether_a_command_is_its_application(
    master: Stub, kind: str, profile: dict[str, int] | None, own: bool, single: bool
) -> None:
    (seen,) = Bench(master, kind, profile).begin()
    assert (seen.own, seen.single) == (own, single)


def test_a_job_whose_end_was_judged_is_watched_no_more(bench: Bench) -> None:
    bench.begin()
    bench.launcher = {"state": "finished", "exit": "0"}
    assert [verdict(seen) for seen in bench.seen()] == [Progress.SUCCEEDED]
    bench.launcher = {"state": "lost"}
    assert bench.seen() == []


def test_a_client_that_was_killed_has_not_ended_its_job(master: Stub) -> None:
    for kind, profile in (("class", None), ("script", {"maps": 1})):
        bench = Bench(master, kind, profile)
        bench.begin()
        bench.launcher = {"state": "finished", "exit": "137"}
        bench.yarn("RUNNING")
        assert [verdict(seen) for seen in bench.seen()] == [Progress.RUNNING]
        bench.yarn("FINISHED")
        assert [verdict(seen) for seen in bench.seen()] == [Progress.SUCCEEDED]


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
    bench.begin()
    bench.yarn("FINISHED")
    bench.launcher = {"state": "finished", "exit": "5"}
    bench.stderr = f"ERROR streaming.StreamJob: Error Launching job : {said}\n"
    (seen,) = bench.seen()
    assert seen.lost_sight is said.endswith("job_1_1")
    assert verdict(seen) is progress


def test_files_of_a_streaming_job_are_those_on_the_master() -> None:
    details = JobDetails(kind="streaming", mapper="python3 m.py", files=("/home/me/m.py", "/home/me/words.txt"))
    words = streaming_words(details, PurePosixPath("/srv/job.1"), details.args)
    assert words[:2] == ["-files", "/srv/job.1/m.py,/srv/job.1/words.txt"]


def test_how_a_job_failed_is_not_known_while_yarn_does_not_answer(bench: Bench, master: Stub) -> None:
    bench.begin()
    bench.launcher = {"state": "finished", "exit": "1"}
    del master.answers[APPS]
    (seen,) = bench.seen()
    assert (seen.applications, verdict(seen)) == (None, None)
    bench.yarn("FAILED")
    (seen,) = bench.seen()
    assert (verdict(seen), seen.words) == (Progress.FAILED, "Task failed task_1_1_m_000007")
    assert seen.applications is not None
    assert seen.applications[0].said == "Task failed task_1_1_m_000007"


def test_a_failed_job_says_what_its_task_said(bench: Bench, master: Stub) -> None:
    bench.begin()
    bench.yarn("FAILED")
    bench.launcher = {"state": "finished", "exit": "1"}
    said = "Error: java.io.FileNotFoundException: Path is not a file: /words/more\n\tat java.base"
    attempts = [{"state": "FAILED", "diagnostics": said}, {"state": "KILLED", "diagnostics": "Container killed"}]
    path = "/ws/v1/history/mapreduce/jobs/job_1_1/tasks/task_1_1_m_000007/attempts"
    master.answers[path] = {"taskAttempts": {"taskAttempt": attempts}}
    (seen,) = bench.seen()
    why = "Task failed task_1_1_m_000007: java.io.FileNotFoundException: Path is not a file: /words/more"
    assert seen.words == why


@pytest.mark.parametrize("state", ["FINISHED", "FAILED"])
def test_the_last_words_of_an_applicationmaster_say_how_tasks_went_on(bench: Bench, state: str) -> None:
    bench.begin()
    words = "Tasks that went on: 2, after 7000 ms without a container and 31 ms of reading what was saved"
    bench.yarn(state, "FINISHED", diagnostics=["task 1 failed\n" + words])
    (seen,) = bench.seen()
    assert [app.resumes for app in seen.applications or ()] == [Resumes(2, 7_000_000, 31_000), None]


def test_a_job_without_an_application_says_what_its_client_said(bench: Bench) -> None:
    bench.begin()
    bench.launcher = {"state": "finished", "exit": "1"}
    bench.stderr = 'Exception in thread "main" Input path does not exist: /nowhere\n\tat org.apache.Main\n'
    (seen,) = bench.seen()
    assert seen.words == 'Exception in thread "main" Input path does not exist: /nowhere'


def test_a_master_that_cannot_be_reached_says_nothing_about_its_jobs(bench: Bench) -> None:
    bench.begin()
    bench.unreachable = True
    assert bench.seen() == [Attempt()]
    assert bench.seen() == []
    bench.unreachable = False
    bench.launcher = {"state": "lost"}
    assert [verdict(seen, lasted=True) for seen in bench.seen()] == [Progress.FAILED]


def test_an_mr_cluster_that_is_gone_says_nothing_any_more(bench: Bench) -> None:
    bench.begin()
    bench.clusters.remove(C)
    bench.launcher = {"state": "lost"}
    assert bench.seen() == []
    assert bench.jobs._watched == {}


# --- what could not be done


def test_a_job_of_an_mr_cluster_that_nobody_knows_is_not_begun(bench: Bench) -> None:
    bench.clusters.remove(C)
    with pytest.raises(FawkesError, match="c is not running"):
        bench.jobs.start(bench.start)
    assert (bench.did, bench.told()) == ([], [])


def test_what_could_not_be_begun_is_told_and_begun_when_it_is_asked_for_again(master: Stub) -> None:
    bench = Bench(master, "script")
    bench.unreachable = True
    with pytest.raises(HostError) as raised:
        bench.jobs.start(bench.start)
    bench.jobs.refused(bench.start, raised.value)
    (seen,) = bench.told()
    assert (seen.launcher, seen.applications, seen.refused) == (Launcher.NOT_KNOWN, None, "")
    assert "did not answer" in seen.error
    assert verdict(seen) is None
    bench.unreachable = False
    assert [attempt.launcher for attempt in bench.begin()] == [Launcher.RUNNING]
    assert bench.did == ["starting a job"]


def test_what_can_never_begin_is_refused(master: Stub) -> None:
    bench = Bench(master, "script")
    bench.jobs.refused(bench.start, UserError("there is no such file", where="app.jar"))
    (seen,) = bench.told()
    assert seen == Attempt(refused="app.jar: there is no such file")
    assert verdict(seen) is Progress.REFUSED


def test_a_cancellation_that_fails_refuses_nothing(bench: Bench) -> None:
    """The job may run: only its start can be refused for good."""
    bench.jobs.refused(bench.cancel, UserError("its name is no file name", where="job"))
    assert bench.told() == [Attempt(error="job: its name is no file name")]


def test_a_controller_that_was_replaced_tells_nothing(bench: Bench) -> None:
    bench.jobs.refused(bench.start, ElsewhereError("another controller has taken over"))
    assert bench.told() == []


# --- cancelled


@pytest.mark.slow
def test_a_cancelled_job_ends_when_its_applications_have(bench: Bench) -> None:
    bench.begin()
    bench.yarn("RUNNING")
    bench.jobs.cancel(bench.cancel)
    (order,) = bench.orders
    assert b"forceKillApplication" in (sent := order.recv(4096))
    assert sent.endswith(b"\x06\x0a\x04\x08\x01\x10\x01")  # the id: number 1 of the ResourceManager of time 1
    bench.told()
    bench.launcher = {"state": "finished", "exit": "143", "cancelled": "yes"}
    (seen,) = bench.seen()
    assert (seen.cancelled, verdict(seen, cancelling=True)) == (True, Progress.RUNNING)
    bench.yarn("KILLED")
    (seen,) = bench.seen()
    assert verdict(seen, cancelling=True) is Progress.CANCELLED
    assert bench.jobs._watched == {}


def test_a_job_is_cancelled_by_the_client_where_sshd_forwards_nothing(bench: Bench) -> None:
    bench.begin()
    bench.yarn("RUNNING")
    bench.forwards_nothing = True
    bench.jobs.cancel(bench.cancel)
    assert bench.did[-1] == "killing application_1_1"


def test_a_job_that_is_cancelled_before_it_could_begin_is_cancelled(bench: Bench) -> None:
    bench.jobs.refused(bench.start, FawkesError("not now"))
    bench.told()
    bench.jobs.cancel(bench.cancel)
    (seen,) = bench.told()
    assert verdict(seen, cancelling=True) is Progress.CANCELLED
    assert bench.did == ["cancelling a job"]


@pytest.mark.slow
def test_a_cancelled_job_has_not_ended_while_yarn_does_not_answer(bench: Bench) -> None:
    bench.begin()
    bench.recovered(haState="STANDBY")
    with pytest.raises(FawkesError, match="has not finished its recovery"):
        bench.jobs.cancel(bench.cancel)
    bench.launcher = {"state": "finished", "exit": "143", "cancelled": "yes"}
    (seen,) = bench.seen()
    assert (seen.applications, verdict(seen, cancelling=True)) == (None, None)
    bench.recovered()
    assert [verdict(seen, cancelling=True) for seen in bench.seen()] == [Progress.CANCELLED]


def test_jobs_of_many_mr_clusters_that_hang_keep_no_other_one_from_being_looked_at(master: Stub) -> None:
    let, looks = threading.Event(), threading.Semaphore(0)

    class Hanging(Bench):
        def look(self, node: NodeId, script: object, *, within_s: float | None = None) -> Any:
            looks.release()
            assert let.wait(60)
            raise HostError("it does not answer", host=node)

    bench = Hanging(master)
    details = JobDetails(kind="class", main_class="Main")
    names = [f"c{number:02}" for number in range(31)]
    for name in names:
        of, job = ClusterId(name), JobId(f"job-{name}")
        bench.clusters._put(live_cluster(of, MASTER, {}, ready=True, working=True))
        bench.jobs._watch(StartJob(job, of, 1, JobSpec(id=job, cluster=of, details=details.plain())), details)
    try:
        bench.jobs.round()
        assert all(looks.acquire(timeout=20) for _ in names)
    finally:
        let.set()
        bench.jobs.close()
