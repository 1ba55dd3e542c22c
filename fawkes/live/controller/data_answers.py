"""Answers of a running controller about data, configuration, logs and histories.

These are ``GET /at-stake``, ``/env``, ``/logs``, ``/history`` and ``/spark-events``.
"""

from __future__ import annotations

import gzip
import io
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Self

from pydantic import TypeAdapter, ValidationError

from fawkes.base.errors import FawkesError, HostError, UserError, cut
from fawkes.base.units import show_bytes
from fawkes.config.clusters.details import ClusterDetails
from fawkes.config.files.fields import Name
from fawkes.core.state.state import State
from fawkes.core.values.model import ClusterId, ClusterLife, JobId, NodeId, Plain
from fawkes.core.values.tags import tag_of
from fawkes.live.base import limits
from fawkes.live.clusters.log_keeper import LIMIT_BYTES
from fawkes.live.clusters.stages import Stages, stake_row
from fawkes.live.controller.control import Query
from fawkes.live.eyes.history import histories
from fawkes.live.hadoop import effective
from fawkes.live.hadoop.setup import Setup
from fawkes.live.jobs import spark
from fawkes.live.jobs.event_log import event_lines
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.nodes.fleet import Fleet
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import node as node_book
from fawkes.live.wire import masters
from fawkes.live.wire.rest import Deadline
from fawkes.live.wire.webhdfs import Hdfs
from fawkes.playbook.dist.cache import BESIDE, dist_dir, folder_of, is_there

#: of the logs of one node: their bytes, and what tar adds to each file
_MOST_BYTES = 2 * LIMIT_BYTES
_MOST_FILES = 50_000
_PIECE_BYTES = 1 << 20
_DIGITS = 9
_NAME: TypeAdapter[str] = TypeAdapter(Name)
#: lives of an MR-cluster in which it may have data that nobody else has
_AT_STAKE = frozenset({ClusterLife.LOADING, ClusterLife.RUNNING, ClusterLife.SAVING})


class DataAnswers:
    """Asks nodes and masters on behalf of commands."""

    def __init__(
        self, view: State, clusters: Clusters, setup: Setup, ground: Ground, fleet: Fleet, stages: Stages, kept: Path
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
        return {
            "at-stake": self._at_stake,
            "env": self._env,
            "config": self._config,
            "logs": self._logs,
            "history": self._history,
            "spark-events": self._spark_events,
        }

    def _at_stake(self, parameters: Mapping[str, str]) -> Plain:
        """Nothing of an MR-cluster that is still being deployed: its HDFS is not there yet."""
        rows: list[dict[str, Plain]] = []
        for cluster in self._clusters.all():
            state = self._view.clusters.get(cluster.id)
            if parameters.get("cluster") not in (None, cluster.id) or state is None or state.life not in _AT_STAKE:
                continue
            try:
                rows += self._stages.at_stake(cluster)
            except FawkesError:
                rows += _unknown(cluster)
        return rows

    def _env(self, parameters: Mapping[str, str]) -> Plain:
        cluster = self._cluster(parameters)
        details: ClusterDetails = cluster.details
        local = details.release_dir or str(dist_dir() / f"hadoop-{details.hadoop_version}")
        files, home = spark.client(self._setup, cluster)
        pig = folder_of(BESIDE["pig"]) if is_there(BESIDE["pig"]) else None
        return {
            "release_dir": local,
            "java_home": None,
            "files": files,
            "spark": None if home is None else str(home),
            "spark_history": spark.history(self._setup, cluster),
            "pig": None if pig is None else str(pig),
            "doors": self._setup.doors_list(cluster).split(),
            "master": self._ground.nodes[cluster.master].data_address,
        }

    def _config(self, parameters: Mapping[str, str]) -> Plain:
        """The files of a node, and with ``running`` how its daemons run and which files they read."""
        cluster = self._cluster(parameters)
        node = NodeId(parameters.get("node") or cluster.master)
        member = cluster.members.get(node)
        if member is None:
            hint = f"Its nodes are {', '.join(sorted(cluster.members))}"
            raise UserError(f"{cut(node)!r} is no node of {cluster.id}", where="node", hint=hint)
        files = effective.written(self._setup, cluster, node, member.role)
        release = cluster.details.release_dir or str(dist_dir() / f"hadoop-{cluster.details.hadoop_version}")
        answer: dict[str, Plain] = {"node": node, "files": files, "release_dir": release}
        if "running" in parameters:
            address = self._ground.nodes[node].data_address
            answer["running"] = effective.running(self._setup, cluster, node, member.role, address)
            answer["reads"] = {name: list(reads) for name, (_, reads) in effective.DAEMONS.items()}
        return answer

    def _logs(self, parameters: Mapping[str, str]) -> Plain:
        name = _cluster_name(parameters.get("cluster", ""))
        wanted = parameters.get("node")
        job = parameters.get("job", "")
        lines = parameters.get("lines", "200")
        if not (lines.isascii() and lines.isdigit()) or len(lines) > _DIGITS:
            hint = "It must be a whole number; 0 means all lines"
            raise UserError(f"{cut(lines)!r} is not a number of lines", where="lines", hint=hint)
        live = self._clusters.get(name)
        if live is None:
            return self._from_kept(name, wanted, job, int(lines))
        nodes = sorted(self._view.nodes_of(name)) if wanted is None else [NodeId(wanted)]
        if job and wanted is None:
            nodes = [live.master]
        return self._from_nodes(live, nodes, job, int(lines))

    def _history(self, parameters: Mapping[str, str]) -> Plain:
        """Hadoop's history of the applications of an attempt of a job, one after the other; read only.

        They are found by their tag; where the ResourceManager has forgotten them, by ``application``.
        """
        cluster, job = self._cluster(parameters), JobId(parameters.get("job", ""))
        if not parameters.get("attempt", "").isdecimal():
            raise UserError("the number of the attempt is missing", where="attempt")
        addresses, deadline = self._setup.masters(cluster), Deadline.after(limits.HISTORY_S)
        tag = tag_of(job, int(parameters["attempt"]))
        applications = masters.applications(addresses, deadline, tag=tag)
        if not applications and parameters.get("application"):
            applications = (masters.YarnApplication(id=parameters["application"]),)
        return histories(addresses, applications, deadline)

    def _spark_events(self, parameters: Mapping[str, str]) -> Plain:
        """Lines of the event log of a Spark application that has ended, as many as a profile needs."""
        masters_of = self._setup.masters(self._cluster(parameters))
        return event_lines(Hdfs.of(masters_of), parameters.get("application", ""))

    def _from_nodes(self, cluster: LiveCluster, nodes: list[NodeId], job: str, lines: int) -> Iterator[Plain]:
        """The logs of each node; FawkesError only if none gives any, else what failed is a piece among the others."""
        failed: list[FawkesError] = []
        for node in nodes:
            if node not in self._ground.nodes:
                raise UserError(f"there is no node {node!r}", where="--node")
            script = node_book.collect_logs(self._ground.folders(node, cluster.id), limit_bytes=LIMIT_BYTES)
            with _Sink() as sink:
                try:
                    self._fleet.run(node, script, limits.SHOWN_LOGS_S, sink=sink)
                except (FawkesError, _TooLargeError) as error:
                    failed.append(error if isinstance(error, FawkesError) else HostError(str(error), host=node))
                    if len(failed) == len(nodes):
                        raise failed[0] from error
                    yield _not_read(node, str(failed[-1]))
                    continue
                sink.seek(0)
                yield from _pieces(sink, node, job, lines)

    def _from_kept(self, cluster: ClusterId, wanted: str | None, job: str, lines: int) -> Iterator[Plain]:
        """The logs that were kept when the nodes were wiped."""
        for path in sorted((self._kept / cluster).glob("*.tar.gz")):
            node = path.name.split(".", 1)[0]
            if wanted in (None, node):
                try:
                    with path.open("rb") as stream:
                        yield from _pieces(stream, node, job, lines)
                except FileNotFoundError:
                    # Newer logs took its room meanwhile.
                    continue

    def _cluster(self, parameters: Mapping[str, str]) -> LiveCluster:
        cluster = self._clusters.get(ClusterId(parameters.get("cluster", "")))
        if cluster is None:
            raise FawkesError(f"{parameters.get('cluster')} is not running", hint="`fawkes status` shows its state")
        return cluster


def _unknown(cluster: LiveCluster) -> list[dict[str, Plain]]:
    """Paths that may be at stake in an MR-cluster whose NameNode cannot be asked: its outputs, and anything else."""
    rows = [stake_row(cluster, output.path, save_to=output.save_to) for output in cluster.details.outputs]
    return [*rows, stake_row(cluster, "/")]


def _cluster_name(name: str) -> ClusterId:
    """The name becomes that of a folder: UserError for one that no MR-cluster can have."""
    try:
        return ClusterId(_NAME.validate_python(name))
    except ValidationError:
        hint = "`fawkes status --all` lists the names"
        raise UserError(f"{cut(name)!r} is not the name of an MR-cluster", where="cluster", hint=hint) from None


class _TooLargeError(OSError):
    """There is more than logs may have."""

    def __str__(self) -> str:
        return f"its logs have more than {show_bytes(_MOST_BYTES)} or {_MOST_FILES:,} files"


class _Sink(io.BufferedRandom):
    """A file without a name that takes as many bytes as logs may have, whatever is sent: memory would be too dear."""

    def __init__(self) -> None:
        super().__init__(tempfile.TemporaryFile(buffering=0))  # noqa: SIM115 (closed with it)

    def write(self, data: Any) -> int:
        """Writes as its base does; _TooLargeError when it is too much."""
        if self.tell() + len(data) > _MOST_BYTES:
            raise _TooLargeError
        return super().write(data)


class _Member(tarfile.TarInfo):
    """An entry of an archive; _TooLargeError for one whose further headers would be read into memory whole."""

    @classmethod
    def frombuf(cls, *args: Any) -> Self:
        """Reads as its base does."""
        member = super().frombuf(*args)
        if member.type == tarfile.GNUTYPE_SPARSE or (not member.isreg() and member.size > _PIECE_BYTES):
            raise _TooLargeError
        return member


def _not_read(node: str, why: str) -> Plain:
    return {"node": node, "file": "(not read)", "text": f"{why}\n"}


def _pieces(stream: IO[bytes], node: str, job: str, lines: int) -> Iterator[Plain]:
    """The text files of an archive of logs: those of daemons and launchers, or what belongs to one job.

    An archive that cannot be read, or that has more in it than logs may have, is a piece that says so.
    """
    try:
        with _Sink() as unpacked:
            with gzip.GzipFile(fileobj=stream) as packed:
                shutil.copyfileobj(packed, unpacked)
            unpacked.seek(0)
            with tarfile.open(fileobj=unpacked, mode="r:", tarinfo=_Member) as archive:
                for member in sorted(_members(archive, job), key=lambda m: m.name):
                    for text in _texts(archive, member, lines):
                        yield {"node": node, "file": member.name, "text": text}
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        yield _not_read(node, str(error) if isinstance(error, _TooLargeError) else f"its logs are damaged: {error}")


def _members(archive: tarfile.TarFile, job: str) -> Iterator[tarfile.TarInfo]:
    for number, member in enumerate(archive):
        if number >= _MOST_FILES or member.size > _MOST_BYTES:
            # A sparse file has no bytes in the archive.
            raise _TooLargeError
        member.pax_headers = {}
        if member.isfile() and _wanted(member.name, job):
            yield member


def _texts(archive: tarfile.TarFile, member: tarfile.TarInfo, lines: int) -> Iterator[str]:
    """The last lines of a file, all for 0, in pieces of whole lines; only a line as long as a piece is cut."""
    file = archive.extractfile(member)
    if file is None:
        return
    file.seek(_start(file, member.size, lines) if lines else 0)
    block = begun = file.read(_PIECE_BYTES)
    while begun:
        last = len(block) < _PIECE_BYTES
        end = len(begun) if last else begun.rfind(b"\n") + 1 or len(begun)
        yield begun[:end].decode(errors="replace")
        block = b"" if last else file.read(_PIECE_BYTES)
        begun = begun[end:] + block


def _start(file: IO[bytes], size: int, lines: int) -> int:
    """The place at which the last lines of a file begin. A line ends with a line feed, whatever else a job writes."""
    before = size
    while before:
        begin = max(0, before - _PIECE_BYTES)
        file.seek(begin)
        block = file.read(before - begin)
        end = len(block) - (before == size and block.endswith(b"\n"))
        feeds = block.count(b"\n", 0, end)
        if feeds >= lines:
            for _ in range(lines):
                end = block.rfind(b"\n", 0, end)
            return begin + end + 1
        lines, before = lines - feeds, begin
    return 0


def _wanted(name: str, job: str) -> bool:
    if job:
        return name.startswith(f"jobs/{job}.") and "/conf/" not in name
    return name.startswith(("logs/", "nm-logs/")) or (name.startswith("jobs/") and "/conf/" not in name)
