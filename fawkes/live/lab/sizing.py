"""The resources that each host of a lab may promise to Hadoop, so that all promises together fit into the machine."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from fawkes.base.errors import RefusedError
from fawkes.base.units import show_bytes

MB = 1_000_000

SYSTEM_BYTES = 1000 * MB
"""Left to everything else on the machine."""

DAEMONS_OF_HOST_BYTES = 430 * MB
"""A NodeManager (230 MB) and a DataNode (200 MB), as measured with their default heaps."""

MASTERS_BYTES = 1200 * MB
"""NameNode, ResourceManager, JobHistoryServer and the controller's share of one MR-cluster."""

JOURNAL_BYTES = 150 * MB
"""A JournalNode, as measured with a heap of 128 MB."""

SECOND_NAMENODE_BYTES = 200 * MB
"""A second NameNode, as measured with a heap of 128 MB and small data."""

HOSTS_OF_CLUSTER = 3
LEAST_OFFER_BYTES = 640 * MB
"""An ApplicationMaster (384 MB) and one task (256 MB): with less no job could ever run."""

MOST_OFFER_BYTES = 2000 * MB
STEP_BYTES = 64 * MB


@dataclass(frozen=True)
class LabMachine:
    """The machine: memory in bytes, and cores."""

    memory_bytes: int
    cores: int


@dataclass(frozen=True)
class Offer:
    """The offer of one NodeManager."""

    memory_bytes: int
    cores: int


def this_machine() -> LabMachine:
    """The memory and the cores that this process may use, limits of its memory cgroup included."""
    match = re.search(r"^MemTotal:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    total = int(match[1]) * 1024 if match else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return LabMachine(min([total, *_cgroup_limits()]), len(os.sched_getaffinity(0)))


def offer(hosts: int, machine: LabMachine, *, asked_bytes: int | None, disk_bytes: int | None) -> Offer:
    """The offer of each of so many hosts; RefusedError with the number that fits when it is too little.

    With ``asked_bytes`` only these promises are added up: whoever names a size knows which daemons will run.
    """
    disk = disk_bytes or 0  # a limited disk is held in memory
    cores = max(2, machine.cores // hosts)
    if asked_bytes is not None:
        fits = (machine.memory_bytes - SYSTEM_BYTES) // max(1, asked_bytes + disk)
        _refuse_more(hosts, fits, machine, f"{show_bytes(asked_bytes)} for each NodeManager")
        return Offer(asked_bytes, cores)
    fits = 0
    while _offered(fits + 1, machine, disk) >= LEAST_OFFER_BYTES:
        fits += 1
    _refuse_more(hosts, fits, machine, f"{show_bytes(LEAST_OFFER_BYTES)} for each NodeManager beside the daemons")
    free = _offered(hosts, machine, disk)
    return Offer(min(MOST_OFFER_BYTES, free // STEP_BYTES * STEP_BYTES), cores)


def _offered(hosts: int, machine: LabMachine, disk_bytes: int) -> int:
    clusters = max(1, hosts // HOSTS_OF_CLUSTER)
    free = machine.memory_bytes - SYSTEM_BYTES - clusters * MASTERS_BYTES
    return free // hosts - DAEMONS_OF_HOST_BYTES - disk_bytes


def _refuse_more(hosts: int, fits: int, machine: LabMachine, what: str) -> None:
    if hosts > fits:
        raise RefusedError(
            f"{hosts} hosts do not fit into {show_bytes(machine.memory_bytes)} of memory with {what}: {fits} fit",
            hint=f"Use --hosts {fits}, or a smaller --nodemanager-memory"
            if fits
            else "Give a smaller --nodemanager-memory, or use a machine with more memory",
        )


def _cgroup_limits() -> list[int]:
    limits = []
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "memory":
            limits += _limits_above(Path("/sys/fs/cgroup/memory"), path, "memory.limit_in_bytes")
        elif not controllers:
            limits += _limits_above(Path("/sys/fs/cgroup"), path, "memory.max")
    return limits


def _limits_above(root: Path, path: str, name: str) -> list[int]:
    """The limits of a cgroup and of all that it is in; none where a file is missing or says ``max``."""
    folder = root / path.lstrip("/")
    files = [each / name for each in (folder, *folder.parents) if each.is_relative_to(root)]
    texts = [file.read_text().strip() for file in files if file.is_file()]
    return [int(text) for text in texts if text.isdigit()]
