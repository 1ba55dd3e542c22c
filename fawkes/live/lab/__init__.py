"""Hosts on this machine, for trying out and for tests: sets of Linux namespaces with a real sshd in each.

with up(LabSpec(hosts=3, site=Path("lab"))) as lab:
    lab.exec(["fawkes", "check"])
    lab.kill("node02")
"""

from __future__ import annotations

from fawkes.live.lab.lab import HostStatus, Lab, down, find, up
from fawkes.live.lab.spec import LabSpec, name_of_site

__all__ = ["HostStatus", "Lab", "LabSpec", "down", "find", "name_of_site", "up"]
