"""The command, the files and the configuration of a job's attempt."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from fawkes.base.errors import UserError
from fawkes.config.clusters.details import KERBEROS, ClusterDetails, JobDetails, Sites, SleepTasks
from fawkes.config.jobs.kept import MAPS, QUEUE, REDUCES, SLOW_START
from fawkes.config.settings.kerberos import KerberosSite
from fawkes.core.values.effects import StartJob
from fawkes.core.values.model import ClusterId, ClusterSpec, JobId, JobSpec, NodeId, Promise, Role, Standby
from fawkes.live.hadoop import hadoop_conf
from fawkes.live.hadoop.setup import Setup
from fawkes.live.kerberos.kerberos import Kerberos
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.nodes.upload import Command, Upload
from fawkes.playbook import Lease
from fawkes.playbook.dist.pig import PIG_PINS, pig_release
from fawkes.playbook.dist.release import Release
from fawkes.playbook.dist.spark import SparkRelease
from tests.live.hadoop.test_fitness import node
from tests.live.played import PlayedGround, bare_setup, core, live_cluster

MASTER = NodeId("node1")
C = ClusterId("c")
ATTEMPT = "/srv/fawkes/clusters/c/jobs/q.1"
TAG = "fawkes-q-1"
RELEASE = Release(
    version="3.5.0", layout="artifacts", root="/opt/hadoop", class_path=("lib/*",), task_class_path=("lib/*",),
    java_flags=(), min_java=17, max_java=None, examples="ex.jar", streaming="st.jar", jobclient_tests="t.jar",
)  # fmt: skip


def effect(details: JobDetails, granted: int = 0) -> StartJob:
    return StartJob(JobId("q"), C, 1, JobSpec(id=JobId("q"), cluster=C, details=details.plain()), granted)


def command(
    details: JobDetails,
    granted: int = 0,
    version: str = RELEASE.version,
    hadoop: Sites | None = None,
    kerberos: Kerberos | None = None,
) -> Command:
    setup = bare_setup(PlayedGround(node("node1")), kerberos=kerberos)
    setup._releases[MASTER, version] = replace(RELEASE, version=version)
    setup._javas[MASTER, version] = "/jvm"
    setup._pigs[C, MASTER] = replace(pig_release(next(iter(PIG_PINS.values())), "/opt/pig"), shipped=())
    security = "" if kerberos is None else KERBEROS
    of_cluster = ClusterDetails(hadoop_version=version, hadoop=hadoop or {}, security=security)
    cluster = live_cluster(C, MASTER, details=of_cluster)
    return setup.job_command(cluster, effect(details, granted), details)


def setting(made: Command, key: str, site: str = "mapred-site") -> str:
    """A value of the attempt's own configuration; empty without one."""
    text = made.conf[f"{site}.xml"]
    return text.partition(f"<name>{key}</name>")[2].partition("<value>")[2].partition("</value>")[0]


def tags(made: Command) -> str:
    return setting(made, "mapreduce.job.tags")


def limits(made: Command) -> tuple[str, str, str]:
    """The settings that keep a grant, of maps, reduces and their order."""
    return setting(made, MAPS), setting(made, REDUCES), setting(made, SLOW_START)


KINDS = {
    "jar": JobDetails(kind="jar", jar="/home/a/wc.jar"),
    "class": JobDetails(kind="class", main_class="org.example.Wc"),
    "streaming": JobDetails(kind="streaming", inputs=("/in",), mapper="cat", files=("/home/a/result",)),
    "script": JobDetails(kind="script", command="true"),
    "pig": JobDetails(kind="pig", pig="/home/a/q.pig"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_job_has_our_tag_whatever_tags_it_has_of_its_own(kind: str) -> None:
    plain = command(KINDS[kind])
    assert (tags(plain), plain.env["FAWKES_TAG"]) == (TAG, TAG)
    own = command(replace(KINDS[kind], properties={"mapreduce.job.tags": "nightly, b"}))
    assert tags(own) == f"nightly,b,{TAG}"


@pytest.mark.parametrize("kind", ["jar", "class", "streaming", "pig"])
@pytest.mark.parametrize("flag", [("-D", "mapreduce.job.tags=x"), ("-Dmapreduce.job.tags=x",)])
def test_an_argument_that_sets_tags_has_ours_as_well(kind: str, flag: tuple[str, ...]) -> None:
    argv = command(replace(KINDS[kind], args=(*flag, "/out"))).argv
    assert f"{flag[-1]},{TAG}" in argv
    assert flag[-1] not in argv


def test_a_script_has_its_arguments() -> None:
    argv = command(replace(KINDS["script"], command='echo "$0: $@"', args=("a b", "$c"))).argv
    assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout == "sh: a b $c\n"


def test_a_job_of_no_kind_runs_nothing() -> None:
    with pytest.raises(UserError, match=r"there is no kind of job 'nosuch'"):
        command(JobDetails(kind="nosuch"))


class Puts:
    """The paths that were written."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def put(self, node: str, data: object, path: PurePosixPath, **how: object) -> None:
        self.paths.append(str(path))


def test_files_of_a_job_lie_where_its_command_and_nobody_else_looks(tmp_path: Any) -> None:
    for name in ("result", "begun", "conf", "wc.jar"):
        (tmp_path / name).touch()
    details = replace(
        KINDS["jar"], jar=f"{tmp_path}/wc.jar", files=tuple(f"{tmp_path}/{n}" for n in ("result", "begun", "conf"))
    )
    puts = Puts()
    right = Lease(
        node="node1",
        work_dir=PurePosixPath("/srv/fawkes"),
        pool="p",
        cluster="c",
        generation=1,
        epoch=1,
        controller="x",
    )
    Upload(puts).job_files(MASTER, right, effect(details), details, {"core-site.xml": ""})
    names = {name: f"{ATTEMPT}/files/{name}" for name in ("result", "begun", "conf", "wc.jar")}
    assert sorted(puts.paths) == sorted([*names.values(), f"{ATTEMPT}/conf/core-site.xml"])
    made = command(details)
    assert names["wc.jar"] in made.argv
    assert made.env["HADOOP_CONF_DIR"] == f"{ATTEMPT}/conf"
    streaming = command(KINDS["streaming"]).argv
    assert streaming[streaming.index("-files") + 1] == names["result"]


SLEEP = JobDetails(kind="class", main_class="SleepJob", sleep=SleepTasks(maps=9, map_us=1, reduces=1, reduce_us=1))


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_job_is_held_to_its_grant(kind: str) -> None:
    own = replace(KINDS[kind], properties={MAPS: "99", SLOW_START: "0.05"})
    assert limits(command(own, granted=3)) == ("3", "3", "1.0")


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_grant_a_job_has_the_limits_that_it_gives_itself(kind: str) -> None:
    assert limits(command(KINDS[kind])) == ("", "", "")
    assert limits(command(replace(KINDS[kind], properties={MAPS: "99"}))) == ("99", "", "")


def test_an_argument_is_no_way_around_a_grant() -> None:
    argv = command(replace(KINDS["jar"], args=(f"-D{MAPS}=99", "/out")), granted=3).argv
    assert f"-D{MAPS}=3" in argv
    assert f"-D{MAPS}=99" not in argv


@pytest.mark.parametrize(
    ("kind", "queue"), [("jar", f"root.granted.{TAG}"), ("pig", f"root.granted.{TAG}"), ("streaming", "")]
)
def test_a_granted_job_that_may_have_several_mr_jobs_has_a_queue_that_runs_them_in_turn(kind: str, queue: str) -> None:
    assert setting(command(KINDS[kind], granted=3), QUEUE) == queue
    assert setting(command(KINDS[kind]), QUEUE) == ""


def test_a_sleep_job_has_one_mr_job_and_needs_no_queue() -> None:
    assert setting(command(SLEEP, granted=3), QUEUE) == ""


@pytest.mark.parametrize(
    ("version", "hadoop"),
    [
        ("3.3.6", {}),
        ("3.5.0", {"capacity-scheduler": {"yarn.scheduler.capacity.root.queues": "default,prod"}}),
        ("3.5.0", {"yarn-site": {"yarn.resourcemanager.scheduler.class": "org.example.FairScheduler"}}),
    ],
)
def test_without_such_a_queue_only_jobs_with_one_mr_job_can_be_granted_cpus(version: str, hadoop: Sites) -> None:
    assert limits(command(SLEEP, 3, version, hadoop)) == ("3", "3", "1.0")
    assert command(KINDS["jar"], 0, version, hadoop).argv
    with pytest.raises(UserError, match="c: its grant of CPUs cannot be kept: it may run several MR-jobs at once"):
        command(KINDS["jar"], 3, version, hadoop)


@pytest.mark.parametrize(("version", "capacity"), [("3.5.0", "1w"), ("3.3.6", "100")])
def test_the_usual_queue_has_a_weight_where_there_are_others(version: str, capacity: str) -> None:
    made = command(KINDS["jar"], 0, version)
    assert setting(made, "yarn.scheduler.capacity.root.default.capacity", "capacity-scheduler") == capacity


@pytest.mark.parametrize("kind", KINDS)
def test_with_kerberos_each_kind_of_job_logs_in_on_the_node(kind: str) -> None:
    site = KerberosSite("fawkes.toml", "EXAMPLE.ORG", Path("/etc/krb5.conf"), Path("/keytabs"))
    plain, made = command(KINDS[kind]), command(KINDS[kind], kerberos=Kerberos(site))
    conf = "/srv/fawkes/clusters/c/conf"
    realm = f"-Djava.security.krb5.conf={conf}/krb5.conf"
    assert {key: made.env[key] for key in set(made.env) - set(plain.env)} == {
        "KRB5PRINCIPAL": "hadoop/c@EXAMPLE.ORG",
        "KRB5KEYTAB": f"{conf}/fawkes.keytab",
        "HADOOP_OPTS": realm,
    }
    # A script starts its JVMs by Hadoop's own commands, which read the environment.
    assert [word for word in made.argv if word not in plain.argv] == ([realm] if made.argv[0] != "/bin/sh" else [])
    assert setting(made, "hadoop.security.authentication", "core-site") == "kerberos"


CORE = [NodeId(f"node{number}") for number in (1, 2, 3, 4)]
WITH_JOURNAL = Standby(journal=tuple(CORE[:3]), node=CORE[1])


def pair(standby: Standby | None, master: NodeId = MASTER) -> tuple[Setup, LiveCluster]:
    """An MR-cluster of four core nodes that asked for a second NameNode, with the journal that it has."""
    setup = bare_setup(PlayedGround(*(node(at) for at in CORE)))
    for at in CORE:
        setup._releases[at, RELEASE.version] = RELEASE
        setup._javas[at, RELEASE.version] = "/jvm"
    details = ClusterDetails(hadoop_version=RELEASE.version)
    spec = ClusterSpec(id=C, min_nodes=3, replication=2, masters=Promise.STANDBY, details=details.plain())
    return setup, LiveCluster(spec, details, master, core(*CORE), standby=standby)


def names(setup: Setup, cluster: LiveCluster) -> dict[NodeId, list[str]]:
    return {at: [each.name for each in setup.daemons(cluster, at, Role.CORE)][:-2] for at in CORE}


def test_each_node_runs_its_part_of_the_masters_and_of_the_journal() -> None:
    masters = ["namenode", "resourcemanager", "historyserver"]
    first, second, third, other = CORE
    assert names(*pair(WITH_JOURNAL)) == {
        first: ["journalnode", *masters], second: ["journalnode", "namenode"], third: ["journalnode"], other: []
    }  # fmt: skip
    assert names(*pair(replace(WITH_JOURNAL, node=None), second))[first] == ["journalnode"]
    assert names(*pair(None)) == {first: masters, second: [], third: [], other: []}


def test_the_history_server_of_spark_is_one_of_the_masters_where_nodes_have_spark() -> None:
    setup, cluster = pair(None)
    setup._sparks |= {at: SparkRelease("4.0.1", "/opt/spark") for at in CORE}
    cluster = replace(cluster, details=replace(cluster.details, software=("spark",)))
    assert [at for at, daemons in names(setup, cluster).items() if "sparkhistory" in daemons] == [MASTER]
    (daemon,) = (each for each in setup.daemons(cluster, MASTER, Role.CORE) if each.name == "sparkhistory")
    assert (daemon.argv[-1], daemon.follows) == ("org.apache.spark.deploy.history.HistoryServer", "")
    assert "-Dspark.history.fs.logDirectory=hdfs://10.0.0.1:8020/history/spark" in daemon.argv
    assert set(hadoop_conf.DOOR_FLAGS) <= set(daemon.argv)


def test_no_worker_is_started_again_when_masters_move_within_the_journal() -> None:
    def followed(standby: Standby | None, master: NodeId) -> set[str]:
        setup, cluster = pair(standby, master)
        return {each.follows for each in setup.daemons(cluster, CORE[3], Role.CORE)}

    assert followed(WITH_JOURNAL, CORE[0]) == followed(replace(WITH_JOURNAL, node=CORE[0]), CORE[1]) == {"hdfs://c"}
    assert followed(None, CORE[0]) == {"10.0.0.1"}


def test_orders_on_the_command_line_go_to_the_active_namenode_alone() -> None:
    """All three addresses would be asked by the name of HDFS, and those without a NameNode would be an error."""
    setup, cluster = pair(WITH_JOURNAL)
    argv = setup.refresh_argv(cluster, "hdfs")
    assert argv[argv.index("-fs") + 1] == "hdfs://10.0.0.1:8020"
    assert "-fs" not in setup.refresh_argv(cluster, "yarn")
    assert "-fs" not in pair(None)[0].refresh_argv(pair(None)[1], "hdfs")


def test_the_masters_rpc_is_closed_on_both_nodes_with_a_namenode() -> None:
    setup, cluster = pair(WITH_JOURNAL)
    confs = {at: hadoop_conf.settings(setup._conf(cluster, at, Role.CORE))["hadoop-policy"] for at in CORE}
    closed = {at for at, policy in confs.items() if "security.ha.service.protocol.hosts" in policy}
    assert closed == {CORE[0], CORE[1]}
