"""The doors of an MR-cluster: who may speak to its daemons, and how the controller proves who it is.

Each daemon, and each ApplicationMaster, has a door keeper of ours in its JVM (`fawkes/playbook/dist/compile/java`). It
reads two files of the configuration folder: the list of addresses, and the MR-cluster's key, which the controller sends
with each HTTP request.
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path

from fawkes.core.values.model import ClusterId
from fawkes.live.base.own_files import OwnFiles
from fawkes.live.nodes.playbooks import hadoop

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


def keep_newest(written: str, newest: Callable[[], str], write: Callable[[str], object]) -> None:
    """Write the list anew for as long as it has changed since what was ``written`` was made.

    To be called after every write that holds no turn: else one with an older list may be the last, and masters go on
    turning away a node that has joined meanwhile.
    """
    while (text := newest()) != written:
        write(text)
        written = text


class DoorKeys(OwnFiles[str]):
    """The keys of MR-clusters."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "key", _made, lambda data: data.decode().strip())


def _made(cluster: ClusterId) -> bytes:
    return f"{secrets.token_hex(_BITS)}\n".encode()


class Doors:
    """The doors of an MR-cluster's daemons: the jar of the door keeper and the key.

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
