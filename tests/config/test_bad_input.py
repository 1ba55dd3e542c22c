"""Bad input through the whole command line: one clear message, exit code 2, and nothing done."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fawkes.cli.main import cli
from fawkes.cli.pool.init import write_examples

TWICE = """cores = 8
memory = "1GB"
disk = "1GB"
work_dir = "/w"
[[group]]
name = "rack2"
nodes = "node[03-05]"
cores = 8"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    write_examples(tmp_path / "site")
    return tmp_path / "site"


def fawkes(site: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--site", str(site), *words])


def files(site: Path) -> dict[Path, str]:
    return {path: path.read_text() for path in site.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("inventory.toml", 'pool = "my-pool"', "pool = my-pool", "line 3, column 8: is not valid TOML"),
        ("inventory.toml", "cores = 8", "cors = 8", "group[rack1].cors: unknown key 'cors'. Did you mean 'cores'?"),
        (
            "inventory.toml",
            '"node[01-03]"',
            '"@rack1"',
            "group[rack1].nodes: '@rack1' is a group of ClusterShell, which has no groups",
        ),
        ("inventory.toml", '"node[01-03]"', '"n1!n1"', "group[rack1].nodes: 'n1!n1' is an empty set of nodes"),
        ("inventory.toml", '"16GB"', "16", "group[rack1].memory: 16 has no unit. Write a size with its unit in quotes"),
        (
            "inventory.toml",
            "cores = 8",
            TWICE,
            "group[rack2].nodes: node 'node03' is in the groups 'rack1' and 'rack2'",
        ),
        ("clusters/example.toml", "min_nodes = 3", "min_nodes = 4", "min_nodes: 4 core nodes are more than the pool"),
        ("clusters/example.toml", '"3.5.0"', "3.10", "hadoop_version: 3.1 is a number, not text in quotes"),
        ("clusters/example.toml", "replication = 3", "replication = 4", "replication: 4 copies of each block need"),
        (
            "clusters/example.toml",
            "min_nodes = 3",
            'min_nodes = 3\ndata = [{ from = "no", to = "/i" }]',
            "data[#1].from: ",
        ),
    ],
)
def test_a_file_that_is_wrong(name: str, old: str, new: str, message: str, site: Path) -> None:
    path = site / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    before = files(site)
    done = fawkes(site, "request", "example", "--dry-run")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"fawkes: {path}: {message}")
    assert files(site) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--jar", "no.jar"), "the command line: jar: there is no file "),
        (("--class", "A", "--time-limit", "60"), "the command line: time_limit: '60' is not a duration"),
        (("--class", "A", "--id", "A B"), "the command line: id: 'A B' cannot be a name here"),
        (("no-job.toml",), "no-job.toml: there is no such file"),
    ],
)
def test_a_job_that_is_wrong(words: tuple[str, ...], message: str, site: Path) -> None:
    before = files(site)
    done = fawkes(site, "submit", "c-1", *words, "--dry-run")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"fawkes: {message}")
    assert files(site) == before
