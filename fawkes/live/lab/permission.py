"""Advice for a user whose kernel forbids a lab: which permission is missing and what to type."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from fawkes.base.errors import FawkesError, RefusedError

_SETTINGS = {
    "kernel.unprivileged_userns_clone": ("0", "1"),
    "kernel.apparmor_restrict_unprivileged_userns": ("1", "0"),
}
_ENOUGH = 10_000
_CONTAINER = (
    "In a container: start that with --privileged, or with --cap-add SYS_ADMIN --cap-add NET_ADMIN "
    "--security-opt seccomp=unconfined --security-opt apparmor=unconfined"
)


def explain(error: OSError, *, root: bool, settings: Path = Path("/proc/sys")) -> FawkesError:
    """The error to show for what the kernel answered while a lab was being built."""
    what = f"{error.strerror or error}" + (f" ({error.filename})" if error.filename else "")
    if error.errno == errno.ENOSYS:
        return RefusedError(f"the kernel is too old for a lab: {what}", hint="Linux 5.12 or later is needed")
    if error.errno == errno.EOPNOTSUPP:
        return RefusedError(f"the kernel has no virtual network: {what}", hint="As root type: modprobe -a bridge veth")
    if error.errno in (errno.ENOSPC, errno.EUSERS) and (low := _low_limits(settings)):
        commands = " ".join(f"{name}={_ENOUGH}" for name in low)
        return RefusedError(
            f"the kernel allows too few namespaces ({', '.join(low)}): {what}",
            hint=f"As root type: sysctl -w {commands}",
        )
    if error.errno not in (errno.EPERM, errno.EACCES):
        return FawkesError(f"the lab could not be built: {what}")
    if root:
        return RefusedError(f"root lacks the permission CAP_SYS_ADMIN or CAP_NET_ADMIN here: {what}", hint=_CONTAINER)
    for name, (forbidden, allowed) in _SETTINGS.items():
        file = settings / name.replace(".", "/")
        if file.exists() and file.read_text().strip() == forbidden:
            return RefusedError(
                f"the kernel does not let ordinary users make namespaces ({name} is {forbidden}): {what}",
                hint=f"As root type: sysctl -w {name}={allowed}. Or run the lab as root",
            )
    return RefusedError(
        f"the kernel does not let user {os.getuid()} make namespaces: {what}", hint=f"Run the lab as root. {_CONTAINER}"
    )


def _low_limits(settings: Path) -> list[str]:
    files = sorted((settings / "user").glob("max_*_namespaces"))
    return [f"user.{file.name}" for file in files if int(file.read_text()) < _ENOUGH]
