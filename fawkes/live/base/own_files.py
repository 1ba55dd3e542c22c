"""Files that the controller makes once for each MR-cluster and keeps, in a folder that only its user can read."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Generic, TypeVar

from fawkes.base.errors import FawkesError
from fawkes.core.values.model import ClusterId
from fawkes.store.private import private_folder, write_private

T = TypeVar("T")
_log = logging.getLogger(__name__)


class OwnFiles(Generic[T]):
    """``what`` each MR-cluster has, in a file of its name with a ``suffix``.

    ``make`` gives the bytes of a new one, ``read`` the value of bytes: ValueError for those that it cannot use.
    """

    def __init__(
        self, folder: Path, what: str, make: Callable[[ClusterId], bytes], read: Callable[[bytes], T], suffix: str = ""
    ) -> None:
        self._folder = folder
        self._what = what
        self._make = make
        self._read = read
        self._suffix = suffix
        self._lock = threading.Lock()
        self._known: dict[ClusterId, T] = {}

    def of(self, cluster: ClusterId) -> T:
        """The value of an MR-cluster, made when it has none; FawkesError when the folder or the file cannot be used."""
        with self._lock:
            if cluster not in self._known:
                try:
                    self._known[cluster] = self._read(self._bytes(cluster))
                except (OSError, ValueError) as error:
                    why = (getattr(error, "strerror", None) or str(error)).lower()
                    raise FawkesError(
                        f"the {self._what} of {cluster} cannot be kept ({why})",
                        where=str(self._folder),
                        hint="The controller must be able to write this folder",
                    ) from error
            return self._known[cluster]

    def keep(self, clusters: Collection[ClusterId]) -> None:
        """Remove what all other MR-clusters had: they are gone, and a later one of their name gets another.

        A file that cannot be removed is logged: the loop calls this, and it must go on.
        """
        kept = {f"{cluster}{self._suffix}" for cluster in clusters}
        with self._lock:
            self._known = {cluster: value for cluster, value in self._known.items() if cluster in clusters}
            for path in self._folder.glob("*"):
                if path.name not in kept:
                    try:
                        path.unlink(missing_ok=True)
                    except OSError as error:
                        _log.warning("%s: the %s of an MR-cluster that is gone stays: %s", path, self._what, error)

    def _bytes(self, cluster: ClusterId) -> bytes:
        """The bytes of the file, which is made whole or not at all; an empty one is made anew."""
        path = self._folder / f"{cluster}{self._suffix}"
        private_folder(self._folder)
        self._folder.chmod(0o700)
        if path.exists() and path.stat().st_size:
            return path.read_bytes()
        made = self._make(cluster)
        write_private(path, made)
        return made
