"""CRIU out of packages: the mirror, what is refused, and an archive that has all that the program needs."""

from __future__ import annotations

import hashlib
import platform
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from fawkes.base.errors import FawkesError
from fawkes.playbook.criu import debian
from fawkes.playbook.criu.debian import Criu

WANTED = Criu("9.9-1", digest=hashlib.sha256(b"criu\n").hexdigest())
APT = """#!/bin/sh
echo "$@" >>{log}
case "$*" in
    *indextargets*) printf '%s\\n' {targets} ;;
    *update*) echo "W: slow" >&2; [ -z "{broken}" ] || {{ echo "E: {broken}" >&2; exit 100; }} ;;
    *download*) touch criu_9.9-1_amd64.deb ;;
esac
"""
DPKG = """#!/bin/sh
mkdir -p "$3/usr/sbin" "$3/usr/lib/x86_64-linux-gnu"
echo {program} >"$3/usr/sbin/criu"
echo a >"$3/usr/lib/x86_64-linux-gnu/liba.so.1"
cat >"$3/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" <<EOF
#!/bin/sh
echo "linux-vdso.so.1 (0x0)"
echo "liba.so.1 => $3/usr/lib/x86_64-linux-gnu/liba.so.1 (0x0)"
[ -z "{outside}" ] || echo "libb.so.1 => /lib/libb.so.1 (0x0)"
EOF
chmod +x "$3/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
"""

Machine = Callable[..., Path]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine with programs of its own in place of Debian's; the file in which apt-get notes how it was called."""
    monkeypatch.setenv("FAWKES_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.delenv(debian.MIRROR, raising=False)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    keyring = tmp_path / "keyring.gpg"
    keyring.touch()
    monkeypatch.setattr(debian, "_KEYRING", keyring)

    def make(
        targets: str = "http://mirror.example/debian/", broken: str = "", program: str = "criu", outside: str = ""
    ) -> Path:
        log = tmp_path / "calls"
        (tmp_path / "bin").mkdir(exist_ok=True)
        texts = {
            "apt-get": APT.format(log=log, targets=targets, broken=broken),
            "dpkg-deb": DPKG.format(program=program, outside=outside),
        }
        for name, text in texts.items():
            (tmp_path / "bin" / name).write_text(text)
            (tmp_path / "bin" / name).chmod(0o755)
        return log

    return make


def error() -> str:
    with pytest.raises(FawkesError) as caught:
        debian.provide(WANTED)
    assert not debian.is_made(WANTED)
    assert not [path for path in debian.place_of(WANTED).parent.glob("*") if path.name.startswith(".part-")]
    return f"{caught.value.what} | {caught.value.hint}"


def test_the_archive_has_the_program_its_loader_and_its_libraries_and_is_made_once(machine: Machine) -> None:
    log = machine()
    assert debian.provide(WANTED)
    with tarfile.open(debian.place_of(WANTED)) as tar:
        assert tar.getnames() == ["bin/criu", "lib/ld-linux-x86-64.so.2", "lib/liba.so.1"]
        assert {entry.mode for entry in tar} == {0o755}
    before = debian.place_of(WANTED).read_bytes()
    calls = log.read_text()
    assert "criu=9.9-1" in calls
    assert not debian.provide(WANTED)
    assert log.read_text() == calls
    assert debian.provide(WANTED, again=True)
    assert debian.place_of(WANTED).stat().st_size == len(before)


def test_the_mirror_is_one_of_the_machine_or_the_one_that_is_given(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine("http://other.example/ubuntu/ http://mirror.example/debian http://mirror.example/debian-security")
    assert debian._mirror() == "http://mirror.example/debian"
    monkeypatch.setenv(debian.MIRROR, "http://mine.example/debian")
    assert debian._mirror() == "http://mine.example/debian"


def test_a_machine_that_knows_no_mirror_is_told_how_to_name_one(machine: Machine) -> None:
    machine("http://other.example/ubuntu/")
    assert "no source of packages of this machine is a Debian mirror" in (said := error())
    assert debian.MIRROR in said


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"broken": "Unable to fetch"}, "reading Debian's list of packages failed (exit 100): E: Unable to fetch"),
        ({"program": "other"}, "is not the one that is pinned"),
        ({"outside": "yes"}, "CRIU needs libb.so.1, which none of the packages has"),
    ],
)
def test_what_is_not_as_it_must_be_leaves_nothing(machine: Machine, how: dict[str, str], says: str) -> None:
    machine(**how)
    assert says in error()


def test_a_machine_that_cannot_is_told_what_it_lacks(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine()
    monkeypatch.setattr(debian, "_KEYRING", tmp_path / "none.gpg")
    assert "apt-get install debian-archive-keyring" in error()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert "there is no `apt-get`" in error()
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert "this machine has the processor aarch64" in error()
