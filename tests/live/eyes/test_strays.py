"""Tasks that lost their containers: found by an ApplicationMaster and its ResourceManager, and ended."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fawkes.core.values.model import NodeId
from fawkes.core.values.sight import Stray, Work
from fawkes.live.eyes.strays import strays_of
from fawkes.live.wire.hadoop_rpc import kill_attempt
from fawkes.live.wire.rest import Deadline, UnreadableError
from tests.live.masters_server import APPS, Server, am, hangs_up, says
from tests.live.readings import ONE, app, job, live, read

JOB = ONE.replace("application", "job", 1)
TASKS = f"{am(ONE)}/{JOB}/tasks"
TRIES = f"{APPS}/{ONE}/appattempts"
#: the second ApplicationMaster of the application counts
LATEST = f"{TRIES}/appattempt_2/containers"


def task(number: int, state: str = "RUNNING") -> dict[str, Any]:
    return {"id": f"task_{number}", "state": state}


def attempt(number: int, node: str, *, state: str = "RUNNING", container: str = "") -> dict[str, Any]:
    row = {"id": f"attempt_1_1_m_{number}_0", "state": state, "nodeHttpAddress": f"{node}:8042"}
    return row | {"assignedContainerId": container or f"container_e01_{number}"}


def working(server: Server, *attempts: dict[str, Any], known: tuple[str, ...] = ()) -> None:
    """A job whose running tasks have these attempts, one each; the ResourceManager knows these containers."""
    server.answers[TASKS] = says(
        {"tasks": {"task": [task(99, "SUCCEEDED"), task(98, "SCHEDULED"), *(task(n) for n, _ in enumerate(attempts))]}}
    )
    for number, row in enumerate(attempts):
        server.answers[f"{TASKS}/task_{number}/attempts"] = says({"taskAttempts": {"taskAttempt": [row]}})
    server.answers[TRIES] = says({"appAttempts": {"appAttempt": [{"appAttemptId": f"appattempt_{n}"} for n in (1, 2)]}})
    server.answers[LATEST] = says({"container": [{"containerId": name} for name in known]})


def test_an_attempt_strays_when_nobody_knows_its_container(server: Server) -> None:
    working(
        server,
        attempt(1, "h1"),
        attempt(2, "h2"),
        attempt(3, "h2", state="COMMIT_PENDING"),
        attempt(4, "h3", state="STARTING"),
        attempt(5, "h3", state="KILLED"),
        known=("container_e01_1", "container_e02_2"),
    )
    strays = strays_of(server.masters(), ONE, Deadline.after(20))
    assert strays == (Stray("attempt_1_1_m_2_0", NodeId("node02")), Stray("attempt_1_1_m_3_0", NodeId("node02")))


@pytest.mark.parametrize("path", [TASKS, f"{TASKS}/task_0/attempts", TRIES, LATEST])
def test_without_one_of_the_answers_nothing_is_known(server: Server, path: str) -> None:
    working(server, attempt(1, "h1"))
    server.answers[path] = hangs_up
    with pytest.raises(UnreadableError):
        strays_of(server.masters(), ONE, Deadline.after(20))


def test_an_application_without_an_applicationmaster_is_not_known(server: Server) -> None:
    working(server, attempt(1, "h1"))
    server.answers[TRIES] = says({"appAttempts": {}})
    with pytest.raises(UnreadableError, match="names no ApplicationMaster"):
        strays_of(server.masters(), ONE, Deadline.after(20))


def test_a_list_without_any_container_is_no_answer(server: Server) -> None:
    """An ApplicationMaster that answers has a container itself; else all tasks of it would be ended."""
    working(server, attempt(1, "h1"))
    with pytest.raises(UnreadableError, match="names no container"):
        strays_of(server.masters(), ONE, Deadline.after(20))


def reading(server: Server, containers: int, **changes: Any) -> None:
    """The job has 2 running maps by its ApplicationMaster, and so many containers, its own included."""
    master = "h1:8042"
    tags = "fawkes-j1-1"
    row = app(runningContainers=containers, amHostHttpAddress=master, applicationTags=tags, progress=5.0)
    server.answers[APPS] = live(row)
    server.answers[am(ONE)] = says({"jobs": {"job": [job((4, 2, 1)) | {"mapProgress": 25.0} | changes]}})
    working(server, attempt(1, "h1"), attempt(2, "h2"), known=("container_e01_1",))


STRAY = (Stray("attempt_1_1_m_2_0", NodeId("node02")),)


@pytest.mark.parametrize(
    ("containers", "changes", "strays"),
    [
        (2, {}, STRAY),
        (1, {}, STRAY),
        (3, {}, ()),
        (2, {"uberized": True}, ()),
        (2, {"mapsRunning": 1}, ()),
    ],
)
def test_a_reading_looks_where_more_tasks_run_than_there_are_containers(
    server: Server, containers: int, changes: dict[str, Any], strays: tuple[Stray, ...]
) -> None:
    reading(server, containers, **changes)
    measured = read(server)
    assert (measured.strays, measured.silent) == (strays, ())


@pytest.mark.parametrize("path", [am(ONE), TASKS])
def test_a_reading_says_of_which_applications_it_knows_nothing(server: Server, path: str) -> None:
    reading(server, 2)
    server.answers[path] = hangs_up
    server.answers[f"{APPS}/{ONE}"] = says({"app": app()})
    measured = read(server)
    assert (measured.strays, measured.silent) == ((), (ONE,))


def test_a_reading_says_how_far_a_job_is(server: Server) -> None:
    reading(server, 3)
    known = Work(tag="fawkes-j1-1", application=ONE, master=True)
    assert read(server).work == (replace(known, waiting=1, running=2, done=1, progress=25.0),)
    server.answers[am(ONE)] = hangs_up
    server.answers[f"{APPS}/{ONE}"] = says({"app": app()})
    assert read(server).work == (known,)


def test_applications_with_one_tag_are_one_work(server: Server) -> None:
    two = "application_1795220018027_0002"
    rows = [app(name, amHostHttpAddress="h1:8042", applicationTags="fawkes-j1-1") for name in (ONE, two)]
    server.answers[APPS] = live(*rows)
    for name in (ONE, two):
        server.answers[am(name)] = says({"jobs": {"job": [job((4, 2, 1)) | {"mapProgress": 25.0}]}})
    (work,) = read(server).work or ()
    assert (work.application, work.running, work.done, work.progress) == (ONE, 4, 2, 50.0)


def test_the_order_to_end_an_attempt_names_it() -> None:
    order = kill_attempt("attempt_300_0002_r_000005_1")
    assert order.method == "killTaskAttempt"
    job_of = b"\x0a\x05\x08\x02\x10\xac\x02" + b"\x10\x02"
    task_of = b"\x0a\x09" + job_of + b"\x10\x02\x18\x05"
    assert order.message == b"\x0a\x13\x0a\x0f" + task_of + b"\x10\x01"


@pytest.mark.parametrize("name", ["task_300_0002_r_000005_1", "attempt_300_0002_x_000005_1", "attempt_1"])
def test_no_order_is_made_of_what_names_no_attempt(name: str) -> None:
    with pytest.raises(ValueError, match=r"attempt|unpack"):
        kill_attempt(name)
