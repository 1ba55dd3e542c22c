"""Labs of users without rights. Root becomes one by a user namespace that knows a single user."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fawkes.base.errors import ExitStatus
from tests.live.lab.support import FAWKES

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="a user without rights has all other tests for this"),
]

_BECOME = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
_LIMIT_S = 300


def as_user(*command: str, keep: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*_BECOME, *keep, *command], capture_output=True, text=True, timeout=_LIMIT_S, check=False)


@pytest.fixture(autouse=True)
def _allowed() -> None:
    done = as_user("unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "true")
    if done.returncode:
        pytest.skip(f"the kernel does not let users make namespaces: {done.stderr.strip()}")


_POWER = "test_faults.py::test_a_power_failure_ends_all_processes_and_keeps_the_disks"
_ALL = [pytest.param(name, marks=pytest.mark.nightly) for name in ("test_faults.py", "test_hosts.py")]


@pytest.mark.parametrize("name", [_POWER, *_ALL])
def test_all_is_the_same_for_a_user_without_rights(tmp_path: Path, name: str) -> None:
    options = ["-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path}/inner"]
    done = as_user(sys.executable, "-m", "pytest", *options, str(Path(__file__).with_name(name)))
    assert done.returncode == 0, done.stdout


def test_a_kernel_that_forbids_it_is_explained(tmp_path: Path) -> None:
    forbid = 'echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv --ambient-caps=-all --inh-caps=-all "$@"'
    up = [*FAWKES, "lab", "up", "--hosts", "1", "--site", str(tmp_path / "lab")]
    done = as_user("sh", "-c", forbid, "sh", *up, keep=("--keep-caps",))
    assert done.returncode == ExitStatus.REFUSED
    assert "As root type: sysctl -w user.max_user_namespaces=10000" in done.stderr
    assert not (tmp_path / "lab").exists()
