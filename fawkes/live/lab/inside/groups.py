"""Control groups (cgroup v2) of the hosts of a lab: a folder for each host, which it sees as the whole of them.

They are the one thing of a lab that the kernel does not remove with its last process: who clears the lab's folder does.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from fawkes.base.errors import RefusedError

NOTE = "groups"
"""The file in the folder of a lab that says where its control groups are."""

_HINT = "Bring the lab up as root, on a machine with control groups (cgroup v2) that root can write to"


def mount_point() -> Path | None:
    """Where this machine shows its control groups; None if it does not."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    return next((Path(mount[1]) for mount in mounts if mount[2] == "cgroup2"), None)


def own_group() -> Path | None:
    """The folder of the control group that this process is in; None if the machine does not show it."""
    mount = mount_point()
    paths = [line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")]
    folders = [] if mount is None else [Path(f"{mount}{path}") for path in paths]
    return next((folder for folder in folders if (folder / "cgroup.procs").exists()), None)


def make(folder: Path, name: str, hosts: Iterable[str]) -> Path:
    """Make a control group for each host of the lab ``name``, and keep in its ``folder`` where; their common folder.

    RefusedError if this machine, or the user, cannot make any.
    """
    own = own_group()
    if own is None:
        raise RefusedError("this machine shows no control groups", hint=_HINT)
    root = own / f"fawkes-lab-{name}"
    (folder / NOTE).write_text(str(root))
    try:
        for host in hosts:
            os.makedirs(root / host, exist_ok=True)
    except OSError as error:
        raise RefusedError(f"control groups for the hosts cannot be made: {error}", hint=_HINT) from error
    return root


def enter(group: Path) -> None:
    """Move the calling process into an empty group, without the groups below that an earlier life of the host left."""
    _remove_below(group)
    (group / "cgroup.procs").write_text("0")


def forget(folder: Path) -> None:
    """Remove the control groups of the lab of this folder, all of whose processes have ended."""
    note = folder / NOTE
    if note.exists():
        root = Path(note.read_text())
        _remove_below(root)
        with suppress(FileNotFoundError):
            root.rmdir()


def _remove_below(group: Path) -> None:
    for path, folders, _ in os.walk(group, topdown=False):
        for name in folders:
            os.rmdir(os.path.join(path, name))
