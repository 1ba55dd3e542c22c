"""CRIU with all its libraries in one archive, out of Debian's packages, so that it runs on any node with x86_64.

The mirror is one of this machine's own sources of packages. Debian signs its packages and apt checks that. The version
and the program of CRIU are pinned; its libraries are those of Debian's stable release, which security updates change.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import tarfile
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fawkes.base.errors import DeadlineError, FawkesError
from fawkes.base.paths import cache_dir
from fawkes.playbook.dist.manifest import digest_of

MIRROR = "FAWKES_DEBIAN_MIRROR"
"""A variable with the address of a Debian mirror, for machines whose own sources have none."""
SCRIPT = Path(__file__).parent / "fawkes-criu"
"""The script that runs, dumps and resumes a task on its node."""

_SUITE = "trixie"
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_PACKAGES = (
    "libc6", "libbsd0", "libmd0", "libgnutls30t64", "libnet1", "libnftables1", "libnl-3-200", "libprotobuf-c1",
    "libuuid1", "libp11-kit0", "libidn2-0", "libunistring5", "libtasn1-6", "libnettle8t64", "libhogweed6t64",
    "libgmp10", "libmnl0", "libnftnl11", "libxtables12", "libjansson4", "libffi8",
)  # fmt: skip
_LOADER = "ld-linux-x86-64.so.2"
_LIBRARIES = Path("usr/lib/x86_64-linux-gnu")
_DEADLINE_S = 600
_ONE_AT_A_TIME = threading.Lock()

Say = Callable[[str], None]


@dataclass(frozen=True)
class Criu:
    """A version of Debian's package, and the SHA-256 of its program."""

    version: str
    digest: str
    argument: str = "criu"

    @property
    def title(self) -> str:
        """The name for people."""
        return f"CRIU {self.version}"

    @property
    def name(self) -> str:
        """Its name in the cache."""
        return f"criu-{self.version}"


CRIU = Criu("4.1.1-1", digest="32c78e31dd71098cf791ed3d41078ea8424b10a2af85f2d92356060aca3149de")


def place_of(wanted: Criu) -> Path:
    """The place where the cache has (or would have) the archive."""
    return cache_dir() / wanted.name / "fawkes-criu.tar"


def is_made(wanted: Criu) -> bool:
    """True if the cache has the archive."""
    return place_of(wanted).is_file()


def provide(wanted: Criu, *, again: bool = False, say: Say = lambda line: None) -> bool:
    """Make the archive if the cache does not have it, or ``again``; whether it was made.

    FawkesError, with the reason, when it cannot be had; nothing is left then.
    """
    with _ONE_AT_A_TIME:
        if is_made(wanted) and not again:
            return False
        place = place_of(wanted)
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".part-", dir=place.parent) as folder:
            part = Path(folder)
            _check_machine()
            say("downloading Debian's packages with apt-get (10 MB)")
            _download(wanted, part)
            say("unpacking")
            _collect(part / "root", part / "criu", wanted)
            _pack(part / "criu", part / place.name)
            (part / place.name).replace(place)
    return True


def _check_machine() -> None:
    if platform.machine() != "x86_64":
        raise FawkesError(f"this machine has the processor {platform.machine()}, and CRIU is for nodes with x86_64")
    hint = "Get it on a machine with Debian or Ubuntu, and copy the cache folder from there"
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise FawkesError(f"there is no `{program}`: CRIU comes from Debian's packages", hint=hint)
    if not _KEYRING.is_file():
        raise FawkesError(
            f"{_KEYRING} is missing, and without it nobody knows whether packages are Debian's",
            hint="`apt-get install debian-archive-keyring`",
        )


def _mirror() -> str:
    """The address of a Debian mirror; FawkesError when this machine knows none."""
    if given := os.environ.get(MIRROR):
        return given
    said = _run(["apt-get", "indextargets", "--format", "$(REPO_URI)"], "listing the sources of packages")
    known = [line for line in said.split() if re.search(r"/debian/?$", line)]
    if not known:
        hint = f"Set {MIRROR} to the address of a Debian mirror"
        raise FawkesError("no source of packages of this machine is a Debian mirror", hint=hint)
    return known[0]


def _download(wanted: Criu, part: Path) -> None:
    """Bring the packages and unpack them into ``root``, with lists and a state of their own."""
    for name in ("lists/partial", "state", "archives/partial", "debs", "root"):
        (part / name).mkdir(parents=True)
    (part / "status").touch()
    source = {"Types": "deb", "URIs": _mirror(), "Suites": _SUITE, "Components": "main", "Signed-By": str(_KEYRING)}
    (part / "debian.sources").write_text("".join(f"{key}: {value}\n" for key, value in source.items()))
    options = {
        "Dir::Etc::SourceList": part / "debian.sources",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State": part / "state",
        "Dir::State::Lists": part / "lists",
        "Dir::State::status": part / "status",
        "Dir::Cache": part,
        "APT::Architecture": "amd64",
        "APT::Sandbox::User": "",
        "Acquire::Languages": "none",
        "Debug::NoLocking": "1",
    }
    apt = ["apt-get", "--quiet", *(word for key, value in options.items() for word in ("-o", f"{key}={value}"))]
    _run([*apt, "update"], "reading Debian's list of packages")
    _run([*apt, "download", f"criu={wanted.version}", *_PACKAGES], "downloading CRIU", folder=part / "debs")
    for package in sorted((part / "debs").glob("*.deb")):
        _run(["dpkg-deb", "-x", str(package), str(part / "root")], f"unpacking {package.name}")


def _collect(root: Path, into: Path, wanted: Criu) -> None:
    """The program, its loader and its libraries, each under the name by which it is looked for."""
    program, libraries = root / "usr/sbin/criu", root / _LIBRARIES
    if digest_of(program) != wanted.digest:
        raise FawkesError("the CRIU of Debian's package is not the one that is pinned", hint="Get a newer Fawkes")
    loader = libraries / _LOADER
    listed = _run([str(loader), "--library-path", str(libraries), "--list", str(program)], "looking for libraries")
    places = {match[1]: match[2] for match in re.finditer(r"(\S+) => (\S+) \(", listed)}
    (into / "bin").mkdir(parents=True)
    (into / "lib").mkdir()
    shutil.copyfile(program, into / "bin/criu")
    shutil.copyfile(loader, into / "lib" / _LOADER)
    for name, place in sorted(places.items()):
        if not Path(place).is_relative_to(root):
            raise FawkesError(f"CRIU needs {name}, which none of the packages has", hint="Get a newer Fawkes")
        shutil.copyfile(place, into / "lib" / Path(name).name)


def _pack(folder: Path, archive: Path) -> None:
    """One archive; the same files give the same bytes."""
    with tarfile.open(archive, "w") as tar:
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = tarfile.TarInfo(file.relative_to(folder).as_posix())
            entry.size, entry.mode = file.stat().st_size, 0o755
            with file.open("rb") as content:
                tar.addfile(entry, content)


def _run(words: Sequence[str], doing: str, *, folder: Path | None = None) -> str:
    """The output of a program; FawkesError with its last error when it fails."""
    env = {**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            words, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=_DEADLINE_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise DeadlineError(
            f"{doing} did not end within {_DEADLINE_S} s", hint="Look at apt's sources and proxy"
        ) from None
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.strip()] or ["it reported nothing"]
        why = next((line for line in reversed(said) if line.startswith("E:")), said[-1])
        hint = "Look at apt's sources and proxy; without any network, copy the cache of a machine that has it"
        raise FawkesError(f"{doing} failed (exit {done.returncode}): {why}", hint=hint)
    return done.stdout
