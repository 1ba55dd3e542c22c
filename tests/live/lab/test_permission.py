from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from fawkes.base.errors import FawkesError, RefusedError
from fawkes.live.lab.lab import explain


def refusal(number: int, what: str = "unshare") -> OSError:
    return OSError(number, os.strerror(number), what)


@pytest.mark.parametrize(
    ("name", "value", "type_"),
    [
        ("kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    ],
)
def test_a_user_is_told_the_setting_that_forbids_it(tmp_path: Path, name: str, value: str, type_: str) -> None:
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_text(f"{value}\n")
    error = explain(refusal(errno.EPERM), root=False, settings=tmp_path)
    assert isinstance(error, RefusedError)
    assert type_ in error.hint


def test_limits_that_are_too_low_are_named(tmp_path: Path) -> None:
    (tmp_path / "user").mkdir()
    for kind, limit in {"net": 0, "user": 3, "pid": 90_000}.items():
        (tmp_path / f"user/max_{kind}_namespaces").write_text(f"{limit}\n")
    error = explain(refusal(errno.ENOSPC), root=False, settings=tmp_path)
    assert isinstance(error, RefusedError)
    assert error.hint.endswith("sysctl -w user.max_net_namespaces=10000 user.max_user_namespaces=10000")


def test_a_full_disk_is_not_taken_for_a_limit_of_namespaces(tmp_path: Path) -> None:
    error = explain(refusal(errno.ENOSPC, "/somewhere"), root=True, settings=tmp_path)
    assert type(error) is FawkesError
    assert "No space left on device (/somewhere)" in error.what


def test_a_user_without_a_known_reason_is_told_to_be_root(tmp_path: Path) -> None:
    error = explain(refusal(errno.EPERM), root=False, settings=tmp_path)
    assert isinstance(error, RefusedError)
    assert "Run the lab as root" in error.hint


def test_root_in_a_container_is_told_how_to_start_it(tmp_path: Path) -> None:
    error = explain(refusal(errno.EPERM), root=True, settings=tmp_path)
    assert isinstance(error, RefusedError)
    assert "CAP_SYS_ADMIN" in error.what
    assert "--privileged" in error.hint


def test_missing_parts_of_the_kernel_are_named(tmp_path: Path) -> None:
    assert "modprobe" in explain(refusal(errno.EOPNOTSUPP), root=True, settings=tmp_path).hint
    assert "Linux 5.12" in explain(refusal(errno.ENOSYS), root=True, settings=tmp_path).hint


def test_other_trouble_is_not_taken_for_a_missing_permission(tmp_path: Path) -> None:
    error = explain(refusal(errno.EIO, "mount"), root=True, settings=tmp_path)
    assert type(error) is FawkesError
    assert "Input/output error (mount)" in error.what
