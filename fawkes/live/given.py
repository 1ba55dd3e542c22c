"""To which node a move of masters has given their data: noted on the controller's own disk, not on that node's.

A disk that was lost says nothing of what was on it. Without the note a move that is tried again would take a new node
that comes back empty for one on which nothing was begun, and files that its NameNode took would be gone unsaid.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fawkes.core.model import ClusterId, NodeId
from fawkes.live.kept_copy import KeepError
from fawkes.store.private import FOLDER_MODE, write_private


@dataclass(frozen=True, slots=True)
class Given:
    """The move of ``version`` is at its point of no return on ``node``, a member of this ``generation``."""

    version: int
    node: NodeId
    generation: int

    @property
    def text(self) -> str:
        """As it is noted."""
        return f"{self.version} {self.generation} {self.node}\n"


class GivenNotes:
    """The latest note of each MR-cluster, in a folder of the controller's state."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, cluster: ClusterId, given: Given) -> None:
        """Note it so that no crash takes it back; KeepError when that cannot be done."""
        try:
            self._folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            write_private(self._path(cluster), given.text.encode())
        except OSError as error:
            raise KeepError(f"a move cannot be noted ({error.strerror or error})", where=str(self._folder)) from error

    def has(self, cluster: ClusterId, given: Given) -> bool:
        """Whether exactly this was noted last; KeepError when nobody knows."""
        try:
            return self._path(cluster).read_text() == given.text
        except FileNotFoundError:
            return False
        except (OSError, ValueError) as error:
            raise KeepError(f"the note of a move cannot be read ({error})", where=str(self._folder)) from error

    def remove(self, cluster: ClusterId) -> None:
        """The MR-cluster is gone for good."""
        self._path(cluster).unlink(missing_ok=True)

    def _path(self, cluster: ClusterId) -> Path:
        return self._folder / f".{cluster}.given"
