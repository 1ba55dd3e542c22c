"""Giving up rights, for good: what a process can still do afterwards is compute, and use what it has open.

The kernel holds the process to it (seccomp and limits), so that it does not matter which objects of Python the code in
it gets hold of. No rights of root are needed.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import struct
from collections.abc import Sequence
from dataclasses import dataclass

_NO_NEW_PRIVS, _SECCOMP, _FILTER = 38, 22, 2
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_EPERM = 1
#: places of a call's number, of the machine and of the arguments in what the kernel shows to a filter
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16
#: of each call, what the kernel may be asked for: memory, a lock, the time, and the files that are open
_COMPUTING = (
    "read", "write", "mmap", "munmap", "mremap", "mprotect", "madvise", "brk", "futex", "exit", "exit_group",
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "setitimer", "restart_syscall", "sched_yield",
    "clock_gettime", "gettimeofday", "getrandom", "getpid", "gettid",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Machine:
    """The kernel's name of a kind of processor, and the numbers of its calls."""

    name: int
    calls: dict[str, int]
    foreign_from: int


_MACHINES = {
    "x86_64": _Machine(
        0xC000003E,
        {
            "read": 0, "write": 1, "mmap": 9, "munmap": 11, "mremap": 25, "mprotect": 10, "madvise": 28, "brk": 12,
            "futex": 202, "exit": 60, "exit_group": 231, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15,
            "sigaltstack": 131, "setitimer": 38, "restart_syscall": 219, "sched_yield": 24, "clock_gettime": 228,
            "gettimeofday": 96, "getrandom": 318, "getpid": 39, "gettid": 186, "tgkill": 234,
        },
        # Numbers of the x32 interface stand for other calls.
        0x40000000,
    ),
    "aarch64": _Machine(
        0xC00000B7,
        {
            "read": 63, "write": 64, "mmap": 222, "munmap": 215, "mremap": 216, "mprotect": 226, "madvise": 233,
            "brk": 214, "futex": 98, "exit": 93, "exit_group": 94, "rt_sigaction": 134, "rt_sigprocmask": 135,
            "rt_sigreturn": 139, "sigaltstack": 132, "setitimer": 103, "restart_syscall": 128, "sched_yield": 124,
            "clock_gettime": 113, "gettimeofday": 169, "getrandom": 278, "getpid": 172, "gettid": 178, "tgkill": 131,
        },
        0xFFFFFFFF,
    ),
}  # fmt: skip


class NoCageError(OSError):
    """This machine cannot take the rights of a process away."""


class _Instructions(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("first", ctypes.c_void_p)]


def own_bytes() -> int:
    """The bytes of address space that this process has."""
    with open("/proc/self/statm", encoding="ascii") as figures:
        return int(figures.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def give_up(memory_bytes: int, *, written_bytes: int) -> None:
    """Leave this process nothing but its standard streams, ``memory_bytes`` more memory, and its processor.

    It opens no file, socket or program and starts no thread or process from then on; ``written_bytes`` is how long
    a file at the other end of a stream may get. NoCageError when the kernel does not enforce it.
    """
    memory = own_bytes() + memory_bytes
    os.closerange(3, 1 << 20)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_NOFILE, 3)
    _lower(resource.RLIMIT_NPROC, 0)
    _lower(resource.RLIMIT_FSIZE, written_bytes)
    _lower(resource.RLIMIT_AS, memory)
    _filter_calls()


def _lower(limit: int, value: int) -> None:
    allowed = resource.getrlimit(limit)[1]
    least = value if allowed == resource.RLIM_INFINITY else min(value, allowed)
    resource.setrlimit(limit, (least, least))


def _filter_calls() -> None:
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        raise NoCageError(f"there is no list of system calls for {platform.machine()}")
    program = b"".join(_program(machine, os.getpid()))
    text = ctypes.create_string_buffer(program, len(program))
    instructions = _Instructions(len(program) // 8, ctypes.cast(text, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    zero = ctypes.c_ulong(0)
    if libc.prctl(_NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero) != 0:
        raise NoCageError(f"the kernel refuses no_new_privs ({os.strerror(ctypes.get_errno())})")
    if libc.prctl(_SECCOMP, ctypes.c_ulong(_FILTER), ctypes.byref(instructions), zero, zero) != 0:
        raise NoCageError(f"the kernel refuses a seccomp filter ({os.strerror(ctypes.get_errno())})")


def _program(machine: _Machine, pid: int) -> Sequence[bytes]:
    """The filter: calls of another kind of machine end the process, those that are not listed fail with EPERM.

    A process may signal itself alone, as an alarm does that ends it.
    """
    allowed = [machine.calls[name] for name in _COMPUTING]
    refuse = _instruction(_RETURN, 0, 0, _ERRNO | _EPERM)
    allow = _instruction(_RETURN, 0, 0, _ALLOW)
    steps = [
        _instruction(_LOAD, 0, 0, _MACHINE),
        _instruction(_EQUAL, 1, 0, machine.name),
        _instruction(_RETURN, 0, 0, _KILL),
        _instruction(_LOAD, 0, 0, _NUMBER),
        _instruction(_AT_LEAST, 0, 1, machine.foreign_from),
        refuse,
    ]
    for number in allowed:
        steps += [_instruction(_EQUAL, 0, 1, number), allow]
    steps += [
        _instruction(_EQUAL, 0, 3, machine.calls["tgkill"]),
        _instruction(_LOAD, 0, 0, _ARGUMENTS),
        _instruction(_EQUAL, 0, 1, pid),
        allow,
        refuse,
    ]
    return steps


def _instruction(code: int, if_true: int, if_false: int, value: int) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
