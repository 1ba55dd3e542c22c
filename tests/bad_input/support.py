"""Shared parts of all tests of bad input: a small site, one case of a table, and running `fawkes` in its folder."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from fawkes.cli.main import cli

INVENTORY = """pool = "p"
[ssh]
user = "hadoop"
[[group]]
name = "r1"
nodes = "node[01-03]"
address = "127.0.0.[1-3]"
port = 1
cores = 8
memory = "16GB"
disk = "400GB"
work_dir = "/srv/fawkes"
"""
CLUSTER = "min_nodes = 3\n"
JOB = 'kind = "jar"\njar = "examples"\nargs = ["pi", "1", "1"]\n'
SCENARIO = """title = "x"
[pool]
nodes = 6
[[cluster]]
id = "a"
min_nodes = 2
replication = 2
[[job]]
cluster = "a"
id = "j"
kind = "sleep"
maps = 4
map_time = "5s"
"""
TABLE = "# fawkes jobs 1\nid,submit_s,maps,map_s\na,0,2,5\n"
LINK_LOOP = "a-loop"
"""A link to itself that each site has."""

REQUEST = ("request", "c", "--dry-run")
CHECK = ("check", "node01")
SUBMIT = ("submit", "c", "j.toml", "--dry-run")
SIMULATE = ("simulate", "s.toml", "--out", "o")
SHOW = ("workload", "show", "w")

Text = str | bytes | None
Prepare = Callable[[Path], object]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A command line in a site with odd files: how it must end, and a part of what it must say on stderr.

    A file that is None is not there. ``prepare`` makes what is no text, such as links. A case that could hang or fill
    the memory is ``risky``: it runs in a process of its own, with limits.
    """

    group: str
    name: str
    exit: int
    says: str = ""
    args: tuple[str, ...]
    files: Mapping[str, Text] = field(default_factory=dict)
    prepare: Prepare | None = None
    stdin: str = ""
    risky: bool = False
    writes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    exit: int
    stdout: str
    stderr: str


def lay_out(folder: Path, files: Mapping[str, Text], prepare: Prepare | None = None) -> None:
    """A good site in a folder, with these files instead of its own."""
    (folder / "clusters").mkdir()
    (folder / LINK_LOOP).symlink_to(LINK_LOOP)
    for name, text in {"inventory.toml": INVENTORY, "clusters/c.toml": CLUSTER, **files}.items():
        if text is not None:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
    if prepare is not None:
        prepare(folder)


#: it starts a process for each case that could hang
_STARTER = multiprocessing.get_context("forkserver")
_STARTER.set_forkserver_preload(["tests.bad_input.support"])


def run_here(folder: Path, args: tuple[str, ...], stdin: str = "") -> Ended:
    """`fawkes` in this process, in a folder."""
    with contextlib.chdir(folder):
        done = CliRunner().invoke(cli, args, input=stdin)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Ended(done.exit_code, done.stdout, done.stderr)


def run_apart(folder: Path, args: tuple[str, ...]) -> Ended:
    """`fawkes` in a process of its own that gets 20 s and 3 GB: a copy of one that has imported it."""
    mine, its = _STARTER.Pipe(duplex=False)
    process = _STARTER.Process(target=_limited, args=(its, folder, args))
    process.start()
    its.close()
    try:
        assert mine.poll(20), "it has not ended after 20 s"
        ended: Ended = mine.recv()
        return ended
    finally:
        process.kill()
        process.join()


def _limited(answer: Connection, folder: Path, args: tuple[str, ...]) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    answer.send(run_here(folder, args))


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of each file below a folder."""
    facts = {str(path.relative_to(folder)): path.lstat() for path in folder.rglob("*")}
    return {
        name: (0, 0) if os.path.isdir(folder / name) else (at.st_size, at.st_mtime_ns) for name, at in facts.items()
    }


def changed(before: Mapping[str, tuple[int, int]], after: Mapping[str, tuple[int, int]]) -> set[str]:
    """The names that were made, changed or removed."""
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def link(name: str, target: str) -> Prepare:
    """Makes a symbolic link in the site."""
    return lambda site: (site / name).symlink_to(target)


def fifo(name: str) -> Prepare:
    """Makes a named pipe in the site, into which nobody writes."""
    return lambda site: os.mkfifo(site / name)


def folder(name: str) -> Prepare:
    """Makes a folder in the site."""
    return lambda site: (site / name).mkdir(parents=True)


def edited(old: str, new: str) -> str:
    """The good inventory with one change."""
    assert old in INVENTORY
    return INVENTORY.replace(old, new)


def named(nodes: str) -> str:
    """The good inventory with one node of this name, or a set of it."""
    return edited("node[01-03]", nodes).replace("127.0.0.[1-3]", "127.0.0.1")


def pooled(nodes: str) -> str:
    """The good inventory with other nodes and no addresses."""
    return edited("node[01-03]", nodes).replace('address = "127.0.0.[1-3]"\n', "")


def command(group: str, name: str, args: tuple[str, ...], exit: int, says: str, **more: Any) -> Case:  # noqa: A002
    """A case of any command line."""
    return Case(group=group, name=name, args=args, exit=exit, says=says, **more)


def inventory(name: str, text: Text, exit: int, says: str, **more: Any) -> Case:  # noqa: A002
    """A case of an inventory that `fawkes request` reads."""
    return command("inventory", name, REQUEST, exit, says, files={"inventory.toml": text}, **more)


def settings(name: str, text: Text, exit: int, says: str, **more: Any) -> Case:  # noqa: A002
    """A case of a fawkes.toml that `fawkes check` reads."""
    return command("settings", name, CHECK, exit, says, files={"fawkes.toml": text}, **more)


def cluster(name: str, text: Text, exit: int, says: str, **more: Any) -> Case:  # noqa: A002
    """A case of the file of an MR-cluster that `fawkes request` reads."""
    return command("cluster", name, REQUEST, exit, says, files={"clusters/c.toml": text}, **more)


def job(name: str, text: Text, exit: int, says: str, **more: Any) -> Case:  # noqa: A002
    """A case of a job file that `fawkes submit` reads."""
    return command("job", name, SUBMIT, exit, says, files={"j.toml": text}, **more)


def scenario(name: str, text: Text, exit: int, says: str, **more: Any) -> Case:  # noqa: A002
    """A case of a scenario that `fawkes simulate` reads; one that is good writes no folder."""
    args = SIMULATE if exit else SIMULATE[:2]
    return command("scenario", name, args, exit, says, files={"s.toml": text}, **more)


def workload(name: str, text: Text, exit: int, says: str, **more: Any) -> Case:  # noqa: A002
    """A case of a trace that `fawkes workload show` reads."""
    return command("workload", name, more.pop("args", SHOW), exit, says, files={more.pop("file", "w"): text}, **more)
