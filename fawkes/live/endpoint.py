"""Where the control socket of a site is, and who is at the other end of a connection.

The socket lies in the state folder of the site, because that is the one place that a controller inside of a lab's
private mounts and a command outside of them both see under the same name.
"""

from __future__ import annotations

import os
import pwd
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SOCKET = "control.sock"

#: sun_path has 108 bytes, the last one is a zero
_LONGEST_PATH_BYTES = 107
_UCRED = struct.Struct("=iII")


@dataclass(frozen=True, slots=True)
class Peer:
    """The process at the other end, as the kernel vouches for it; ``name`` is its user's."""

    pid: int
    uid: int
    name: str


@contextmanager
def reachable(folder: Path) -> Iterator[str]:
    """An address for ``bind`` and ``connect`` of the socket in ``folder``, however long its path is.

    Valid inside of the ``with`` only; OSError when the folder cannot be opened.
    """
    path = os.path.abspath(folder / SOCKET)
    if len(os.fsencode(path)) <= _LONGEST_PATH_BYTES:
        yield path
        return
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{handle}/{SOCKET}"
    finally:
        os.close(handle)


def peer_of(connection: socket.socket) -> Peer:
    """Who is at the other end of a connected Unix socket."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
    pid, uid, _gid = _UCRED.unpack(raw)
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = f"uid {uid}"
    return Peer(pid, uid, name)
