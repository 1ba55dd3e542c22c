"""Persistent storage of a site: an HDFS on the controller's side of a lab that belongs to no MR-cluster.

Run inside of a lab (`Lab.popen`) with a folder: says ``ready``, and ends with its standard input.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fawkes.live.lab.spec import CONTROLLER_ADDRESS
from tests.live.tiny_hadoop import tiny_hadoop
from tests.support.site import PROJECT, RealSite

#: nobody else is on the controller's side of a lab
_PORTS = list(range(20000, 20030))
_USER = "root"


@dataclass(frozen=True)
class Storage:
    """How it is reached from hosts and from the controller."""

    site: RealSite
    folder: Path
    rpc = f"hdfs://{CONTROLLER_ADDRESS}:{_PORTS[3]}"
    web = f"http://{CONTROLLER_ADDRESS}:{_PORTS[1]}"
    datanode = f"{CONTROLLER_ADDRESS}:{_PORTS[14]}"

    def ask(self, command: str, *words: str) -> Any:
        """The answer of a command of `tests.support.inside` about it."""
        return self.site.inside("", command, self.web, _USER, *words)


@contextmanager
def storage(site: RealSite, folder: Path) -> Iterator[Storage]:
    """While the block lasts the lab of a site has such an HDFS."""
    command = [sys.executable, "-m", "tests.support.storage", str(folder)]
    with site.lab.popen(command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield Storage(site, folder)
        finally:
            process.communicate()


if __name__ == "__main__":
    with tiny_hadoop(
        Path(sys.argv[1]), "3.5.0", yarn=False, ports=_PORTS, storing=("node01",), address=CONTROLLER_ADDRESS
    ):
        print("ready", flush=True)
        sys.stdin.read()
