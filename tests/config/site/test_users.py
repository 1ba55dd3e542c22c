from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.base.errors import ConfigError
from fawkes.config.site.users import group_lines, users_of, without_user
from tests.config.support import write


def test_each_file_has_its_user(tmp_path: Path) -> None:
    files = [write(tmp_path, "a.toml", 'run_as = "alpha"\n'), write(tmp_path, "b.toml", "min_nodes = 2\n")]
    assert users_of(files) == {files[0]: "alpha", files[1]: ""}


def test_two_files_with_one_user_are_refused(tmp_path: Path) -> None:
    files = [write(tmp_path, name, 'run_as = "alpha"\n') for name in ("a.toml", "b.toml")]
    with pytest.raises(ConfigError, match="'alpha' is the user of") as refused:
        users_of(files)
    assert refused.value.where == f"{files[1]}: run_as"
    assert "a user of its own" in refused.value.hint


def test_files_without_a_user_may_be_many(tmp_path: Path) -> None:
    files = [write(tmp_path, name, "min_nodes = 2\n") for name in ("a.toml", "b.toml")]
    assert set(users_of(files).values()) == {""}


def test_the_sentence_names_the_mr_clusters() -> None:
    assert without_user(["b", "a"]).startswith("a, b have no `run_as`: jobs run as the user for SSH")


def test_nodes_with_one_reason_share_a_sentence_about_control_groups() -> None:
    nodes = {"node01": "", "node02": "", "node03": "no cgroup v2", "node04": "no cgroup v2", "node05": "no rights"}
    having, *lacking = group_lines(nodes)
    assert having.startswith("node[01-02] have control groups: a wipe there ends what such jobs leave running")
    assert lacking == ["node[03-04] have no control groups: no cgroup v2", "node05 has no control groups: no rights"]
    assert group_lines({}) == []
