"""The system calls that Python 3.11 has no function for: namespaces and mounts.

Each function raises OSError with the kernel's error number, as the functions of ``os`` do.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

NEW_MOUNTS = 0x0002_0000
NEW_HOSTNAME = 0x0400_0000
NEW_IPC = 0x0800_0000
NEW_USERS = 0x1000_0000
NEW_PIDS = 0x2000_0000
NEW_NETWORK = 0x4000_0000

BIND = 4096
RECURSIVE = 16384
SLAVE = 1 << 19

_MOUNT_SETATTR = 442  # the same number on every architecture
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_READ_ONLY = 1
_NO_PROGRAMS = 8

_libc = ctypes.CDLL(None, use_errno=True)


class _MountAttributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def unshare(flags: int) -> None:
    """Move the calling process (for process ids: its children) into new namespaces."""
    _check(_libc.unshare(flags), "unshare")


def map_user(inside: int, outside_user: int, outside_group: int) -> None:
    """Let the one user of a new user namespace be called ``inside``: 0 for root."""
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{inside} {outside_user} 1")
    Path("/proc/self/gid_map").write_text(f"{inside} {outside_group} 1")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Mount ``source`` on ``target``; ``kind`` is the type of a file system, empty for binds."""
    result = _libc.mount(
        source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), data.encode() or None
    )
    _check(result, f"mount {kind or source} on {target}")


def bind(source: str, target: str) -> None:
    """Show the file or folder ``source`` at ``target`` as well, writable even below a read-only mount."""
    mount(source, target, flags=BIND)
    _mount_setattr(target, 0, clear=_READ_ONLY)


def make_all_read_only() -> None:
    """Let no mount of this mount namespace be written to; later mounts are not touched."""
    _mount_setattr("/", _AT_RECURSIVE, set_=_READ_ONLY)


def forbid_programs(target: str) -> None:
    """Let no program run from this mount (noexec)."""
    _mount_setattr(target, 0, set_=_NO_PROGRAMS)


def _mount_setattr(target: str, flags: int, set_: int = 0, clear: int = 0) -> None:
    attributes = _MountAttributes(set_, clear, 0, 0)
    result = _libc.syscall(
        ctypes.c_long(_MOUNT_SETATTR),
        ctypes.c_int(_AT_FDCWD),
        target.encode(),
        ctypes.c_uint(flags),
        ctypes.byref(attributes),
        ctypes.c_size_t(ctypes.sizeof(attributes)),
    )
    _check(result, f"mount_setattr on {target}")
