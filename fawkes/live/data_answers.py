"""What a running controller answers about data, configuration, logs and histories.

These are ``GET /at-stake``, ``/env``, ``/logs`` and ``/history``.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from fawkes.config.details import ClusterDetails
from fawkes.core.model import ClusterId, ClusterLife, JobId, NodeId, Plain
from fawkes.core.state import View
from fawkes.core.tags import tag_of
from fawkes.dist.cache import dist_dir
from fawkes.errors import FawkesError, UserError
from fawkes.live import masters
from fawkes.live.clusters import Clusters, LiveCluster
from fawkes.live.control import Query
from fawkes.live.fleet import Fleet
from fawkes.live.ground import Ground
from fawkes.live.history import histories
from fawkes.live.log_keeper import LIMIT_BYTES
from fawkes.live.playbooks import node as node_book
from fawkes.live.rest import Deadline
from fawkes.live.setup import Setup
from fawkes.live.stages import Stages, stake_row

_LOGS_S = 120.0
_HISTORY_S = 60.0
#: lives of an MR-cluster in which it may have outputs that nobody else has
_AT_STAKE = frozenset({ClusterLife.RUNNING, ClusterLife.SAVING})


class DataAnswers:
    """Asks nodes and masters on behalf of commands."""

    def __init__(
        self, view: View, clusters: Clusters, setup: Setup, ground: Ground, fleet: Fleet, stages: Stages, kept: Path
    ) -> None:
        self._view = view
        self._clusters = clusters
        self._setup = setup
        self._ground = ground
        self._fleet = fleet
        self._stages = stages
        self._kept = kept

    def queries(self) -> dict[str, Query]:
        """Queries for `ControlServer`."""
        return {"at-stake": self._at_stake, "env": self._env, "logs": self._logs, "history": self._history}

    def _at_stake(self, asked: Mapping[str, str]) -> Plain:
        """Nothing of an MR-cluster that is still coming up: no job ran on it, and its input is a copy."""
        rows: list[dict[str, Plain]] = []
        for cluster in self._clusters.all():
            state = self._view.clusters.get(cluster.id)
            if asked.get("cluster") not in (None, cluster.id) or state is None or state.life not in _AT_STAKE:
                continue
            try:
                rows += self._stages.at_stake(cluster)
            except FawkesError:
                rows += _unknown(cluster)
        return rows

    def _env(self, asked: Mapping[str, str]) -> Plain:
        cluster = self._cluster(asked)
        details: ClusterDetails = cluster.details
        local = details.release_dir or str(dist_dir() / f"hadoop-{details.hadoop_version}")
        return {"release_dir": local, "java_home": None, "files": self._setup.client(cluster)}

    def _logs(self, asked: Mapping[str, str]) -> Plain:
        name = ClusterId(asked.get("cluster", ""))
        wanted = asked.get("node")
        job = asked.get("job", "")
        lines = int(asked.get("lines", "200"))
        live = self._clusters.get(name)
        if live is None:
            return self._from_kept(name, wanted, job, lines)
        nodes = sorted(self._view.nodes_of(name)) if wanted is None else [NodeId(wanted)]
        if job and wanted is None:
            nodes = [live.master]
        return self._from_nodes(live, nodes, job, lines)

    def _history(self, asked: Mapping[str, str]) -> Plain:
        """What Hadoop says of the applications of an attempt of a job, one after the other; read only.

        They are found by their tag; where the ResourceManager has forgotten them, by ``application``.
        """
        cluster, job = self._cluster(asked), JobId(asked.get("job", ""))
        if not asked.get("attempt", "").isdecimal():
            raise UserError("the number of the attempt is missing", where="attempt")
        addresses, deadline = self._setup.masters(cluster), Deadline.after(_HISTORY_S)
        tag = tag_of(job, int(asked["attempt"]))
        found = masters.applications(addresses, deadline, tag=tag)
        if not found and asked.get("application"):
            found = (masters.Application(id=asked["application"]),)
        return histories(addresses, found, deadline)

    def _from_nodes(self, cluster: LiveCluster, nodes: list[NodeId], job: str, lines: int) -> Iterator[Plain]:
        for node in nodes:
            if node not in self._ground.nodes:
                raise UserError(f"there is no node {node!r}", where="--node")
            sink = io.BytesIO()
            script = node_book.collect_logs(self._ground.folders(node, cluster.id), limit_bytes=LIMIT_BYTES)
            self._fleet.run(node, script, _LOGS_S, sink=sink)
            sink.seek(0)
            yield from _pieces(sink, node, job, lines)

    def _from_kept(self, cluster: ClusterId, wanted: str | None, job: str, lines: int) -> Iterator[Plain]:
        """The logs that were kept when the nodes were wiped."""
        for path in sorted((self._kept / cluster).glob("*.tar.gz")):
            node = path.name.split(".", 1)[0]
            if wanted in (None, node):
                with path.open("rb") as stream:
                    yield from _pieces(io.BytesIO(stream.read()), node, job, lines)

    def _cluster(self, asked: Mapping[str, str]) -> LiveCluster:
        cluster = self._clusters.get(ClusterId(asked.get("cluster", "")))
        if cluster is None:
            raise FawkesError(f"{asked.get('cluster')} is not running", hint="`fawkes status` shows its state")
        return cluster


def _unknown(cluster: LiveCluster) -> list[dict[str, Plain]]:
    """What may be at stake in an MR-cluster whose NameNode cannot be asked: its outputs, and anything else."""
    rows = [stake_row(cluster, output.path, save_to=output.save_to) for output in cluster.details.outputs]
    return [*rows, stake_row(cluster, "/")]


def _pieces(stream: io.BytesIO, node: str, job: str, lines: int) -> Iterator[Plain]:
    """The text files of an archive of logs: those of daemons and launchers, or what belongs to one job."""
    try:
        with tarfile.open(fileobj=stream, mode="r:gz") as archive:
            for member in sorted(archive.getmembers(), key=lambda m: m.name):
                if not member.isfile() or not _wanted(member.name, job):
                    continue
                file = archive.extractfile(member)
                text = file.read().decode(errors="replace") if file is not None else ""
                kept = text.splitlines(keepends=True)[-lines:] if lines else text.splitlines(keepends=True)
                if kept:
                    yield {"node": node, "file": member.name, "text": "".join(kept)}
    except (tarfile.TarError, EOFError, OSError):
        return


def _wanted(name: str, job: str) -> bool:
    if job:
        return name.startswith(f"jobs/{job}.") and "/conf/" not in name
    return name.startswith(("logs/", "nm-logs/")) or (name.startswith("jobs/") and "/conf/" not in name)
