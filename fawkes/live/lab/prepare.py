"""The way from a user's wishes to a blueprint and the files that belong to it; nothing runs yet."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fawkes.base.paths import cache_dir
from fawkes.live.lab import files
from fawkes.live.lab.blueprint import DISKS, HOST_KEY, Blueprint
from fawkes.live.lab.inside import groups
from fawkes.live.lab.inside.keys import KeyPair, new_key, user_key
from fawkes.live.lab.inside.sshd import Sshd, check_config, find_sshd
from fawkes.live.lab.inside.wiring import wiring_of
from fawkes.live.lab.sizing import offer, this_machine
from fawkes.live.lab.spec import LabSpec

BLUEPRINT = "blueprint.json"


@dataclass(frozen=True)
class LabPlan:
    """A lab ready to be built, and the files that its site folder gets when it is up: name to text."""

    blueprint: Blueprint
    site_files: Mapping[str, str]


def prepare(spec: LabSpec, folder: Path, tell: Callable[[str], None]) -> LabPlan:
    """Write what the hosts need into the lab's folder; the site folder is only looked at.

    RefusedError when so many hosts do not fit, the site folder is somebody else's, or this machine has no /etc/hosts;
    UserError without an sshd or such a login shell, and for lines that sshd does not take.
    """
    files.refuse_nameless(Path("/etc/hosts"))
    share = offer(spec.hosts, this_machine(), asked_bytes=spec.nodemanager_memory_bytes, disk_bytes=spec.disk_bytes)
    files.refuse_foreign(spec.site)
    sshd, login, wiring = find_sshd(tell), files.this_login(), wiring_of(spec)
    shared = cache_dir().absolute() / "dist"
    shared.mkdir(parents=True, exist_ok=True)
    unpacked = sshd.root != Path("/")
    blueprint = Blueprint(
        name=spec.name,
        folder=str(folder),
        shared=str(shared),
        wiring=wiring,
        user_id=login.id or None,
        home=login.home,
        sshd_root=str(sshd.root) if unpacked else "",
        sshd=files.in_host(sshd, sshd.program),
        libraries=tuple(files.in_host(sshd, path) for path in sshd.libraries),
        disk_bytes=spec.disk_bytes,
        noexec=spec.noexec,
        rate_bytes=spec.rate_bytes,
        link_rate_bytes=spec.link_rate_bytes,
        users=files.own_users(spec.users, login),
        groups=groups.make(folder, spec.name, [host.name for host in wiring.hosts]) if spec.control_groups else {},
    )
    key = user_key(spec.site / files.KEY_FILE)
    _write_etc(blueprint, spec, login, sshd, key)
    check_config(sshd, blueprint.etc / "sshd_config")
    keys = {host.name: new_key() for host in wiring.hosts}
    _make_host_folders(blueprint, keys)
    (folder / BLUEPRINT).write_text(blueprint.to_json())
    disk_bytes = spec.disk_bytes or shutil.disk_usage(folder).free // spec.hosts
    return LabPlan(
        blueprint,
        {
            files.KEY_FILE: key.private,
            "inventory.toml": files.inventory(spec.name, wiring, login.name, share, disk_bytes),
            "known_hosts": files.known_hosts(wiring.hosts, {name: key.public for name, key in keys.items()}),
            "ssh_config": files.ssh_config(spec.site, login.name, wiring),
        },
    )


def _write_etc(blueprint: Blueprint, spec: LabSpec, login: files.LabLogin, sshd: Sshd, key: KeyPair) -> None:
    blueprint.etc.mkdir()
    texts = {
        "hosts": files.hosts_file(blueprint.hosts, socket.gethostname()),
        "resolv.conf": "",
        "passwd": files.passwd_file(Path("/etc/passwd").read_text(), login, blueprint.users, spec.shell),
        "group": files.group_file(Path("/etc/group").read_text(), login, blueprint.users),
        "shadow": files.shadow_file(login),
        "sshd_config": files.sshd_config(login, sshd, spec.sshd),
        "authorized_keys": f"{key.public}\n",
    }
    for name, text in texts.items():
        (blueprint.etc / name).write_text(text)
    (blueprint.etc / "shadow").chmod(0o600)


def _make_host_folders(blueprint: Blueprint, keys: Mapping[str, KeyPair]) -> None:
    for host in blueprint.hosts:
        folder = blueprint.of_host(host)
        for name in DISKS:
            (folder / name).mkdir(parents=True)
            (folder / name).chmod(DISKS[name])
        (folder / HOST_KEY).write_text(keys[host.name].private)
