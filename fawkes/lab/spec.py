"""What a lab is to be: the wishes of a user, and the addresses and names that follow from them."""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fawkes.errors import UserError

MOST_HOSTS = 250
CONTROLLER = "controller"
CONTROLLER_ADDRESS = "10.98.0.1"

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?")

_USER = re.compile(r"[a-z][a-z0-9_-]{0,31}")


@dataclass(frozen=True)
class Host:
    """A host of a lab: its name, its address and the name of its port on the bridge."""

    name: str
    address: str
    port: str


@dataclass(frozen=True, kw_only=True)
class LabSpec:
    """What `fawkes lab up` is asked for; UserError when it cannot be.

    ``nodemanager_memory_bytes`` None lets the lab work it out from the machine. ``disk_bytes`` limits each host's
    /srv, ``rate_bytes`` is each host's network speed a second, each way; None is no limit. An empty ``name`` becomes
    one made from the site folder. ``users`` are further Unix users of the hosts, for MR-clusters that `run_as` one.
    ``control_groups`` gives each host control groups of its own (cgroup v2), which needs root.
    """

    hosts: int
    site: Path = Path("lab")
    name: str = ""
    nodemanager_memory_bytes: int | None = None
    disk_bytes: int | None = None
    rate_bytes: int | None = None
    users: tuple[str, ...] = ()
    control_groups: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.hosts <= MOST_HOSTS:
            raise UserError(
                f"a lab of {self.hosts} hosts is not possible", hint=f"Ask for 1 to {MOST_HOSTS}: --hosts 10"
            )
        for user in self.users:
            if not _USER.fullmatch(user):
                raise UserError(
                    f"{user!r} cannot be a Unix user of a lab's hosts",
                    hint="Use up to 32 small letters, digits, '-' and '_', beginning with a letter: --users alpha,beta",
                )
        if len(set(self.users)) < len(self.users):
            raise UserError("a Unix user of the lab's hosts is named twice", hint="Name each once: --users alpha,beta")
        site = self.site.expanduser().absolute()
        object.__setattr__(self, "site", site)
        object.__setattr__(self, "name", check_name(self.name) if self.name else name_of_site(site))

    def as_data(self) -> dict[str, Any]:
        """The wishes as plain data, for comparing and keeping."""
        return asdict(self) | {"site": str(self.site), "users": list(self.users)}


def check_name(name: str) -> str:
    """The name itself; UserError when a lab cannot have it."""
    if not _NAME.fullmatch(name):
        raise UserError(
            f"{name!r} cannot be the name of a lab",
            hint="Use up to 32 small letters, digits and '-', with a letter or a digit at both ends",
        )
    return name


def name_of_site(site: Path) -> str:
    """The name of the lab of a site folder: two folders of one name still give two labs."""
    whole = str(site.resolve())
    readable = re.sub("[^a-z0-9]+", "-", site.name.lower()).strip("-")[:20].strip("-")
    return f"{readable or 'lab'}-{hashlib.sha256(whole.encode()).hexdigest()[:4]}"


def host_list(count: int) -> tuple[Host, ...]:
    """The hosts of a lab: node01 ... with addresses 10.98.1.1 ..."""
    width = _width(count)
    return tuple(Host(f"node{i:0{width}}", f"10.98.1.{i}", f"h{i}") for i in range(1, count + 1))


def node_set(count: int) -> str:
    """The hosts' names as one node set."""
    width = _width(count)
    return f"node{1:0{width}}" if count == 1 else f"node[{1:0{width}}-{count:0{width}}]"


def address_set(count: int) -> str:
    """The hosts' addresses as one node set, in the order of the names."""
    return "10.98.1.1" if count == 1 else f"10.98.1.[1-{count}]"


def _width(count: int) -> int:
    return max(2, len(str(count)))
