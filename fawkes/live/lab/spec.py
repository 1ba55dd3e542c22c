"""The wishes of a user for a lab."""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fawkes.base.errors import UserError

MOST_HOSTS = 250
MOST_JUMP_HOSTS = 2
MOST_SITES = 2
OPEN, CLOSED = "open", "closed"
"""Whether the network for data can be reached from the controller's side."""

CONTROLLER = "controller"
CONTROLLER_ADDRESS = "10.98.0.1"

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?")

_USER = re.compile(r"[a-z][a-z0-9_-]{0,31}")


@dataclass(frozen=True, kw_only=True)
class LabSpec:
    """A lab to make, as `fawkes lab up` is asked for it; UserError when it cannot be.

    ``nodemanager_memory_bytes`` None lets the lab work it out from the machine. ``disk_bytes`` limits each host's
    /srv, ``rate_bytes`` is each host's network speed a second, each way; None is no limit. An empty ``name`` becomes
    one made from the site folder. ``users`` are further Unix users of the hosts, for MR-clusters that `run_as` one.
    ``control_groups`` gives each host control groups of its own, which needs root.

    ``jump_hosts`` stand one behind the other before the hosts. ``data_network`` is OPEN or CLOSED, empty for none. With
    two ``sites`` the hosts are split in half, and ``link_rate_bytes`` is the speed of the link between, each way.

    ``sshd`` are further lines for the configuration of the hosts' sshd, ``shell`` is the login shell (empty: bash), and
    ``noexec`` lets no program below /srv run.
    """

    hosts: int
    site: Path = Path("lab")
    name: str = ""
    nodemanager_memory_bytes: int | None = None
    disk_bytes: int | None = None
    sshd: tuple[str, ...] = ()
    shell: str = ""
    noexec: bool = False
    rate_bytes: int | None = None
    users: tuple[str, ...] = ()
    control_groups: bool = False
    jump_hosts: int = 0
    data_network: str = ""
    sites: int = 1
    link_rate_bytes: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.hosts <= MOST_HOSTS:
            raise UserError(
                f"a lab of {self.hosts} hosts is not possible", hint=f"Ask for 1 to {MOST_HOSTS}: --hosts 10"
            )
        self._check_networks()
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

    def _check_networks(self) -> None:
        if not 0 <= self.jump_hosts <= MOST_JUMP_HOSTS:
            raise UserError(
                f"{self.jump_hosts} jump hosts are not possible",
                hint=f"Ask for at most {MOST_JUMP_HOSTS}: --jump-hosts 1",
            )
        if self.data_network not in ("", OPEN, CLOSED):
            raise UserError(
                f"{self.data_network!r} is not a kind of network for data",
                hint=f"Ask for --data-network {OPEN} or --data-network {CLOSED}",
            )
        if not 1 <= self.sites <= min(MOST_SITES, self.hosts):
            raise UserError(
                f"a lab of {self.hosts} hosts on {self.sites} sites is not possible",
                hint=f"Ask for 1 to {MOST_SITES} sites with a host for each: --sites 2 --hosts 4",
            )
        if self.link_rate_bytes is not None and self.sites == 1:
            raise UserError("a lab on one site has no link to limit", hint="Ask for two sites as well: --sites 2")

    def as_data(self) -> dict[str, Any]:
        """The wishes as plain data, for comparing and keeping."""
        return asdict(self) | {"site": str(self.site), "users": list(self.users), "sshd": list(self.sshd)}


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
