"""Sentences of jobs of which nothing moves, and of tasks that have lost their containers."""

from __future__ import annotations

from fawkes.base.units import show_time
from fawkes.core.values.model import Reason

STANDS = [
    *(
        (
            Reason("job-stands", {"job": "j", "cluster": "c", "since_us": 0, "waits_for": what, **facts}),
            f"Nothing of job j has moved since {show_time(0)}: {words}",
        )
        for what, facts, words in (
            ("client", {}, "YARN has no application of it yet; its client, or its command, runs"),
            (
                "master",
                {"held": 7, "slots": 8},
                "its application waits for the container of its ApplicationMaster (7 of 8 slots are held)",
            ),
            ("master", {}, "its application waits for the container of its ApplicationMaster"),
            (
                "answer",
                {},
                "its ApplicationMaster does not answer; the ResourceManager starts another one if that lasts",
            ),
            (
                "strays",
                {"tasks": 2, "nodes": ["n1", "n2"]},
                "2 of its tasks ran on n[1-2] in containers that are gone; Fawkes ends them, and they begin again",
            ),
            (
                "tasks",
                {"tasks": 3},
                "3 of its tasks run and report no progress; Hadoop ends tasks of MapReduce that do so for longer than "
                "mapreduce.task.timeout",
            ),
            (
                "room",
                {"tasks": 2, "held": 7, "slots": 8},
                "2 of its tasks wait for room, and none runs (7 of 8 slots are held)",
            ),
            ("end", {}, "all of its tasks have ended; its ApplicationMaster commits its output"),
        )
    ),
    (Reason("job-goes-on", {"job": "j", "cluster": "c"}), "Job j goes on"),
    (
        Reason(
            "stray-tasks",
            {"cluster": "c", "jobs": ["j", "k"], "tasks": 3, "nodes": ["n1", "n2"], "lasted_us": 20_000_000},
        ),
        "3 tasks of j, k on n[1-2]: c's ResourceManager has not known their containers for 20s, so they are ended and "
        "begin again",
    ),
    (
        Reason("strays-stay", {"cluster": "c", "error": "no answer"}),
        "Tasks of c that have lost their containers could not be ended (no answer); they are tried again",
    ),
]
