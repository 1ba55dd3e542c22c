"""Programs that fetch things, as tests find them: they work as ever, but each use inside a lab fails and is noted.

A lab has no network. What is fetched there works only where a cache has it already, and fails on a bare machine.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FETCHERS = ("mvn", "apt-get")
_SCRIPT = """#!/bin/sh
[ "$(readlink /proc/self/ns/net)" = {outside} ] && exec {program} "$@"
echo "{name} $*, asked by $(cat /proc/$PPID/cmdline 2>/dev/null | tr '\\0' ' ')" >>{log}
echo "[ERROR] there is no network inside a lab" >&2
exit 1
"""


class Asked:
    """The requests from inside labs, a line each."""

    def __init__(self, log: Path) -> None:
        self._log = log
        log.touch()
        # Users of labs write as well.
        log.chmod(0o666)

    def take(self) -> list[str]:
        """The lines since the last time."""
        lines = self._log.read_text().splitlines()
        os.truncate(self._log, 0)
        return lines


@contextmanager
def watched_fetchers(folder: Path) -> Iterator[Asked]:
    """Have the fetching programs of this machine watched, by way of PATH."""
    log = folder / "asked"
    outside = os.readlink("/proc/self/ns/net")
    for name in _FETCHERS:
        if program := shutil.which(name):
            words = {"outside": outside, "program": program, "log": str(log)}
            script = _SCRIPT.format(name=name, **{key: shlex.quote(value) for key, value in words.items()})
            (folder / name).write_text(script)
            (folder / name).chmod(0o755)
    before = os.environ["PATH"]
    os.environ["PATH"] = f"{folder}{os.pathsep}{before}"
    try:
        yield Asked(log)
    finally:
        os.environ["PATH"] = before
