"""Submissions to the controller: what no job file could say is refused, by the key and before it is an event."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.errors import UserError
from fawkes.cli.replay.stage import load_job
from fawkes.config.jobs.jobs import load_jobs
from fawkes.core.values.model import JobSpec
from fawkes.live.controller.asks import read_body
from fawkes.sim.hadoop.profile import Profile
from fawkes.store.record import from_plain, to_plain
from tests.config.support import write

JOB = {"id": "j-1", "cluster": "c-1", "details": {"kind": "script", "command": ":"}}
ARRAY = {"memory_mb": 64}
TASKS = {"kind": "tasks", "command": ":", "output": "/out", "array": ARRAY}
STREAM = {"least": 1, "most": 2, "batch_us": 1_000_000, "guarantee": 1.0, "thresholds": {}}
#: what a submission says, the key that is refused, and why
NO_JOBS: list[tuple[dict[str, Any], str, str]] = [
    ({"details": details}, key, what)
    for details, key, what in (
        ({"kind": "nosuch"}, "kind", "'nosuch' is none of"),
        ({"kind": "Script", "command": ":"}, "kind", "'Script' is none of"),
        ({"kind": "sleep"}, "kind", "of files alone"),
        ({"kind": "sleep", "sleep": {"maps": 1, "map_us": 1, "reduces": 0, "reduce_us": 1}}, "kind", "of files alone"),
        ({"kind": "script"}, "command", "is missing"),
        ({"kind": "script", "command": " "}, "command", "empty"),
        ({"kind": "script", "command": "a\0b"}, "command", "control character '\\x00'"),
        ({"kind": "script", "command": "a\x1bb"}, "command", "control character"),
        ({"kind": "script", "command": ":", "args": ["a\0b"]}, "args", "NUL"),
        ({"kind": "script", "command": "x" * 150_000}, "command", "150,000 bytes"),
        ({"kind": "script", "command": ":", "args": ["x" * 150_000]}, "args[#1]", "150,000 bytes"),
        ({"kind": "script", "command": ":", "files": [f"/{'x' * 256}"]}, "files", "256 bytes"),
        ({"kind": "script", "command": ":", "files": ["a"]}, "files", "no absolute path"),
        ({"kind": "script", "comand": ":"}, "spec.details.comand", "is unknown"),
        ({"kind": "script", "command": ":", "mapper": "x"}, "mapper", "means nothing"),
        ({"kind": "jar"}, "jar", "is missing"),
        ({"kind": "jar", "release_jar": "nosuch"}, "jar", "not one of Hadoop's"),
        ({"kind": "class"}, "class", "is missing"),
        ({"kind": "streaming", "mapper": "cat"}, "input", "is missing"),
        ({"kind": "streaming", "mapper": "cat", "inputs": ["in"], "output": "/o"}, "input[#1]", "no absolute path"),
        ({"kind": "pig"}, "pig", "is missing"),
        ({"kind": "spark"}, "python", "no program"),
        ({"kind": "spark", "python": "/x.py", "profile": {"name": "x"}}, "profile.version", "None"),
        ({"kind": "stream", "python": "/x.py"}, "executors", "is missing"),
        ({"kind": "tasks"}, "command", "is missing"),
        (TASKS, "tasks", "is missing"),
        (TASKS | {"array": ARRAY | {"task_us": 10**400}}, "task_time", "too long"),
        (TASKS | {"array": {"memory_mb": 0}}, "memory", "0 is too little"),
        (TASKS | {"array": ARRAY | {"checkpoint": "no"}}, "checkpoint", "'no' is not a way"),
        (TASKS | {"array": ARRAY | {"attempts": 10**30}}, "task_attempts", "too large"),
        (TASKS | {"array": ARRAY | {"memory_mb": 10**400}}, "memory", "is too large"),
    )
]
NO_JOBS += [
    ({"tasks": 99999999999999999999}, "spec.tasks", "is too large"),
    ({"retries": 1001}, "spec.retries", "is too large"),
    ({"deadline_us": 10**18}, "spec.deadline_us", "is too large"),
    ({"stream": STREAM}, "batch", "means nothing"),
    ({"details": {"kind": "stream", "python": "/x"}, "stream": STREAM | {"least": 3}}, "executors", "more than most"),
]


def read(spec: object) -> Any:
    """The spec of a body."""
    return read_body("submit", json.dumps({"spec": spec}).encode()).values["spec"]


@pytest.mark.parametrize(("change", "key", "what"), NO_JOBS, ids=[key for _, key, _ in NO_JOBS])
def test_what_no_job_file_could_say_is_refused(change: dict[str, Any], key: str, what: str) -> None:
    with pytest.raises(UserError) as caught:
        read(JOB | change)
    assert caught.value.where == f"/submit: {key}"
    assert what in caught.value.what


@pytest.mark.parametrize(
    "text",
    [
        'kind = "jar"\njar = "examples"',
        'kind = "class"\nclass = "A"\njar = "x"\nretries = 1000\ntasks = 1000000\ndeadline = "365d"',
        'kind = "streaming"\nmapper = "cat"\ninput = "/a"\noutput = "/b/{id}"\nfiles = ["x"]',
        'kind = "script"\ncommand = "a\\n\\tb"\nargs = ["-d\\u0001", ""]\nproperties = { a = 1, b = { env = "B" } }',
        'kind = "pig"\npig = "x"',
        'kind = "spark"\npython = "x"',
        'kind = "spark"\njar = "x"\nclass = "A"',
        'kind = "stream"\npython = "x"\nexecutors = 1\nmost_executors = 6\nbatch = "10s"\nguarantee = 0.8',
        'kind = "tasks"\ncommand = "x"\ntasks = 3\nmemory = "1GiB"\noutput = "/o"\ntask_time = "90ms"',
        'kind = "tasks"\ncommand = "x"\ntasks = 3\nmemory = "1B"\noutput = "/o"\ncheckpoint = "own"\ncpus = 2',
        'kind = "sleep"\nmaps = 1000000\nmap_time = "1s"\nreduces = 1000000\nreduce_time = "30d"',
        'kind = "sleep"\nmaps = 1\nmap_time = "1ms"\nreduces = 0',
    ],
)
def test_what_a_job_file_says_is_taken(text: str, tmp_path: Path) -> None:
    write(tmp_path, "x", "")
    (spec,) = load_jobs(write(tmp_path, "j.toml", text.replace("", "")), "c-1")
    assert to_plain(read(to_plain(spec))) == to_plain(spec)


def test_a_load_of_a_trace_is_taken() -> None:
    spec = load_job(from_plain(JobSpec, JOB), Profile(maps=1_000_000, reduces=1_000_000), "/out", Path("/x.jar"))
    assert to_plain(read(to_plain(spec))) == to_plain(spec)
