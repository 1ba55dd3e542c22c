"""The doors of an MR-cluster: who may speak to its daemons, and how the controller proves who it is.

Each daemon, and each ApplicationMaster, has a door keeper of ours in its JVM (`fawkes/dist/java`). It reads two files
of the configuration folder: the list of addresses, and the MR-cluster's key, which the controller sends with each HTTP
request.
"""

from __future__ import annotations

import ipaddress
import os
import secrets
import threading
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from fawkes.core.model import ClusterId
from fawkes.errors import FawkesError
from fawkes.live.playbooks import hadoop

LIST = hadoop.DOORS_LIST
KEY = hadoop.DOORS_KEY

_BITS = 32


def doors_list(members: Iterable[str], clients: Iterable[str]) -> str:
    """The text of the list: one address or network in each line, sorted."""
    return "".join(f"{host}\n" for host in sorted({*members, *clients}))


def policy_hosts(members: Iterable[str], clients: Iterable[str]) -> str:
    """The same for Hadoop's own policy, which knows networks, but not their first and last address."""
    hosts = {"127.0.0.1", *members}
    for client in clients:
        network = ipaddress.ip_network(client)
        edges = {str(network[0]), str(network[-1])}
        hosts |= edges if network.num_addresses <= len(edges) else {client, *edges}
    return ",".join(sorted(hosts))


class DoorKeys:
    """The keys of MR-clusters, one file for each in a folder that only the controller's user can read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._known: dict[ClusterId, str] = {}

    def of(self, cluster: ClusterId) -> str:
        """The key of an MR-cluster, made when it has none; FawkesError when the folder cannot be used."""
        with self._lock:
            if cluster not in self._known:
                try:
                    self._known[cluster] = self._read(self._folder / cluster)
                except OSError as error:
                    why = (error.strerror or str(error)).lower()
                    raise FawkesError(
                        f"the key of {cluster} cannot be kept ({why})",
                        where=str(self._folder),
                        hint="The controller must be able to write this folder",
                    ) from error
            return self._known[cluster]

    def keep(self, clusters: Collection[ClusterId]) -> None:
        """Remove the keys of all other MR-clusters: they are gone, and their ids are never used again."""
        for path in self._folder.glob("*"):
            if path.name not in clusters:
                path.unlink(missing_ok=True)

    def _read(self, path: Path) -> str:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.chmod(0o700)
        if key := _text(path):
            return key
        made = secrets.token_hex(_BITS)
        part = path.with_name(f".{path.name}.new")
        part.unlink(missing_ok=True)
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{made}\n")
            file.flush()
            os.fsync(file.fileno())
        part.rename(path)
        return made


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return ""


class Doors:
    """What the daemons of an MR-cluster get for their doors: the jar of the door keeper and the key.

    ``jar`` gives the path of the jar, which it may have to make; FawkesError says why it cannot.
    """

    def __init__(self, keys: DoorKeys, jar: Callable[[], Path]) -> None:
        self.keys = keys
        self._jar = jar
        self._bytes: bytes | None = None

    def jar(self) -> bytes:
        """The jar."""
        if self._bytes is None:
            self._bytes = self._jar().read_bytes()
        return self._bytes
