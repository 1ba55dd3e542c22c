"""The plan of a lab for the warden, as plain data that goes to it through a pipe."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fawkes.live.lab.inside.wiring import Cable, LabHost, Wiring


@dataclass(frozen=True)
class User:
    """A Unix user of the hosts whom nobody logs in as; its group has the same number."""

    name: str
    id: int

    @property
    def home(self) -> str:
        """The home, as the hosts see it."""
        return f"/srv/users/{self.name}"


@dataclass(frozen=True, kw_only=True)
class Blueprint:
    """A lab ready to be built. Paths are absolute, on the machine.

    ``folder`` holds everything of the lab (see the functions for what is where); ``shared`` is the folder that all
    hosts see as /srv/dist; ``sshd_root`` is the folder of an unpacked SSH server (empty for the machine's own), and
    ``sshd`` and ``libraries`` say where hosts see the server and its libraries; ``user_id`` is None for root, else
    the user without rights whom the hosts' sshd runs as; ``users`` are those that MR-clusters may run as;
    ``groups`` is by mount point the folder with a control group for each host (empty: they have none); ``noexec``
    lets no program below /srv run.
    """

    name: str
    folder: str
    shared: str
    wiring: Wiring
    user_id: int | None
    home: str
    sshd_root: str
    sshd: str
    libraries: tuple[str, ...]
    disk_bytes: int | None
    noexec: bool
    rate_bytes: int | None
    link_rate_bytes: int | None
    users: tuple[User, ...] = ()
    groups: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Blueprint:
        """The inverse of `to_json`."""
        data = json.loads(line)
        wiring = _wiring(**data.pop("wiring"))
        users = tuple(User(**user) for user in data.pop("users"))
        return cls(wiring=wiring, libraries=tuple(data.pop("libraries")), users=users, **data)

    @property
    def hosts(self) -> tuple[LabHost, ...]:
        """All hosts of the lab."""
        return self.wiring.hosts

    @property
    def etc(self) -> Path:
        """Files that hosts have in place of the machine's: hosts, passwd, sshd_config ..."""
        return Path(self.folder) / "etc"

    @property
    def control(self) -> Path:
        """The socket on which the warden listens."""
        return Path(self.folder) / CONTROL

    def of_host(self, host: LabHost) -> Path:
        """The folder of one host: its host key, its disks, the log of its sshd."""
        return Path(self.folder) / "hosts" / host.name


def _wiring(bridges: list[str], links: list[list[str]], controller: list[Any], hosts: list[Any]) -> Wiring:
    """The networks from plain data."""
    return Wiring(
        bridges=tuple(bridges),
        links=tuple((first, second) for first, second in links),
        controller=_cables(controller),
        hosts=tuple(LabHost(host["name"], host["site"], _cables(host["cables"])) for host in hosts),
    )


def _cables(data: list[dict[str, str]]) -> tuple[Cable, ...]:
    return tuple(Cable(**cable) for cable in data)


CONTROL = "control.sock"
HOST_KEY = "host_key"
SSHD_LOG = "sshd.log"
DISKS = {"srv": 0o755, "tmp": 0o1777, "var-tmp": 0o1777, "home": 0o700}
"""The folders that are each host's own, with their access rights."""
