"""The node to which a move of masters has given their data: noted on the controller's own disk, not on that node's.

A disk that was lost says nothing of what was on it. Without the note a move that is tried again would take a new node
that comes back empty for one on which nothing was begun, and files that its NameNode took would be gone unsaid. That
nothing was begun is noted as well: a folder that somebody has deleted says neither.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from fawkes.core.values.model import ClusterId, NodeId
from fawkes.live.edits.kept_copy import KeepError
from fawkes.store.private import private_folder, write_private

_NOTHING = " nothing"
_ENDING = ".given"


@dataclass(frozen=True, slots=True)
class Given:
    """The move of ``version`` is at its point of no return on ``node``, a member of this ``generation``.

    Or nothing has ``begun`` there.
    """

    version: int
    node: NodeId
    generation: int
    begun: bool = True

    @property
    def text(self) -> str:
        """The text of the note."""
        return f"{self.version} {self.generation} {self.node}{'' if self.begun else _NOTHING}\n"

    def follows(self, text: str) -> bool:
        """True if a note of this text is of an earlier move, or of this one before it began; or is no note at all."""
        version = text.partition(" ")[0]
        if not version.isdecimal() or int(version) < self.version:
            return True
        return int(version) == self.version and text.rstrip().endswith(_NOTHING)


class GivenNotes:
    """The latest note of each MR-cluster, in a folder of the controller's state."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    def put(self, cluster: ClusterId, given: Given) -> None:
        """Note it so that no crash takes it back; KeepError when that cannot be done.

        A look may end late: that nothing has begun is not noted of a move that has, nor of one before the last.
        """
        with self._lock:
            if given.begun or given.follows(self._read(cluster)):
                self._write(cluster, given)

    def has(self, cluster: ClusterId, given: Given) -> bool:
        """True if exactly this was noted last; KeepError when nobody knows."""
        return self._read(cluster) == given.text

    def _read(self, cluster: ClusterId) -> str:
        try:
            return self._path(cluster).read_text()
        except FileNotFoundError:
            return ""
        except (OSError, ValueError) as error:
            raise KeepError(f"the note of a move cannot be read ({error})", where=str(self._folder)) from error

    def _write(self, cluster: ClusterId, given: Given) -> None:
        try:
            private_folder(self._folder)
            write_private(self._path(cluster), given.text.encode())
        except OSError as error:
            raise KeepError(f"a move cannot be noted ({error.strerror or error})", where=str(self._folder)) from error

    def remove(self, cluster: ClusterId) -> None:
        """The MR-cluster is gone for good."""
        self._path(cluster).unlink(missing_ok=True)

    def clusters(self) -> set[ClusterId]:
        """The MR-clusters that have a note."""
        return {ClusterId(path.name[1:].removesuffix(_ENDING)) for path in self._folder.glob(f".*{_ENDING}")}

    def _path(self, cluster: ClusterId) -> Path:
        return self._folder / f".{cluster}{_ENDING}"
