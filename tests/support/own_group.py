"""A control group for tests: what they start, and the groups that scripts make for leases, ends below it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fawkes.live.lab.inside import groups


def mount_point() -> Path | None:
    """The folder where this machine shows its control groups (cgroup v2); None if it does not."""
    return next((mount for mount, _ in groups.hierarchies(two=True)), None)


def own_group() -> Path | None:
    """The folder of the control group (v2) that this process is in; None if the machine does not show it."""
    return next((own for _, own in groups.hierarchies(two=True)), None)


def own_cpu_group() -> Path | None:
    """The same in the hierarchy of version 1 for CPU time."""
    return next((own for _, own in groups.hierarchies(two=False)), None)


@contextmanager
def in_own_group() -> Iterator[Path | None]:
    """The control group of this process inside of the block; None on a machine where it cannot make one."""
    before = own_group()
    group = None if before is None else before / f"fawkes-tests-{os.getpid()}"
    try:
        if before is None or group is None:
            raise OSError("no control groups")
        group.mkdir()
        (group / "cgroup.procs").write_text("0")
    except OSError:
        yield None
        return
    try:
        yield group
    finally:
        (before / "cgroup.procs").write_text("0")
        for path, _, _ in os.walk(group, topdown=False):
            with suppress(OSError):
                os.rmdir(path)
