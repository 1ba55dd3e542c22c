"""Spark on an MR-cluster: the command of an attempt, the settings of users' own commands, what a driver says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from fawkes.base.errors import UserError
from fawkes.config.clusters.details import JobDetails
from fawkes.config.jobs import spark
from fawkes.config.jobs.tags import ENVIRONMENT
from fawkes.core.values.effects import StartJob
from fawkes.core.values.model import JobId
from fawkes.core.values.tags import tag_of
from fawkes.live.hadoop import hadoop_conf
from fawkes.live.hadoop.setup import SPARK, Setup
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.nodes.upload import Command, spark_words
from fawkes.live.wire.webhdfs import Hdfs
from fawkes.playbook.dist.cache import cached_spark
from fawkes.playbook.dist.compile.compiled import STREAMS, place_of
from fawkes.playbook.dist.release import QUICK_FLAGS
from fawkes.playbook.dist.spark import SparkRelease

KIND = spark.KIND
KINDS = (KIND, spark.STREAM)
CONF = "spark-defaults.conf"

_CLIENT_HEAP_MB = 256
#: below this memory of the largest node several containers fit on it only if they are small
_SMALL_MB = 4096
#: a pool of such nodes is a lab: many JVMs share few cores
_QUICK_MB = 8192


def command(setup: Setup, cluster: LiveCluster, effect: StartJob, details: JobDetails) -> Command:
    """The command of an attempt: the driver runs in YARN, and a client on the master waits for it.

    UserError for an application that asks for more than the pool has.
    """
    home, (env, flags) = setup.spark(cluster, cluster.master), setup.surroundings(cluster, effect)
    place, conf_dir = _place(setup, cluster, home), env["HADOOP_CONF_DIR"]
    stream, tag = effect.spec.stream, env[ENVIRONMENT]
    own = dict(details.properties)
    step_mb = int(setup.settings(cluster)["yarn-site"]["yarn.scheduler.minimum-allocation-mb"])
    if stream is not None:
        folder = f"{place.default_fs}{stream_folder(effect.job, effect.attempt)}"
        own |= spark.of_stream(own, stream, folder, effect.spec.priority)
        size_mb = -(-spark.container_mb({**spark.settings(place), **own}, "executor") // step_mb) * step_mb
        tag = f"{tag},{spark.STREAM},executor-{size_mb}"
    values = spark.of_job(
        place,
        own,
        setup.secrets(details),
        tag=tag,
        granted=effect.granted,
        nodes=_nodes(setup, cluster, step_mb) if details.profile else None,
    )
    key, why = spark.too_much(place, values, under_quotas=bool(details.profile))
    if key:
        raise UserError(f"it asks for {why}", where=f"properties.{key}", hint="Ask for less, or add nodes to the pool")
    java = env["JAVA_HOME"]
    argv = home.daemon_argv("sparksubmit", java_home=java, conf_dir=conf_dir, heap_mb=_CLIENT_HEAP_MB, extra=flags)
    argv += ["--properties-file", f"{conf_dir}/{CONF}", "--name", effect.job]
    argv += spark_words(details, setup.files_folder(cluster, effect))
    return Command(argv, {**env, **environment(home.root, conf_dir)}, _files(setup, cluster, values))


def stream_folder(job: JobId, attempt: int) -> str:
    """The folder in HDFS of an attempt of a stream, on which a note says how many executors it is to have."""
    return f"/staging/streams/{tag_of(job, attempt)}"


def note_executors(hdfs: Hdfs, job: JobId, attempt: int, executors: int) -> None:
    """Note how many executors an attempt of a stream is to have; FawkesError while HDFS does not answer."""
    folder = stream_folder(job, attempt)
    hdfs.mkdir(folder)
    hdfs.set_note(folder, "executors", str(executors))


def details_of_stream(details: JobDetails) -> JobDetails:
    """The details with the part of Fawkes that goes along into the driver."""
    return replace(details, files=(*details.files, str(place_of(STREAMS))))


def client(setup: Setup, cluster: LiveCluster) -> tuple[dict[str, str], Path | None]:
    """The configuration of users' own commands on the controller's machine, and its folder of Spark, if any."""
    if spark.KIND not in cluster.details.software:
        return setup.client(cluster), None
    home = cached_spark(SPARK)
    return _files(setup, cluster, spark.settings(_place(setup, cluster, home))), Path(home.root)


def history(setup: Setup, cluster: LiveCluster) -> str:
    """The host and port of its history server."""
    return f"{setup.address(cluster)}:{spark.HISTORY_PORT}"


def environment(home: str, conf_dir: str) -> dict[str, str]:
    """The variables of a client of Spark. Containers find the door keeper on their class path."""
    doors = f"$HADOOP_CONF_DIR/{hadoop_conf.DOORS_JAR}"
    return {"SPARK_HOME": home, "SPARK_CONF_DIR": conf_dir, "SPARK_DIST_CLASSPATH": doors}


def _files(setup: Setup, cluster: LiveCluster, values: Mapping[str, str]) -> dict[str, str]:
    return {**setup.client(cluster), CONF: spark.to_text(values)}


def _nodes(setup: Setup, cluster: LiveCluster, step_mb: int) -> spark.Nodes:
    """The nodes of the MR-cluster for an application under quotas."""
    pool = setup.pool()
    return spark.Nodes(
        held=len(cluster.serving()),
        most=min(cluster.spec.max_nodes or len(pool), len(pool)),
        cores=min(cores for _, cores in pool.values()),
        step_mb=step_mb,
    )


def _place(setup: Setup, cluster: LiveCluster, home: SparkRelease) -> spark.SparkPlace:
    """The MR-cluster for an application whose client has Spark in ``home``."""
    memory = {name: node_mb for name, (node_mb, _) in setup.pool().items()}
    most, quick = max(memory.values()), memory[cluster.master] < _QUICK_MB
    return spark.SparkPlace(
        home=home.root,
        default_fs=setup.default_fs(cluster),
        history=history(setup, cluster),
        core_count=len(cluster.core),
        small=most < _SMALL_MB,
        quick=quick,
        node_mb=list(memory.values()),
        most_mb=most,
        flags=(*hadoop_conf.DOOR_FLAGS, *(QUICK_FLAGS if quick else ())),
    )
