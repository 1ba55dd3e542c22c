"""Jobs and tasks that are done: each application that has ended counts once, whatever is asked and forgotten."""

from __future__ import annotations

from typing import Any

import pytest

from fawkes.live.eyes.measure import ReaderMemory
from tests.live.masters_server import APPS, HISTORY, Answer, Server, am, by_states, hangs_up, recorded, says, text
from tests.live.readings import NONE, ONE, app, live, read, said


def ended(*apps: dict[str, Any]) -> Any:
    return {"apps": {"app": list(apps)}}


def end(name: str, at_ms: int, status: str = "SUCCEEDED", state: str = "FINISHED") -> dict[str, Any]:
    return app(name, state=state, finalStatus=status, startedTime=at_ms - 1000, finishedTime=at_ms)


def test_ended_applications_are_counted_once(server: Server) -> None:
    memory = ReaderMemory()
    server.answers[APPS] = by_states(NONE, recorded("apps_ended.json"))
    assert [(r.jobs_done, r.tasks_done) for r in (read(server, memory), read(server, memory))] == [(3, 37)] * 2
    assert len(server.questions(HISTORY)) == 1
    since = [query["finishedTimeBegin"] for query in server.questions(APPS) if "finishedTimeBegin" in query]
    newest = max(row["finishedTime"] for row in recorded("apps_ended.json")["apps"]["app"])
    assert since == ["1", str(newest - 60_000)]


def test_jobs_that_failed_have_done_tasks_and_are_no_jobs_done(server: Server) -> None:
    apps = [
        end("application_1_1", 5000),
        end("application_1_2", 6000, "FAILED"),
        end("application_1_3", 7000, "KILLED", "KILLED"),
    ]
    server.answers[APPS] = by_states(NONE, ended(*apps))
    server.answers[HISTORY] = says(
        {"jobs": {"job": [{"id": f"job_1_{n}", "mapsCompleted": n, "reducesCompleted": 1} for n in (1, 2, 3)]}}
    )
    reading = read(server)
    assert (reading.jobs_done, reading.tasks_done) == (1, 2 + 3 + 4)


def test_a_history_of_one_job_comes_without_a_list(server: Server) -> None:
    """So Hadoop 3.5.0 writes it."""
    server.answers[APPS] = by_states(NONE, ended(end("application_1_1", 5000)))
    server.answers[HISTORY] = says({"jobs": {"job": {"id": "job_1_1", "mapsCompleted": 10, "reducesCompleted": 1}}})
    assert read(server).tasks_done == 11


@pytest.mark.parametrize("answer", [says({}, 500), text("<html>"), hangs_up])
def test_without_history_the_last_words_of_the_applicationmaster_count(server: Server, answer: Answer) -> None:
    memory = ReaderMemory()
    server.answers[APPS] = live(app())
    server.answers[am(ONE)] = said((10, 2, 5))
    assert read(server, memory).tasks_done == 5
    server.answers[APPS] = by_states(NONE, ended(end(ONE, 5000)))
    server.answers[HISTORY] = answer
    reading = read(server, memory)
    assert (reading.error, reading.jobs_done, reading.tasks_done) == ("", 1, 5)


def test_a_cluster_without_a_history_server(server: Server) -> None:
    server.answers[APPS] = by_states(NONE, ended(end(ONE, 5000)))
    assert read(server, history="").jobs_done == 1
    assert server.questions(HISTORY) == []


def test_tasks_done_never_go_back(server: Server) -> None:
    """A node that leaves takes map outputs with it; those maps run again and were done all the same."""
    memory = ReaderMemory()
    server.answers[APPS] = live(app())
    counts = []
    for done in (5, 8, 6):
        server.answers[am(ONE)] = said((10, 2, done))
        counts.append(read(server, memory).tasks_done)
    assert counts == [5, 8, 8]


def test_an_application_that_is_live_and_ended_at_once_counts_once(server: Server) -> None:
    memory = ReaderMemory()
    server.answers[APPS] = live(app(), ended=ended(end(ONE, 5000)))
    server.answers[am(ONE)] = said((10, 0, 10))
    server.answers[HISTORY] = says({"jobs": {"job": {"id": ONE.replace("application", "job"), "mapsCompleted": 10}}})
    readings = [read(server, memory) for _ in range(3)]
    assert [(r.tasks_done, r.jobs_done, r.jobs_running, r.jobs_waiting) for r in readings] == [(10, 1, 0, 0)] * 3
    assert [(r.tasks_waiting, r.tasks_running, r.node_masters) for r in readings] == [(0, 0, {})] * 3


def test_what_ended_long_ago_is_forgotten_and_not_counted_again(server: Server) -> None:
    memory = ReaderMemory()
    for number in range(1, 4):
        server.answers[APPS] = by_states(NONE, ended(end(f"application_1_{number}", number * 1_000_000)))
        assert read(server, memory).jobs_done == number
    assert list(memory.counted) == ["application_1_3"]


def test_an_application_that_yarn_forgot_leaves_the_memory(server: Server) -> None:
    memory = ReaderMemory()
    server.answers[APPS] = live(app())
    server.answers[am(ONE)] = said((10, 2, 5))
    read(server, memory)
    server.answers[APPS] = says(NONE)
    read(server, memory)
    assert memory.tasks == {}
