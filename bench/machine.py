"""What the figures were measured on, and how busy it was."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path

from fawkes.base.units import show_bytes
from fawkes.base.version import __version__
from fawkes.live.lab.sizing import this_machine

#: above this load others take so much that the figures say more about them
BUSY = 1.5


def load() -> float:
    """The load average of the last minute."""
    return os.getloadavg()[0]


def facts() -> dict[str, str]:
    """What there is, by name, for whoever compares figures."""
    cpu = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    machine = this_machine()
    return {
        "Fawkes": f"{__version__}, {_first_line('git', 'describe', '--always', '--dirty') or 'no repository'}",
        "machine": f"{machine.cores} cores ({cpu[1] if cpu else platform.machine()}), "
        f"{show_bytes(machine.memory_bytes)}, Linux {platform.release()}",
        "Python": f"{platform.python_version()}, paramiko {version('paramiko')}, fabric {version('fabric')}",
        "Java": _first_line("java", "-version"),
        "OpenSSH": _first_line("ssh", "-V"),
    }


def _first_line(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return ""
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return next(iter((done.stdout + done.stderr).splitlines()), "") if done.returncode == 0 else ""
