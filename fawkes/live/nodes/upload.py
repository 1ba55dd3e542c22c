"""Files that go from the controller to the master before a job begins: its jar, its other files, its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Protocol

from fawkes.base.errors import UserError
from fawkes.config.clusters.details import JobDetails
from fawkes.core.values.effects import StartJob
from fawkes.core.values.model import NodeId
from fawkes.live.nodes.playbooks import job as book
from fawkes.playbook import Lease


class Carrier(Protocol):
    """Writes files on nodes; `live.nodes.fleet.Fleet` is the real one."""

    def put(self, node: str, data: bytes | BinaryIO, path: PurePosixPath, *, mode: int, lease: Lease) -> None:
        """Write a file whole or not at all, if the lease allows it; HostError."""
        ...


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
        sources = [Path(name) for name in (details.jar, details.pig, *details.files) if name]
        for source in sources:
            if not source.is_file():
                raise UserError("there is no such file", where=str(source), hint="The job cannot start without it")
        for source in sources:
            with source.open("rb") as stream:
                self._fleet.put(node, stream, files / source.name, lease=right, mode=0o755)
        for name, text in sorted(conf.items()):
            self._fleet.put(node, text.encode(), folder / "conf" / name, lease=right, mode=0o600)


def uploaded(files: PurePosixPath, local: str) -> str:
    """Where a local file of a job lies on the master; ``files`` is the attempt's folder for them."""
    return str(files / Path(local).name)
