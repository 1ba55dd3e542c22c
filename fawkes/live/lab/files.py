"""The text of every file that a lab writes: for its hosts, and for the site folder that the rest of Fawkes reads."""

from __future__ import annotations

import os
import pwd
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fawkes.base.errors import RefusedError, UserError
from fawkes.live.lab.blueprint import User
from fawkes.live.lab.inside.sshd import Sshd
from fawkes.live.lab.inside.wiring import LabHost, Wiring, node_set
from fawkes.live.lab.sizing import Offer
from fawkes.live.lab.spec import CONTROLLER, CONTROLLER_ADDRESS

MARK = "# Written by `fawkes lab up`; written again each time"
WORK_FOLDER = "/srv/fawkes"
SHARED_FOLDER = "/srv/dist"
RUN_FOLDER = "/run/fawkes"
KEY_FILE = "id_ed25519"
SSH_PORT = 22

_NAMELESS = "fawkes"
_NAMELESS_ID = 1000
_HOME_ON_DISK = "/srv/home"
_MB = 1_000_000
_PRIVILEGE_USER = "sshd"
_FIRST_USER_ID = 61_001


@dataclass(frozen=True)
class LabLogin:
    """The user that the controller logs in as on the hosts; ``id`` is 0 for a root who can become others."""

    name: str
    id: int
    group: int
    home: str


def this_login() -> LabLogin:
    """Whoever runs the lab; a home that does not exist on the machine is made on the hosts' own disks."""
    user, group = os.getuid(), os.getgid()
    if user == 0 and not has_other_users(Path("/proc/self/uid_map").read_text()):
        return LabLogin(_NAMELESS, _NAMELESS_ID, _NAMELESS_ID, _HOME_ON_DISK)
    try:
        entry = pwd.getpwuid(user)
    except KeyError:
        return LabLogin(_NAMELESS, user, group, _HOME_ON_DISK)
    home = entry.pw_dir if Path(entry.pw_dir).is_dir() else _HOME_ON_DISK
    return LabLogin(entry.pw_name, user, group, home)


def has_other_users(uid_map: str) -> bool:
    """False for the root of a user namespace of one user: his sshd could not change to another user."""
    return sum(int(line.split()[2]) for line in uid_map.splitlines()) > 1


def hosts_file(hosts: Iterable[LabHost], machine: str) -> str:
    """/etc/hosts of all hosts and of the controller, which is also known by the machine's own name."""
    names = dict.fromkeys((CONTROLLER, machine))
    lines = ["127.0.0.1 localhost", f"{CONTROLLER_ADDRESS} {' '.join(names)}"]
    for host in hosts:
        lines.append(f"{host.address} {host.name}")
        if host.site and host.data_address != host.address:
            lines.append(f"{host.data_address} {host.name}-data")
    return "\n".join(lines) + "\n"


def own_users(names: Iterable[str], login: LabLogin) -> tuple[User, ...]:
    """The users that MR-clusters may run as; RefusedError for a lab of somebody who cannot become others."""
    users = tuple(User(name, _FIRST_USER_ID + at) for at, name in enumerate(names))
    if users and login.id != 0:
        raise RefusedError(
            f"the hosts of a lab of {login.name} have no other users",
            hint="Bring the lab up as root, or leave out --users",
        )
    return users


def passwd_file(machines: str, login: LabLogin, users: Iterable[User] = (), login_shell: str = "") -> str:
    """/etc/passwd of the hosts: the machine's, with the login user as a lab needs it and sshd's own user.

    UserError when this machine has no such login shell.
    """
    if login_shell and not (login_shell.startswith("/") and Path(login_shell).is_file()):
        raise UserError(
            f"this machine has no program {login_shell!r} for a login shell",
            hint="Install it, or give the path of a shell that is there: --shell /bin/dash",
        )
    users = list(users)
    taken = {login.name, _PRIVILEGE_USER, *(user.name for user in users)}
    shell = "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"
    kept = [line for line in machines.splitlines() if line.split(":")[0] not in taken]
    own = f"{login.name}:x:{login.id}:{login.group}::{login.home}:{login_shell or shell}"
    kept += [f"{user.name}:x:{user.id}:{user.id}::{user.home}:{shell}" for user in users]
    return "\n".join([own, *kept, f"{_PRIVILEGE_USER}:x:65533:65534::/run/sshd:/usr/sbin/nologin"]) + "\n"


def group_file(machines: str, login: LabLogin, users: Iterable[User] = ()) -> str:
    """/etc/group of the hosts: the machine's.

    A user without rights cannot give a terminal to the group tty, and sshd gives up a session over that, unless there
    is no such group.
    """
    lines = [line for line in machines.splitlines() if login.id == 0 or line.split(":")[0] != "tty"]
    lines += [f"{user.name}:x:{user.id}:" for user in users]
    return "\n".join(lines) + "\n"


def shadow_file(login: LabLogin) -> str:
    """/etc/shadow of the hosts: no password opens anything, and no account is locked."""
    return "".join(f"{name}:*:19000:0:99999:7:::\n" for name in (login.name, _PRIVILEGE_USER))


def sshd_config(login: LabLogin, sshd: Sshd, more: Iterable[str] = ()) -> str:
    """The configuration of every host's sshd: keys only, with sshd's own limits; ``more`` lines count before ours."""
    lines = [
        *more,
        f"Port {SSH_PORT}",
        "AddressFamily inet",
        f"HostKey {RUN_FOLDER}/host_key",
        f"AuthorizedKeysFile {RUN_FOLDER}/authorized_keys",
        f"AllowUsers {login.name}",
        "StrictModes no",  # seen from a user namespace "/" belongs to nobody
        "PermitRootLogin prohibit-password",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "UsePAM no",
        "UseDNS no",
        "PidFile none",
        "PrintMotd no",
        "Subsystem sftp internal-sftp",
    ]
    if sshd.session_program is not None:
        lines += [f"SshdSessionPath {in_host(sshd, sshd.session_program)}", "PerSourcePenalties no"]
    return "\n".join(lines) + "\n"


def in_host(sshd: Sshd, path: Path) -> str:
    """Place where a host sees a file of the SSH server; what was unpacked may lie in a folder that hosts do not see."""
    return str(path) if sshd.root == Path("/") else f"{RUN_FOLDER}/sshd/{path.relative_to(sshd.root)}"


def known_hosts(hosts: Iterable[LabHost], public_keys: Mapping[str, str]) -> str:
    """known_hosts with each host's key under its name and its address."""
    return f"{MARK}\n" + "".join(f"{host.name},{host.address} {public_keys[host.name]}\n" for host in hosts)


def inventory(pool: str, wiring: Wiring, user: str, offer: Offer, disk_bytes: int) -> str:
    """inventory.toml: one group with all nodes, or one for each site."""
    way = ",".join(host.name for host in wiring.jump_hosts)
    lines = [
        f"{MARK}\n",
        f'pool = "{pool}"\n',
        "[ssh]",
        f'user = "{user}"',
        f"port = {SSH_PORT}",
        f'key = "{KEY_FILE}"',
        'known_hosts = "known_hosts"',
        f"allow_root = {str(user == 'root').lower()}",
        *([f'proxy_jump = "{way}"'] if way else []),
    ]
    for site in dict.fromkeys(host.site for host in wiring.nodes):
        nodes = [host for host in wiring.nodes if host.site == site]
        lines += [
            "\n[[group]]",
            f'name = "{site}"',
            f'site = "{site}"',
            f'nodes = "{node_set(host.name for host in nodes)}"',
            f'address = "{node_set(host.address for host in nodes)}"',
            *(
                [f'data_address = "{node_set(host.data_address for host in nodes)}"']
                if len(nodes[0].cables) > 1
                else []
            ),
            "core = true",
            f"cores = {offer.cores}",
            f'memory = "{offer.memory_bytes // _MB}MB"',
            f'disk = "{disk_bytes // _MB}MB"',
            f'work_dir = "{WORK_FOLDER}"',
            f'software_dir = "{SHARED_FOLDER}"',
        ]
    return "\n".join(lines) + "\n"


def ssh_config(site: Path, user: str, wiring: Wiring) -> str:
    """A configuration for people: ``fawkes lab exec -- ssh -F DIR/ssh_config node01``."""
    folder = str(site).replace("%", "%%")
    way = [host.name for host in wiring.jump_hosts]
    jumps = "".join(f"Host {name}\n    ProxyJump {','.join(way[:at])}\n" for at, name in enumerate(way) if at)
    jumps += f"Host node*\n    ProxyJump {','.join(way)}\n" if way else ""
    return f"""\
{MARK}
Host *
    User {user}
    Port {SSH_PORT}
    IdentityFile "{folder}/{KEY_FILE}"
    IdentitiesOnly yes
    UserKnownHostsFile "{folder}/known_hosts"
    StrictHostKeyChecking yes
{jumps}"""


def refuse_nameless(hosts: Path) -> None:
    """RefusedError when this machine has no file of host names: the lab's own is shown in its place.

    A fresh root file system of Debian has none. Without this, daemons end because no host knows its own name.
    """
    if not hosts.exists():
        raise RefusedError(
            f"{hosts} does not exist, so that the hosts of a lab cannot have names",
            hint=f"As root type: echo 127.0.0.1 localhost > {hosts}",
        )


def refuse_foreign(site: Path) -> None:
    """RefusedError when the site folder has a file of the lab's names that somebody else wrote."""
    for name in ("inventory.toml", "known_hosts", "ssh_config"):
        file = site / name
        if file.exists() and MARK not in file.read_text(errors="replace").splitlines()[:1]:
            raise RefusedError(
                "this file is not a lab's, so it is not overwritten",
                where=str(file),
                hint="Give the lab a site folder of its own: fawkes lab up --site DIR",
            )


def write_site(site: Path, texts: Mapping[str, str]) -> None:
    """Write the files of a site folder, each so that no reader ever sees a part of it."""
    site.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        handle, temporary = tempfile.mkstemp(prefix=f".{name}-", dir=site)
        try:
            with open(handle, "w") as out:
                out.write(text)
            os.chmod(temporary, 0o600 if name == KEY_FILE else 0o644)
            os.replace(temporary, site / name)
        except BaseException:
            os.unlink(temporary)
            raise
