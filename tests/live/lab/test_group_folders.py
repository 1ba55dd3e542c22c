"""Control groups of hosts, on folders that stand for those of a machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.base.errors import RefusedError
from fawkes.live.lab.inside import groups


def given(monkeypatch: pytest.MonkeyPatch, two: list[Path], one: list[Path]) -> None:
    """Let these be this process's own groups in version 2 and 1, each its own mount point."""
    owns = {True: two, False: one}
    monkeypatch.setattr(groups, "hierarchies", lambda *, two: ((own, own) for own in owns[two]))


def test_each_host_gets_a_group_of_each_kind_and_forget_removes_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = [tmp_path / name for name in ("two", "cpu")]
    for folder in own:
        folder.mkdir()
    given(monkeypatch, own[:1], own[1:])
    made = groups.make(tmp_path, "x", ["node01", "node02"])
    assert made == {str(folder): str(folder / "fawkes-lab-x") for folder in own}
    assert groups.of_host(made, "node02") == {str(f): f / "fawkes-lab-x" / "node02" for f in own}
    assert all(folder.is_dir() for folder in groups.of_host(made, "node02").values())
    groups.forget(tmp_path)
    assert [list(folder.iterdir()) for folder in own] == [[], []]


def test_a_machine_without_groups_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given(monkeypatch, [], [])
    with pytest.raises(RefusedError):
        groups.make(tmp_path, "x", ["node01"])
    gone = tmp_path / "gone" / "own"
    given(monkeypatch, [gone], [])
    with pytest.raises(RefusedError):
        groups.make(tmp_path, "x", ["node01"])


@pytest.mark.parametrize(("controllers", "place"), [("cpu io\n", "init"), ("io\n", "."), (None, ".")])
def test_a_host_whose_groups_limit_cpu_time_has_its_processes_in_a_group_below(
    tmp_path: Path, controllers: str | None, place: str
) -> None:
    if controllers is not None:
        (tmp_path / "cgroup.controllers").write_text(controllers)
    (tmp_path / "earlier" / "below").mkdir(parents=True)
    groups.enter([tmp_path])
    assert (tmp_path / place / "cgroup.procs").read_text() == "0"
    assert (tmp_path / "cgroup.subtree_control").exists() == (place == "init")
    assert not (tmp_path / "earlier").exists()
