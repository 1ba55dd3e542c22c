"""A workload that includes others: what is taken of them, and what is said when they do not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.base.errors import ConfigError
from fawkes.config.files.include import load_including
from fawkes.config.workloads.workloads import WorkloadTable

CLUSTER = '[[cluster]]\nid = "{name}"\nmin_nodes = 1\n'
JOB = '[[job]]\nid = "{name}-job"\ncluster = "{name}"\nkind = "sleep"\nmaps = 1\nmap_time = "1s"\n'


def write(folder: Path, name: str, head: str = "", *, more: str = CLUSTER + JOB) -> Path:
    path = folder / f"{name}.toml"
    path.write_text(head + "\n" + more.format(name=name))
    return path


def test_clusters_and_jobs_of_others_come_before_its_own_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, "a", 'title = "A"\nhosts = 90\n[settings]\npolicy = "EQ"')
    write(tmp_path, "b")
    path = write(tmp_path, "all", 'title = "All"\ninclude = ["b.toml", "a.toml"]\nhosts = 3')
    table = load_including(WorkloadTable, path)
    assert [row.id for row in table.cluster] == ["b", "a", "all"]
    assert [row.id for row in table.job] == ["b-job", "a-job", "all-job"]
    assert (table.title, table.hosts, table.settings) == ("All", 3, {})


def test_it_needs_none_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, "a")
    path = write(tmp_path, "all", 'include = ["a.toml"]', more="")
    assert [row.id for row in load_including(WorkloadTable, path).cluster] == ["a"]


@pytest.mark.parametrize(
    ("include", "file", "key", "says"),
    [
        ('["gone.toml"]', "gone.toml", "", "there is no such file"),
        ('["../x/a.toml"]', "all.toml", "include[#1]", "is not beside this file"),
        ('["a.toml", "wrong.toml"]', "wrong.toml", "cluster[wrong].min_nodes", "-1"),
        ('["nested.toml"]', "nested.toml", "include", "includes others"),
        ('"a.toml"', "all.toml", "include", "not a list"),
        ("[1]", "all.toml", "include[#1]", "text"),
    ],
)
def test_what_cannot_be_included(tmp_path: Path, include: str, file: str, key: str, says: str) -> None:
    write(tmp_path, "a")
    write(tmp_path, "wrong", more=CLUSTER.replace("min_nodes = 1", "min_nodes = -1"))
    write(tmp_path, "nested", 'include = ["a.toml"]')
    path = write(tmp_path, "all", f"include = {include}")
    with pytest.raises(ConfigError) as caught:
        load_including(WorkloadTable, path)
    assert (caught.value.file, caught.value.key) == (str(tmp_path / file), key)
    assert says in str(caught.value)
