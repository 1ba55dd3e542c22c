"""The command of a Spark application, and what its driver says when it fails."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fawkes.base.errors import UserError
from fawkes.config.clusters.details import ClusterDetails, JobDetails
from fawkes.core.streams.values import Thresholds
from fawkes.core.values.effects import StartJob
from fawkes.core.values.model import ClusterId, JobId, JobSpec, NodeId, StreamSpec
from fawkes.live.jobs import spark
from fawkes.live.jobs.diagnosis import driver_error, python_error
from fawkes.live.nodes.upload import Command
from fawkes.live.wire.masters import YarnApplication
from fawkes.live.wire.rest import Deadline
from fawkes.playbook.dist.spark import SparkRelease
from tests.live.hadoop.test_fitness import node
from tests.live.hadoop.test_setup import RELEASE
from tests.live.masters_server import Server, says, text
from tests.live.played import PlayedGround, bare_setup, live_cluster

C, MASTER = ClusterId("c"), NodeId("node1")
ATTEMPT = "/srv/fawkes/clusters/c/jobs/q.1"
COUNT = JobDetails(kind="spark", python="/home/a/count.py", args=("/in", "/out"))
LOG = """\
LogType:stdout
LogContents:
Traceback (most recent call last):
  File "count.py", line 3, in <module>
    raise KeyError("first")
KeyError: 'first'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "count.py", line 5, in <module>
ValueError: the input has no rows

End of LogType:stdout
"""


def command(details: JobDetails, granted: int = 0, stream: StreamSpec | None = None) -> Command:
    setup = bare_setup(PlayedGround(node("node1")))
    setup._releases[MASTER, RELEASE.version] = RELEASE
    setup._javas[MASTER, RELEASE.version] = "/jvm"
    setup._sparks[MASTER] = SparkRelease("4.0.1", "/opt/spark")
    of_cluster = ClusterDetails(hadoop_version=RELEASE.version, software=("spark",))
    cluster = live_cluster(C, MASTER, details=of_cluster)
    job = JobSpec(id=JobId("q"), cluster=C, details=details.plain(), stream=stream)
    effect = StartJob(JobId("q"), C, 1, job, granted)
    return spark.command(setup, cluster, effect, details)


def settings(made: Command) -> dict[str, str]:
    rows = [line.partition(" ") for line in made.conf[spark.CONF].splitlines()]
    return {key: value for key, _, value in rows}


def test_an_attempt_is_a_client_whose_driver_runs_in_yarn_with_our_tag() -> None:
    made = command(replace(COUNT, files=("/home/a/lib.py", "/home/a/words.txt", "/home/a/x.jar")))

    assert list(made.argv[-12:]) == [
        "--properties-file", f"{ATTEMPT}/conf/spark-defaults.conf", "--name", "q",
        "--py-files", f"{ATTEMPT}/files/lib.py", "--files", f"{ATTEMPT}/files/words.txt",
        "--jars", f"{ATTEMPT}/files/x.jar", f"{ATTEMPT}/files/count.py", "/in", "/out",
    ][-12:]  # fmt: skip
    values = settings(made)
    assert (values["spark.yarn.tags"], values["spark.submit.deployMode"]) == ("fawkes-q-1", "cluster")
    assert values["spark.yarn.jars"] == "local:/opt/spark/jars/*"
    assert "fawkes.doors.Provider" in values["spark.driver.defaultJavaOptions"]
    assert made.env["SPARK_DIST_CLASSPATH"] == "$HADOOP_CONF_DIR/fawkes-doors.jar"
    assert (made.env["SPARK_HOME"], made.env["FAWKES_TAG"]) == ("/opt/spark", "fawkes-q-1")
    assert {"core-site.xml", "yarn-site.xml"} <= made.conf.keys()


def test_a_stream_says_in_its_tags_how_large_yarn_makes_its_executors() -> None:
    stream = StreamSpec(least=1, most=2, batch_us=1, guarantee=1.0, thresholds=Thresholds())
    memory = {"spark.executor.memory": "300m", "spark.executor.memoryOverhead": "100m"}
    values = settings(command(replace(COUNT, kind="stream", properties=memory), stream=stream))
    *tags, size = values["spark.yarn.tags"].split(",")
    assert tags == ["fawkes-q-1", "stream"]
    assert size == "executor-512", "400 MiB in YARN's steps"


def test_a_jar_is_run_by_its_class() -> None:
    made = command(JobDetails(kind="spark", jar="/home/a/app.jar", main_class="org.example.Main", args=("x",)))
    assert list(made.argv[-4:]) == ["--class", "org.example.Main", f"{ATTEMPT}/files/app.jar", "x"]


def test_what_no_node_has_room_for_is_refused_with_its_key() -> None:
    with pytest.raises(UserError, match=r"properties.spark.executor.memory: it asks for a container of \d+ MiB"):
        command(replace(COUNT, properties={"spark.executor.memory": "900g"}))


def test_a_grant_is_the_most_executors() -> None:
    assert settings(command(COUNT, granted=3))["spark.dynamicAllocation.maxExecutors"] == "3"


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (LOG, "ValueError: the input has no rows"),
        ("LogType:stdout\nnothing\n", ""),
        ("Traceback (most recent call last):\n  File\n", ""),
        ("Traceback (most recent call last):\n  File\nKeyError\n", "KeyError"),
    ],
)
def test_the_last_exception_of_a_log_is_told(log: str, said: str) -> None:
    assert python_error(log.split("\n")) == said


def test_an_application_with_a_profile_has_one_executor_on_each_node_and_takes_no_grant() -> None:
    plain: dict[str, object] = {"name": "q", "version": 1, "stages": []}
    values = settings(command(replace(COUNT, profile=plain), granted=7))
    assert (values["spark.executor.instances"], values["spark.executor.cores"]) == ("1", str(node("node1").cores))
    assert values["spark.dynamicAllocation.maxExecutors"] == "1"


def ended(said: str) -> YarnApplication:
    return YarnApplication(
        id="application_1_1", kind="SPARK", state="FINISHED", final_status="FAILED", diagnostics=said
    )


def test_a_python_program_s_exception_is_in_the_log_of_its_driver(server: Server) -> None:
    attempts = {"appAttempts": {"appAttempt": [{"containerId": "container_1"}]}}
    server.answers["/ws/v1/cluster/apps/application_1_1/appattempts"] = says(attempts)
    server.answers["/ws/v1/history/containerlogs/container_1/stdout"] = text(LOG)
    failed = ended("User application exited with status 1")
    assert driver_error(server.masters(), failed, Deadline.after(20)) == "ValueError: the input has no rows"


def test_an_exception_in_java_is_yarn_s_own_word(server: Server) -> None:
    failed = ended("User class threw exception: java.lang.IllegalStateException: no rows")
    assert driver_error(server.masters(), failed, Deadline.after(20)) == ""
    assert server.questions("/ws/v1/cluster/apps/application_1_1/appattempts") == []


def test_a_driver_that_ended_before_yarn_knew_it_has_its_exception_in_yarn_s_words(server: Server) -> None:
    reason = "(reason: Uncaught exception: java.lang.ClassNotFoundException: org.example.Cuont"
    tail = f"26/11/27 INFO ApplicationMaster: Final app status: FAILED, exitCode: 13, {reason}\n\tat java.base/java.net"
    failed = ended(f"AM Container exited with  exitCode: 13\nLast 4096 bytes of stderr :\n{tail}")
    said = driver_error(server.masters(), failed, Deadline.after(20))
    assert said == "java.lang.ClassNotFoundException: org.example.Cuont"


def test_a_log_that_never_comes_is_not_waited_for_beyond_the_deadline(server: Server) -> None:
    attempts = {"appAttempts": {"appAttempt": [{"containerId": "container_1"}]}}
    server.answers["/ws/v1/cluster/apps/application_1_1/appattempts"] = says(attempts)
    failed = ended("User application exited with status 1")
    assert driver_error(server.masters(), failed, Deadline.after(0.2)) == ""
