"""The folder of a lab in the cache: its state, its hosts' disks, and the lock that is held as long as it is up.

Not in the site folder, which may lie on a network file system or in a checkout, and so that a lab is found by its name
from anywhere.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fawkes.base.paths import cache_dir
from fawkes.live.lab.inside import groups

_LOCK = "lock"
STATE = "lab.json"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_RETRY_S = 0.02


class LabFolder:
    """The folder of the lab of one name; it need not exist."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.path = cache_dir().absolute() / "labs" / name

    @contextmanager
    def locked(self, wait_s: float = 0.0) -> Iterator[int | None]:
        """The handle of the lock, or None when a lab holds it; the folder is made for it.

        A lab's warden inherits the handle, and the kernel lets go of the lock when the last holder ends.
        """
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        limit = time.monotonic() + wait_s
        while (handle := self._try_lock()) is None and time.monotonic() < limit:
            time.sleep(_RETRY_S)
        try:
            yield handle
        finally:
            if handle is not None:
                os.close(handle)

    def _try_lock(self) -> int | None:
        handle = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The file may have been removed since it was opened, by a `down` that held the lock then.
            if os.path.samestat(os.fstat(handle), os.stat(self.path / _LOCK)):
                return handle
        except (BlockingIOError, FileNotFoundError):
            pass
        os.close(handle)
        return None

    def clear(self) -> None:
        """Remove everything but the lock, which the caller holds, and the control groups of the lab's hosts."""
        groups.forget(self.path)
        for entry in self.path.iterdir():
            if entry.name == _LOCK:
                continue
            if entry.is_dir() and not entry.is_symlink():
                remove_tree(entry)
            else:
                entry.unlink()

    def remove(self) -> None:
        """Remove the folder with the lock, which the caller holds."""
        self.clear()
        (self.path / _LOCK).unlink()
        with suppress(OSError):  # another `lab up` may be at work in it already
            self.path.rmdir()

    def write_state(self, data: dict[str, Any], pid: int) -> str:
        """Keep ``data`` and who the warden is: process id, start time and boot, which together are unique."""
        state = data | {"pid": pid, "started": _start_ticks(pid), "boot": _boot()}
        text = json.dumps(state, indent=2) + "\n"
        (self.path / STATE).write_text(text)
        return text

    def state(self) -> dict[str, Any]:
        """The state that `write_state` kept; empty when there is none, or only a part of it."""
        try:
            data = json.loads((self.path / STATE).read_text())
        except (OSError, ValueError):
            return {}
        return data if isinstance(data, dict) else {}

    def warden_by_state(self) -> int | None:
        """The warden's process id, if the process of that id is still the one that the state means."""
        state = self.state()
        pid = state.get("pid")
        if pid is None or state.get("boot") != _boot() or state.get("started") != _start_ticks(pid):
            return None
        return int(pid)


def remove_tree(folder: Path) -> None:
    """Remove a folder, also where a host took the rights to its own folders away."""

    def allow(function: Callable[..., Any], path: str, _: Any) -> None:
        os.chmod(os.path.dirname(path), stat.S_IRWXU)
        with suppress(FileNotFoundError, NotADirectoryError):
            if os.path.isdir(path) and not os.path.islink(path):
                os.chmod(path, stat.S_IRWXU)
                shutil.rmtree(path, onerror=allow)
            else:
                function(path)

    shutil.rmtree(folder, onerror=allow)


def _boot() -> str:
    return _BOOT_ID.read_text().strip()


def _start_ticks(pid: int) -> int | None:
    """The time when a process started, in clock ticks since boot; None when there is none of that id."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except OSError:
        return None
