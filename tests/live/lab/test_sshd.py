"""Where the SSH server comes from. apt-get and dpkg are stand-ins here; the other tests' labs use the real ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fawkes.base.errors import UserError
from fawkes.live.lab.inside.sshd import Sshd, check_config, find_sshd

Program = Callable[[str, str], None]

SIMULATE = """case "$*" in
*--simulate*) echo 'Inst libwrap0 (7.6 Debian)'; echo 'Inst runit-helper (2)'; echo 'Inst openssh-server (1 Debian)';;
*download*) for name in "$@"; do touch "$name.deb"; done;;
esac
echo "$*" >> "$CALLS"
"""
OFFLINE = SIMULATE.replace("*download*)", "*download*) exit 100;")
UNPACK = """mkdir -p "$3/usr/sbin" "$3/usr/lib/arch"; touch "$3/usr/lib/arch/libwrap.so.0"
printf '#!/bin/sh\\necho OpenSSH_9 >&2; exit 1\\n' > "$3/usr/sbin/sshd"; chmod +x "$3/usr/sbin/sshd"
"""


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without an sshd, whose programs are what the test puts into ``bin``."""
    (tmp_path / "bin").mkdir()
    for name in ("sh", "touch", "mkdir", "chmod"):
        (tmp_path / "bin" / name).symlink_to(f"/bin/{name}")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("FAWKES_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    return tmp_path


@pytest.fixture
def program(bare: Path) -> Program:
    def write(name: str, script: str) -> None:
        file = bare / "bin" / name
        file.write_text(f"#!/bin/sh\n{script}")
        file.chmod(0o755)

    return write


def test_lines_that_sshd_does_not_take_are_told(bare: Path, program: Program) -> None:
    server = Sshd(bare)
    server.program.parent.mkdir(parents=True)
    file = bare / "sshd_config"
    no_user = "echo Privilege separation user sshd does not exist"
    server.program.write_text(f"#!/bin/sh\n{no_user} >&2; exit 255\n")
    server.program.chmod(0o755)
    check_config(server, file)
    server.program.write_text(
        f"#!/bin/sh\necho $3: line 1: Bad configuration option: Foo >&2; {no_user} >&2; exit 255\n"
    )
    with pytest.raises(UserError, match=r"--sshd: sshd does not take its configuration: line 1: Bad .* option: Foo"):
        check_config(server, file)


def find(bare: Path, heard: list[str] | None = None) -> Sshd:
    return find_sshd((heard if heard is not None else []).append, system=bare / "system")


def test_the_machines_own_is_used_where_there_is_one(bare: Path) -> None:
    own = bare / "system/usr/sbin/sshd"
    own.parent.mkdir(parents=True)
    own.touch(0o755)
    assert find(bare).program == own


@pytest.mark.slow
def test_what_is_missing_is_unpacked_once_and_told(bare: Path, program: Program) -> None:
    program("apt-get", SIMULATE)
    program("dpkg", UNPACK)
    heard: list[str] = []
    sshd = find(bare, heard)
    assert sshd.program == bare / "cache/sshd/usr/sbin/sshd"
    assert sshd.libraries == (bare / "cache/sshd/usr/lib/arch",)
    assert len(heard) == 1
    calls = (bare / "calls").read_text()
    assert "download libwrap0 openssh-server\n" in calls
    assert not [line for line in calls.splitlines() if "install" in line and "--simulate" not in line]
    os.unlink(bare / "bin/apt-get")
    assert find(bare, heard) == sshd
    assert len(heard) == 1
    assert [entry.name for entry in (bare / "cache").iterdir()] == ["sshd"]


@pytest.mark.slow
def test_a_damaged_copy_is_replaced(bare: Path, program: Program) -> None:
    program("apt-get", SIMULATE)
    program("dpkg", UNPACK)
    sshd = find(bare)
    sshd.program.write_text("#!/bin/sh\nexit 127\n")
    assert find(bare) == sshd
    assert "OpenSSH" in sshd.program.read_text()


@pytest.mark.parametrize(
    ("apt_get", "dpkg", "complaint"),
    [
        (None, UNPACK, "no apt-get to fetch one with"),
        (SIMULATE, None, "no dpkg to fetch one with"),
        ("exit 100", UNPACK, "knows no package openssh-server"),
        (
            SIMULATE.replace("*download*)", "*download*) exit 100;"),
            UNPACK,
            "could not download libwrap0 openssh-server",
        ),
        (SIMULATE, UNPACK.replace("echo OpenSSH_9", "echo libx.so: not found"), "does not start: libx.so: not found"),
        (SIMULATE, "exit 1", "could not unpack"),
    ],
)
def test_without_a_server_the_user_is_told_what_to_do(
    bare: Path, program: Program, apt_get: str | None, dpkg: str | None, complaint: str
) -> None:
    for name, script in (("apt-get", apt_get), ("dpkg", dpkg)):
        if script is not None:
            program(name, script)
    with pytest.raises(UserError, match=complaint) as caught:
        find(bare)
    assert "apt-get install openssh-server" in caught.value.hint
    assert list((bare / "cache").iterdir()) == []
