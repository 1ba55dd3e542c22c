"""The place where the control socket of a site is, and who is at the other end of a connection.

The socket lies in the site folder, because that is the one place that a controller inside of a lab's private mounts
and a command outside of them both see under the same name: in the state folder, which is the controller's own, or in
``control/`` when the site lets other users ask.
"""

from __future__ import annotations

import os
import pwd
import socket
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SOCKET = "control.sock"
LANGUAGE = "v1/"
"""The beginning of the path of each command: a controller that would read its verb otherwise refuses all of them."""
MOST_BODY_BYTES = 1 << 20
"""The longest body of a request."""
TOKEN, ROLE = "Fawkes-Token", "Fawkes-Role"
"""Headers with the holder of a token, for whom `fawkes web` asks, and the holder's role."""

#: sun_path has 108 bytes, the last one is a zero
_LONGEST_PATH_BYTES = 107
_UCRED = struct.Struct("=iII")
_GID = struct.Struct("=I")
#: of Linux since 4.13; Python has no name for it
_SO_PEERGROUPS = 59
#: Python asks for no more; it is room for 256 groups
_MOST_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Peer:
    """The process at the other end, as the kernel vouches for it; ``name`` is its user's, ``groups`` are all of its.

    ``role`` limits what it may do to the role of the token that it asks with; empty: there is no such limit.
    """

    pid: int
    uid: int
    name: str
    groups: frozenset[int] = frozenset()
    role: str = ""


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
    """The process at the other end of a connected Unix socket."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
    pid, uid, gid = _UCRED.unpack(raw)
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = f"uid {uid}"
    return Peer(pid, uid, name, frozenset({gid, *_further_groups(connection, name, gid)}))


def _further_groups(connection: socket.socket, name: str, gid: int) -> Iterable[int]:
    """The supplementary groups of the peer when it connected; those of the machine's list where they are too many."""
    try:
        raw = connection.getsockopt(socket.SOL_SOCKET, _SO_PEERGROUPS, _MOST_BYTES)
    except OSError:
        return os.getgrouplist(name, gid)
    return (gid for (gid,) in _GID.iter_unpack(raw))
