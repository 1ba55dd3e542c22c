"""Run a command inside a lab: ``enter.py PIDFD NAMESPACES -- COMMAND...``, started by its path.

Only the standard library, so that it starts in a few milliseconds. It joins the namespaces of the process behind the
handle PIDFD, passes signals on, and ends as the command ends; when it is killed, so is the command.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_SET_PDEATHSIG = 1
_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_FROM_TERMINAL = 0x80  # SI_KERNEL: the command got it from the terminal as well
_NOT_FOUND, _NOT_RUN = 127, 126


def main(arguments: list[str]) -> None:
    """Join, run, and end with the command's exit code, or by the signal that ended it."""
    handle, namespaces, command = int(arguments[0]), int(arguments[1]), arguments[3:]
    folder = os.getcwd()
    libc = ctypes.CDLL(None, use_errno=True)
    if namespaces and libc.setns(handle, namespaces) != 0:
        number = ctypes.get_errno()
        sys.exit(f"fawkes: the lab cannot be entered: {os.strerror(number)}")
    os.chdir(folder)
    signal.pthread_sigmask(signal.SIG_BLOCK, (*_PASSED_ON, signal.SIGCHLD))
    child = os.fork()
    if not child:
        libc.prctl(_SET_PDEATHSIG, signal.SIGKILL)
        _run(command)
    _end_as(_follow(child))


def _run(command: list[str]) -> None:
    for each in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(each, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        print(f"fawkes: {command[0]}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(_NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_RUN)


def _follow(child: int) -> int:
    """Pass signals on until the command ended; its wait status."""
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        caught = signal.sigwaitinfo((*_PASSED_ON, signal.SIGCHLD))
        if caught.si_signo != signal.SIGCHLD and caught.si_code != _FROM_TERMINAL:
            os.kill(child, caught.si_signo)


def _end_as(status: int) -> None:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (number,))
        os.kill(os.getpid(), number)
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(sys.argv[1:])
