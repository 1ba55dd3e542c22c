"""Control groups of the hosts of a lab: a folder for each host, which it sees as the whole of them.

Version 2, and of version 1 the hierarchy for CPU time, whichever the machine has. They are the one thing of a lab that
the kernel does not remove with its last process: the code that clears the lab's folder does.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from fawkes.base.errors import RefusedError

NOTE = "groups"
"""The file in the folder of a lab that says where its control groups are, a line for each hierarchy."""

_HINT = "Bring the lab up as root, on a machine with control groups that root can write to"
_FIRST = "init"
"""The group of a host's processes where v2 can limit CPU time: a group that has such groups has no processes."""


def hierarchies(*, two: bool) -> Iterator[tuple[Path, Path]]:
    """Mount point and own group of this process, in v2 or among v1's hierarchies for CPU time."""
    paths = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, mount, kind, options, *_ = line.split()
        if kind == "cgroup2" if two else kind == "cgroup" and "cpu" in options.split(","):
            for _, controllers, path in paths:
                own = Path(f"{mount}{path}")
                if (controllers == "" if two else "cpu" in controllers.split(",")) and (own / "cgroup.procs").exists():
                    yield Path(mount), own


def make(folder: Path, name: str, hosts: Iterable[str]) -> dict[str, str]:
    """Make control groups for each host of the lab ``name``, and keep in its ``folder`` where.

    By mount point the folder with a group for each host. RefusedError where this machine, or the user, can make none.
    """
    both = (*hierarchies(two=True), *hierarchies(two=False))
    places = {mount: own / f"fawkes-lab-{name}" for mount, own in both}
    if not places:
        raise RefusedError("this machine shows no control groups", hint=_HINT)
    (folder / NOTE).write_text("".join(f"{place}\n" for place in places.values()))
    hosts = list(hosts)
    try:
        for place in places.values():
            _share_cpu(place.parent)
            place.mkdir(exist_ok=True)
            _share_cpu(place)
            for host in hosts:
                (place / host).mkdir(exist_ok=True)
    except OSError as error:
        forget(folder)
        raise RefusedError(f"control groups for the hosts cannot be made: {error}", hint=_HINT) from error
    return {str(mount): str(place) for mount, place in places.items()}


def enter(groups: Iterable[Path]) -> None:
    """Move the calling process into empty groups, without the groups below that an earlier life of the host left."""
    for group in groups:
        _remove_below(group)
        target = group
        if _share_cpu(group):
            target = group / _FIRST
            target.mkdir()
        (target / "cgroup.procs").write_text("0")


def of_host(groups: Mapping[str, str], host: str) -> dict[str, Path]:
    """The groups of one host by mount point, of what `make` returned."""
    return {mount: Path(place, host) for mount, place in groups.items()}


def forget(folder: Path) -> None:
    """Remove the control groups of the lab of this folder, all of whose processes have ended."""
    note = folder / NOTE
    if note.exists():
        for root in map(Path, note.read_text().splitlines()):
            _remove_below(root)
            with suppress(FileNotFoundError):
                root.rmdir()


def _share_cpu(group: Path) -> bool:
    """Let groups below a group of v2 limit CPU time; true if they can."""
    with suppress(OSError):
        if "cpu" in (group / "cgroup.controllers").read_text().split():
            (group / "cgroup.subtree_control").write_text("+cpu")
            return True
    return False


def _remove_below(group: Path) -> None:
    for path, folders, _ in os.walk(group, topdown=False):
        for name in folders:
            os.rmdir(os.path.join(path, name))
