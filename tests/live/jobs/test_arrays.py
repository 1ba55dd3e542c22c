"""The command of an attempt of a job of tasks: a client on the master, with our tag, the files and the description."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath

import pytest

from fawkes.base.errors import UserError
from fawkes.config.clusters.details import ClusterDetails, JobDetails, TaskArray
from fawkes.core.values.effects import StartJob
from fawkes.core.values.model import ClusterId, JobId, JobSpec, NodeId
from fawkes.core.values.tags import tag_of
from fawkes.live.jobs import arrays
from fawkes.live.nodes.upload import Command
from tests.live.hadoop.test_fitness import node
from tests.live.hadoop.test_setup import RELEASE
from tests.live.played import PlayedGround, bare_setup, live_cluster

C, MASTER = ClusterId("c"), NodeId("node1")
FILES = "/srv/fawkes/clusters/c/jobs/q.1/files"
TASKS = JobDetails(
    kind="tasks", command="./run <in & echo", output="/out", files=("/home/a/run",), array=TaskArray(memory_mb=512)
)


def command(details: JobDetails, granted: int = 0) -> Command:
    setup = bare_setup(PlayedGround(node("node1")))
    setup._releases[MASTER, RELEASE.version] = RELEASE
    setup._javas[MASTER, RELEASE.version] = "/jvm"
    of_cluster = ClusterDetails(hadoop_version=RELEASE.version)
    cluster = live_cluster(C, MASTER, details=of_cluster)
    job = JobSpec(id=JobId("q"), cluster=C, tasks=7, details=details.plain())
    effect = StartJob(JobId("q"), C, 1, job, granted)
    return setup.job_command(cluster, effect, arrays.details_of(setup, cluster, effect, details))


def test_the_client_has_our_jar_the_files_and_the_tag() -> None:
    made = command(TASKS)
    words = list(made.argv)
    at = words.index("fawkes.tasks.Client")
    files = [PurePosixPath(word) for word in words[at + 1 :]]
    assert [file.name for file in files] == ["fawkes-tasks.jar", "run", "fawkes-task"]
    assert words[words.index("-cp") + 1].endswith(f":{files[0]}")
    conf = made.conf["mapred-site.xml"]
    assert tag_of(JobId("q"), 1) in conf
    assert "<name>fawkes.tasks.checkpoint</name>\n    <value>none</value>" in conf
    for key, value in (("count", "7"), ("memory.mb", "512"), ("command", "./run &lt;in &amp; echo")):
        assert f"<name>fawkes.tasks.{key}</name>\n    <value>{value}</value>" in conf
    assert "mapreduce.job.running.map.limit" not in conf


def test_a_grant_is_the_most_tasks_at_once() -> None:
    conf = command(TASKS, granted=3).conf["mapred-site.xml"]
    assert "<name>mapreduce.job.running.map.limit</name>\n    <value>3</value>" in conf
    assert "mapreduce.job.queuename" not in conf


def test_what_no_node_has_room_for_is_refused_with_its_key() -> None:
    with pytest.raises(UserError, match="memory: each task asks for 999999 MiB, and the largest node has "):
        command(replace(TASKS, array=TaskArray(memory_mb=999_999)))


def test_criu_and_its_script_go_along_where_it_saves_tasks() -> None:
    details = replace(TASKS, array=TaskArray(memory_mb=512, checkpoint="criu"))
    names = [PurePosixPath(word).name for word in command(details).argv]
    assert names[-4:] == ["run", "fawkes-task", "fawkes-criu", "fawkes-criu.tar"]
