"""Loading the input sets of a MR-cluster and saving its outputs, each byte verified."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

from fawkes.config.details import ClusterDetails, DataSet, Output
from fawkes.core.effects import Load, Save
from fawkes.core.model import Facts
from fawkes.errors import FawkesError
from fawkes.live import data, saved, saving
from fawkes.live.clusters import Clusters, LiveCluster
from fawkes.live.copies import Copies, load_job, save_job
from fawkes.live.ground import Ground
from fawkes.live.setup import Setup
from fawkes.live.sources import source_of
from fawkes.live.upload import Upload
from fawkes.live.webhdfs import Hdfs

Stop = Callable[[], bool]

_HDFS = "hdfs://"


class Stages:
    """Reaches `Load` and `Save` goals; both can be broken off and begun again."""

    def __init__(
        self, ground: Ground, clusters: Clusters, setup: Setup, upload: Upload, stopping: threading.Event
    ) -> None:
        self._ground = ground
        self._clusters = clusters
        self._setup = setup
        self._copies = Copies(ground, setup, upload, stopping)
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
            for stake in saved.at_stake(hdfs, details.outputs)
        ]

    def _unless(self, current: Callable[[], bool]) -> Stop:
        """Whether work is to stop: the controller ends, or a newer goal came."""
        return lambda: self._stopping.is_set() or not current()

    def _load_set(self, cluster: LiveCluster, number: int, one: DataSet, stop: Stop) -> Mapping[str, object]:
        load = data.Load(
            masters=self._setup.masters(cluster),
            core=cluster.core,
            target=one.to,
            block_bytes=cluster.details.block_size_bytes,
            replication=cluster.spec.replication,
            stop=stop,
        )
        if one.source.startswith(_HDFS):
            self._copies.run(cluster, f"load-{number}", load_job(one.source, one.to), stop)
            loaded = load.look()
        else:
            loaded = load.run(source_of(one.source, self._ground.nodes[cluster.master].user))
        return {"to": one.to, **asdict(loaded)}

    def _save_folder(
        self, cluster: LiveCluster, hdfs: Hdfs, number: int, output: Output, stop: Stop
    ) -> Mapping[str, object]:
        if output.save_to.startswith(_HDFS):
            copy = save_job(f"{self._setup.default_fs(cluster)}{output.path}", output.save_to)
            self._copies.run(cluster, f"save-{number}", copy, stop)
            return {"path": output.path, "save_to": output.save_to}
        done = saving.Save(hdfs=hdfs, output=output.path, target=Path(output.save_to), stop=stop).run()
        return {"path": output.path, **asdict(done)}

    def _known(self, name: str) -> LiveCluster:
        cluster = next((one for one in self._clusters.all() if one.id == name), None)
        if cluster is None:
            raise FawkesError(f"{name} has no masters")
        return cluster
