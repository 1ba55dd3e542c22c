"""The systemd unit: systemd takes it, it confines the controller, and it knows Fawkes's exit codes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fawkes.base.errors import ExitStatus
from fawkes.cli.pool import init
from tests.package.running import ROOT

UNIT = ROOT / "fawkes" / "config" / "examples" / "systemd" / "fawkes-controller@.service"
TEXT = UNIT.read_text()
PAGE = (ROOT / "docs" / "service.md").read_text()


def value(key: str) -> str:
    """The value of a key in the unit; a key stands there once."""
    (values,) = re.findall(rf"^{key}=(.*)$", TEXT, re.MULTILINE)
    return str(values)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("ProtectSystem", "strict"),
        ("ProtectHome", "read-only"),
        ("NoNewPrivileges", "yes"),
        ("PrivateTmp", "yes"),
        ("CapabilityBoundingSet", ""),
        ("User", "fawkes"),
        ("Restart", "on-failure"),
        ("KillSignal", "SIGTERM"),
        ("KillMode", "mixed"),
        ("TimeoutStopSec", "2min"),
    ],
)
def test_what_the_unit_says(key: str, expected: str) -> None:
    assert value(key) == expected


def test_the_site_folder_is_the_only_place_to_write_to() -> None:
    folder = f"/var/lib/{value('StateDirectory')}"
    assert value("WorkingDirectory") == folder == "/var/lib/fawkes/%i"
    assert value("Environment") == f"FAWKES_CACHE=/var/cache/{value('CacheDirectory')}"
    assert "ReadWritePaths" not in re.sub(r"^#.*$", "", TEXT, flags=re.MULTILINE)


def test_a_controller_is_not_started_again_where_that_cannot_help() -> None:
    stay = {int(code) for code in value("RestartPreventExitStatus").split()}
    assert stay == {ExitStatus.USAGE, ExitStatus.REFUSED, ExitStatus.ANOTHER_CONTROLLER}


def test_the_page_has_the_paths_of_the_unit() -> None:
    for path in ("/var/lib/fawkes/das4", "/var/cache/fawkes", "/etc/fawkes/NAME.env", "/opt/fawkes"):
        assert path in PAGE
        assert path.replace("das4", "%i").replace("NAME", "%i") in TEXT
    (folder,) = re.findall(r"fawkes init --systemd (\S+)$", PAGE, re.MULTILINE)
    assert re.findall(r"^ *cp (\S+) /etc/systemd/system/$", PAGE, re.MULTILINE) == [f"{folder}/{init.UNIT}"]
    assert init.EXAMPLES / init.UNIT == UNIT


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd on this machine")
def test_systemd_takes_it(tmp_path: Path) -> None:
    """With a program that is there: systemd looks for it."""
    program = shutil.which("true") or sys.executable
    unit = tmp_path / UNIT.name
    unit.write_text(TEXT.replace(value("ExecStart").split()[0], program))
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (verified.returncode, verified.stdout + verified.stderr) == (0, "")
