"""Loading the input sets of a MR-cluster and saving its outputs, each byte verified."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

from fawkes.config.details import ClusterDetails, DataSet, JobDetails, Output
from fawkes.core.effects import Load, Save, StartJob
from fawkes.core.model import Facts, JobId, JobSpec
from fawkes.errors import FawkesError, HostError
from fawkes.live import data, saving
from fawkes.live.clusters import Clusters, LiveCluster
from fawkes.live.ground import Ground
from fawkes.live.playbooks import job as book
from fawkes.live.setup import Setup
from fawkes.live.sources import source_of
from fawkes.live.upload import Upload
from fawkes.live.webhdfs import Hdfs

Stop = Callable[[], bool]

_HDFS = "hdfs://"
_LOOK_EVERY_S = 1.0


class Stages:
    """Reaches `Load` and `Save` goals; both can be broken off and begun again."""

    def __init__(
        self, ground: Ground, clusters: Clusters, setup: Setup, upload: Upload, stopping: threading.Event
    ) -> None:
        self._ground = ground
        self._clusters = clusters
        self._setup = setup
        self._upload = upload
        self._stopping = stopping

    def load(self, effect: Load, current: Callable[[], bool]) -> Facts | None:
        """Files, bytes and skew of what was loaded; from then on the MR-cluster works. None: a newer goal came."""
        cluster = self._known(effect.cluster)
        masters = self._setup.masters(cluster)
        stop = self._unless(current)
        data.lay_out(masters, [output.path for output in cluster.details.outputs])
        found = [self._load_set(cluster, number, one, stop) for number, one in enumerate(cluster.details.data)]
        if not current():
            return None
        data.mark_active(masters)
        self._clusters.mark(effect.cluster, working=True)
        return {"sets": found}

    def save(self, effect: Save, current: Callable[[], bool]) -> Facts | None:
        """Files and bytes of what was saved; None when a newer goal came."""
        cluster = self._known(effect.cluster)
        self._clusters.mark(effect.cluster, working=False)
        hdfs = Hdfs.of(self._setup.masters(cluster))
        found: list[Mapping[str, object]] = []
        for number, output in enumerate(cluster.details.outputs):
            if hdfs.summary(output.path) is None:
                found.append({"path": output.path, "files": 0, "size": 0})
            else:
                found.append(self._save_folder(cluster, hdfs, number, output, self._unless(current)))
        return {"outputs": found} if current() else None

    def at_stake(self, cluster: LiveCluster) -> list[dict[str, object]]:
        """What of a MR-cluster would be lost without a save, for people; bytes None where nobody could be asked."""
        details: ClusterDetails = cluster.details
        hdfs = Hdfs.of(self._setup.masters(cluster), patience_s=5.0)
        return [
            {
                "cluster": cluster.id,
                "path": stake.path,
                "bytes": stake.size,
                "save_to": stake.save_to,
                "saved": stake.saved,
            }
            for stake in saving.at_stake(hdfs, details.outputs)
        ]

    def _unless(self, current: Callable[[], bool]) -> Stop:
        """Whether work is to stop: the controller ends, or a newer goal came."""
        return lambda: self._stopping.is_set() or not current()

    def _load_set(self, cluster: LiveCluster, number: int, one: DataSet, stop: Stop) -> Mapping[str, object]:
        if one.source.startswith(_HDFS):
            self._copy(cluster, f"load-{number}", data.copy_job(one.source, one.to), stop)
            return {"to": one.to, "source": one.source}
        loaded = data.Load(
            masters=self._setup.masters(cluster),
            core=cluster.core,
            target=one.to,
            block_bytes=cluster.details.block_size_bytes,
            replication=cluster.spec.replication,
            stop=stop,
        ).run(source_of(one.source, self._ground.nodes[cluster.master].user))
        return {"to": one.to, **asdict(loaded)}

    def _save_folder(
        self, cluster: LiveCluster, hdfs: Hdfs, number: int, output: Output, stop: Stop
    ) -> Mapping[str, object]:
        if output.save_to.startswith(_HDFS):
            self._copy(cluster, f"save-{number}", data.copy_job(self._url(cluster, output.path), output.save_to), stop)
            return {"path": output.path, "save_to": output.save_to}
        saved = saving.Save(hdfs=hdfs, output=output.path, target=Path(output.save_to), stop=stop).run()
        return {"path": output.path, **asdict(saved)}

    def _url(self, cluster: LiveCluster, path: str) -> str:
        return f"{self._setup.default_fs(cluster)}{path}"

    def _copy(self, cluster: LiveCluster, name: str, details: JobDetails, stop: Stop) -> None:
        """Run a copy by the MR-cluster itself to its end; begun before, it is only waited for."""
        node, generation = cluster.master, cluster.members[cluster.master].generation
        right = self._ground.lease(node, cluster.id, generation)
        spec = JobSpec(id=JobId(name), cluster=cluster.id)
        attempt = 1
        while True:
            effect = StartJob(spec.id, cluster.id, attempt, spec)
            command = self._setup.job_command(cluster, effect, details)
            self._upload.job_files(node, right, effect, details, command.conf)
            self._ground.run(node, book.start(right, name, attempt, command.argv, env=command.env), "starting a copy")
            facts, result = self._wait(cluster, name, attempt, stop)
            if facts.get("exit") == "0":
                return
            if facts.get("state") == "finished" and attempt > 1:
                words = result.strip().splitlines() or [f"exit code {facts.get('exit')}"]
                raise HostError(f"{details.title} failed: {words[-1]}", host=node)
            attempt += 1

    def _wait(self, cluster: LiveCluster, name: str, attempt: int, stop: Stop) -> tuple[Mapping[str, str], str]:
        script = book.look(self._ground.folders(cluster.master, cluster.id), name, attempt)
        while not stop():
            facts, result = self._ground.look(cluster.master, script)
            if facts.get("state") != "running":
                return facts, result.stderr
            self._stopping.wait(_LOOK_EVERY_S)
        raise data.StoppedError("the copy was stopped", where=cluster.id)

    def _known(self, name: str) -> LiveCluster:
        cluster = next((one for one in self._clusters.all() if one.id == name), None)
        if cluster is None:
            raise FawkesError(f"{name} has no masters")
        return cluster
