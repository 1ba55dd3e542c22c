"""Files that go from the controller to the master before a job begins: its jar, its other files, its configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Protocol

from fawkes.base.errors import UserError
from fawkes.config.clusters.details import JobDetails
from fawkes.core.values.effects import StartJob
from fawkes.core.values.model import NodeId
from fawkes.live.nodes.playbooks import job as book
from fawkes.playbook import Lease

#: keys that a job's pages, its history and its kept configuration show as asterisks
_REDACTED = "mapreduce.job.redacted-properties"
#: how a file goes along with a Spark program; Python and Java find the others by their path
_SPARK_FILES = {".py": "--py-files", ".zip": "--py-files", ".egg": "--py-files", ".jar": "--jars"}


class Carrier(Protocol):
    """Writes files on nodes; `live.nodes.fleet.Fleet` is the real one."""

    def put(self, node: str, data: bytes | BinaryIO, path: PurePosixPath, *, mode: int, lease: Lease) -> None:
        """Write a file whole or not at all, if the lease allows it; HostError."""


class Upload:
    """Puts files beside an attempt, each whole or not at all; the user's go into a folder of their own."""

    def __init__(self, fleet: Carrier) -> None:
        self._fleet = fleet

    def job_files(
        self, node: NodeId, right: Lease, effect: StartJob, details: JobDetails, conf: Mapping[str, str]
    ) -> None:
        """Bring everything that an attempt needs; UserError for a file that is not there (any more)."""
        folder = book.job_folder(right.folders, effect.job, effect.attempt)
        files = book.files_folder(right.folders, effect.job, effect.attempt)
        sources = [Path(name) for name in (details.jar, details.pig, details.python, *details.files) if name]
        for source in sources:
            if not source.is_file():
                raise UserError("there is no such file", where=str(source), hint="The job cannot start without it")
        for source in sources:
            with source.open("rb") as stream:
                self._fleet.put(node, stream, files / source.name, lease=right, mode=0o755)
        for name, text in sorted(conf.items()):
            self._fleet.put(node, text.encode(), folder / "conf" / name, lease=right, mode=0o600)


def uploaded(files: PurePosixPath, local: str) -> str:
    """The place where a local file of a job lies on the master; ``files`` is the attempt's folder for them."""
    return str(files / Path(local).name)


def streaming_words(details: JobDetails, files: PurePosixPath, args: Sequence[str]) -> list[str]:
    """The arguments of Hadoop Streaming."""
    words = ["-files", ",".join(uploaded(files, name) for name in details.files)] if details.files else []
    for source in details.inputs:
        words += ["-input", source]
    for flag, value in (
        ("-output", details.output),
        ("-mapper", details.mapper),
        ("-combiner", details.combiner),
        ("-reducer", details.reducer),
    ):
        words += [flag, value] if value else []
    return [*words, *args]


def spark_words(details: JobDetails, files: PurePosixPath) -> list[str]:
    """The arguments of `spark-submit` for a job's program: its files by their kind, then the program and its own."""
    by_flag: dict[str, list[str]] = {}
    for name in details.files:
        by_flag.setdefault(_SPARK_FILES.get(PurePosixPath(name).suffix, "--files"), []).append(uploaded(files, name))
    words = [word for flag, names in by_flag.items() for word in (flag, ",".join(names))]
    words += ["--class", details.main_class] if details.main_class else []
    return [*words, uploaded(files, details.python or details.jar), *details.args]


@dataclass(frozen=True, slots=True)
class Command:
    """The command of a job's launcher: words, environment, and the configuration of this one attempt."""

    argv: Sequence[str]
    env: Mapping[str, str]
    conf: Mapping[str, str]


def with_secrets(properties: Mapping[str, str], secrets: Mapping[str, str]) -> dict[str, str]:
    """Both, and the names of the secret ones where Hadoop reads which keys it never shows."""
    if not secrets:
        return dict(properties)
    hidden = [*filter(None, [properties.get(_REDACTED, "")]), *secrets]
    return {**properties, **secrets, _REDACTED: ",".join(hidden)}
