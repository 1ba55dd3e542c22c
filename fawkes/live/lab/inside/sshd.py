"""The SSH server of the hosts: the machine's own, else Debian's unpacked into the cache, never installed.

Installing the package would start a service on the machine itself; unpacking it changes nothing outside the cache.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fawkes.base.errors import UserError
from fawkes.base.paths import cache_dir

_PACKAGE = "openssh-server"
_APT_LIMIT_S = 300
_NOT_NEEDED = {"openssh-client", "runit-helper", "ucf", "debconf", "libpam-modules", "libpam-runtime"}
_BY_HAND = "Install openssh-server (as root: apt-get install openssh-server), then try again"


@dataclass(frozen=True)
class Sshd:
    """An SSH server: ``root`` is "/" for the machine's own, else the folder that it was unpacked into."""

    root: Path

    @property
    def program(self) -> Path:
        """The server, by absolute path."""
        return self.root / "usr/sbin/sshd"

    @property
    def session_program(self) -> Path | None:
        """The program for one connection, which servers since OpenSSH 9.8 start; None for older ones."""
        path = self.root / "usr/lib/openssh/sshd-session"
        return path if path.exists() else None

    @property
    def libraries(self) -> tuple[Path, ...]:
        """The folders with the libraries that came along; none for the machine's own."""
        if self.root == Path("/"):
            return ()
        folders = {file.parent for pattern in ("lib", "usr/lib") for file in (self.root / pattern).rglob("*.so.*")}
        return tuple(sorted(folders))


def find_sshd(tell: Callable[[str], None], *, system: Path = Path("/")) -> Sshd:
    """The server to use; the first time on a machine without one this takes a few seconds, and says so.

    ``system`` is where the machine's own would be. UserError when there is none and none can be fetched.
    """
    own, unpacked = Sshd(system), Sshd(cache_dir().absolute() / "sshd")
    if os.access(own.program, os.X_OK):
        return own
    if unpacked.program.exists():
        if not _complaint(unpacked):
            return unpacked
        shutil.rmtree(unpacked.root)
    tell(f"no sshd here: unpacking Debian's {_PACKAGE} into {unpacked.root} (nothing is installed)")
    unpacked.root.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sshd-", dir=unpacked.root.parent) as folder:
        fresh = Sshd(Path(folder) / "root")
        _unpack(Path(folder), fresh.root)
        if complaint := _complaint(fresh):
            raise UserError(f"the unpacked sshd does not start: {complaint}", hint=_BY_HAND)
        try:
            fresh.root.rename(unpacked.root)
        except OSError:
            # Another `lab up` was faster: its copy is as good.
            if not unpacked.program.exists():
                raise
    return unpacked


def check_config(sshd: Sshd, file: Path) -> None:
    """UserError when the server does not take its configuration; a host would end without a word over it."""
    environment = {"LD_LIBRARY_PATH": ":".join(map(str, sshd.libraries))}
    command = [str(sshd.program), "-t", "-f", str(file)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=False)
    # It complains about the machine as well, which has no user and no folder for it. Only the hosts have.
    said = [line for line in done.stderr.splitlines() if line.startswith(str(file))]
    if done.returncode and said:
        first = said[0].removeprefix(str(file)).strip(": .")
        raise UserError(
            f"sshd does not take its configuration: {first}",
            where="--sshd",
            hint='Give whole lines as in `man sshd_config`: --sshd "MaxSessions 1"',
        )


def _complaint(sshd: Sshd) -> str:
    """The reason why the server cannot run here; empty when it can (it answers a wrong option with its version)."""
    environment = {"LD_LIBRARY_PATH": ":".join(map(str, sshd.libraries))}
    try:
        done = subprocess.run(
            [sshd.program, "-?"], env=environment, capture_output=True, text=True, timeout=30, check=False
        )
    except OSError as error:
        return str(error)
    return "" if "OpenSSH" in done.stderr else (done.stderr.strip() or f"it ended with {done.returncode}")


def _unpack(folder: Path, root: Path) -> None:
    """Fetch the package, and what of its dependencies is missing on the machine, and unpack it all."""
    for program in ("apt-get", "dpkg"):
        if shutil.which(program) is None:
            raise UserError(f"there is no sshd, and no {program} to fetch one with", hint=_BY_HAND)
    options = _apt_options(folder)
    if not _missing_packages(options):
        _apt(options, "update")
    names = _missing_packages(options)
    if _PACKAGE not in names:
        raise UserError(f"there is no sshd, and apt-get knows no package {_PACKAGE}", hint=_BY_HAND)
    downloads = folder / "downloads"
    downloads.mkdir()
    if not _apt(options, "download", *names, folder=downloads):
        _apt(options, "update")  # the lists were old: they named files that are gone
        if not _apt(options, "download", *_missing_packages(options), folder=downloads):
            raise UserError(f"there is no sshd, and apt-get could not download {' '.join(names)}", hint=_BY_HAND)
    for package in downloads.glob("*.deb"):
        if subprocess.run(["dpkg", "-x", package, root], timeout=_APT_LIMIT_S, check=False).returncode:
            raise UserError(f"there is no sshd, and dpkg could not unpack {package.name}", hint=_BY_HAND)


def _apt_options(folder: Path) -> list[str]:
    """Options that keep apt-get's locks and files out of the machine's own folders where we may not write those."""
    if os.geteuid() == 0:
        return ["-o", "APT::Sandbox::User=root"]
    for part in ("lists/partial", "archives/partial"):
        (folder / part).mkdir(parents=True)
    lists = Path("/var/lib/apt/lists")
    for file in (each for each in lists.iterdir() if each.is_file() and os.access(each, os.R_OK)):
        if file.name != "lock":
            shutil.copy(file, folder / "lists")
    return [
        *("-o", f"Dir::State::lists={folder}/lists"),
        *("-o", f"Dir::Cache={folder}"),
        *("-o", "Debug::NoLocking=1"),
    ]


def _missing_packages(options: list[str]) -> list[str]:
    """The packages that installing the server would bring, by name, without those that only an installation needs."""
    done = subprocess.run(
        ["apt-get", *options, "--simulate", "--no-install-recommends", "install", _PACKAGE],
        capture_output=True,
        text=True,
        timeout=_APT_LIMIT_S,
        check=False,
    )
    return [name for name in re.findall(r"^Inst (\S+)", done.stdout, re.MULTILINE) if name not in _NOT_NEEDED]


def _apt(options: list[str], *arguments: str, folder: Path | None = None) -> bool:
    done = subprocess.run(
        ["apt-get", "--quiet", *options, *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=_APT_LIMIT_S,
        check=False,
    )
    return done.returncode == 0
