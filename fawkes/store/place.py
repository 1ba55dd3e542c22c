"""The place where a ledger lies: what tells a state folder from a copy of it, which has the same content."""

from __future__ import annotations

import os
import socket
from pathlib import Path

#: systemd's and D-Bus's; both are made when a machine is set up, and a copied folder does not bring them along
_MACHINE_ID = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))


def place_of(ledger: Path, folder: Path | None = None) -> str:
    """The place of a ledger: the machine's id, the inode of its folder, its own inode, and the host's name.

    ``same_place`` compares two. Without an id of the machine the inodes alone count. ``folder`` is the one into which
    the ledger is about to be renamed.
    """
    machine = next((text for file in _MACHINE_ID if (text := _text(file))), "-")
    return f"{machine} {os.stat(folder or ledger.parent).st_ino} {os.stat(ledger).st_ino} {socket.gethostname()}"


def same_place(mine: str, other: str) -> bool:
    """True if two places are one. The host's name does not count: a container gets a new one with each start."""
    return mine.split()[:3] == other.split()[:3]


def host_of(place: str) -> str:
    """The name that the host had; for people."""
    return place.split()[-1] if place else "another host"


def _text(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""
