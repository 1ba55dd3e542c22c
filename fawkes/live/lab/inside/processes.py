"""All processes of one host, found by their namespace of process ids: how a host is paused and goes on.

SIGSTOP instead of a freezer cgroup: see docs/decisions/lab.md.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from fawkes.base.errors import HostError

_PAUSE_LIMIT_S = 10.0
_HALTED = "TtZX"
_WAITING = "D"


def namespace_of(pid: int) -> str:
    """The namespace of process ids that a process lives in."""
    return os.readlink(f"/proc/{pid}/ns/pid")


def members(namespace: str) -> Iterator[int]:
    """The processes of a namespace, the first one first."""
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        with suppress(FileNotFoundError, ProcessLookupError):
            if namespace_of(pid) == namespace:
                yield pid


def pause(host: str, first: int) -> None:
    """Stop all processes of the host whose first process is ``first``.

    A process may start others while the round goes on, so there are rounds until one finds everything stopped: a
    stopped process starts nothing. One that waits in the kernel (``D``) and was signalled stops before its next
    instruction. The parent of a child that was stopped between vfork and exec waits so until the child goes on.
    """
    namespace = namespace_of(first)
    limit = time.monotonic() + _PAUSE_LIMIT_S
    signalled: set[int] = set()
    while True:
        states = {pid: _state(pid) for pid in members(namespace)}
        awake = [pid for pid, state in states.items() if state not in _HALTED]
        if all(states[pid] == _WAITING and pid in signalled for pid in awake):
            return
        if time.monotonic() > limit:
            raise HostError(f"{len(awake)} processes did not stop within {_PAUSE_LIMIT_S:.0f} s", host=host)
        _signal(awake, signal.SIGSTOP)
        signalled.update(awake)


def resume(first: int) -> None:
    """Let them all go on; children before their parents, who then never see them stopped."""
    _signal(reversed(list(members(namespace_of(first)))), signal.SIGCONT)


def _signal(pids: Iterator[int] | list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _state(pid: int) -> str:
    """One letter; X for a process that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"
