"""Shared parts of the tests of configuration: a pool to check against, and the faults of a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from fawkes.base.errors import ConfigError, ExitStatus
from fawkes.config.files.loader import ManyConfigError
from fawkes.config.nodes.inventory import Inventory, load_inventory


class Bad(NamedTuple):
    """A text that must be refused: at which key, saying what, advising what."""

    text: str
    key: str
    what: str
    hint: str = ""


def cases(**bad: Bad) -> pytest.MarkDecorator:
    """One test for each case, by name."""
    names = [name.replace("_", "-") for name in bad]
    return pytest.mark.parametrize("bad", list(bad.values()), ids=names)


def refusals(action: Callable[[], object]) -> list[ConfigError]:
    """Everything that is wrong, as the user would hear it."""
    with pytest.raises(ConfigError) as caught:
        action()
    error = caught.value
    assert error.exit_status is ExitStatus.USAGE
    return list(error.errors) if isinstance(error, ManyConfigError) else [error]


def assert_refused(bad: Bad, path: Path, action: Callable[[], object]) -> None:
    """One of the refusals is the expected one, and all name the file."""
    errors = refusals(action)
    assert {error.file for error in errors} == {str(path)}
    fitting = [error for error in errors if error.key == bad.key and bad.what in error.what]
    assert fitting, [str(error) for error in errors]
    assert bad.hint in fitting[0].hint, fitting[0].hint


def write(folder: Path, name: str, text: str) -> Path:
    """A file of a site."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


POOL = """
pool = "p"
[ssh]
user = "hadoop"
[[group]]
name = "able"
nodes = "n[1-6]"
cores = 4
memory = "8GB"
disk = "100GB"
work_dir = "/srv/fawkes"
[[group]]
name = "diskless"
nodes = "d[1-2]"
core = false
cores = 4
memory = "8GB"
disk = "10GB"
work_dir = "/srv/fawkes"
"""


def pool(folder: Path) -> Inventory:
    """Eight nodes, six of which may be core nodes with 100 GB each."""
    return load_inventory(write(folder, "inventory.toml", POOL))
