"""The live world has its times in one place, so that nobody waits, gives up or tries again by a number of their own."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

LIVE = Path(__file__).parents[2] / "fawkes" / "live"
LIVING = sorted(path for path in LIVE.rglob("*.py") if "lab" not in path.parts)
#: times that belong to how something is carried or read, in the files that do nothing else
CARRIERS = {
    "lane.py": "the end of a shell",
    "ssh.py": "signs of life of a connection",
    "timers.py": "the machine's clock",
    "mailbox.py": "the machine's clock",
    "measure.py": "how late a ResourceManager lists what has ended",
    "same_time.py": "how far Kerberos lets two clocks differ",
}


def times(source: str) -> list[str]:
    """The constants of a module that are times."""
    names: list[str] = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.append(node.target.id)
    return [name for name in names if name.isupper() and name.endswith(("_S", "_US"))]


@pytest.mark.slow
def test_times_of_the_live_world_have_names_in_one_place() -> None:
    own = {path.name: constants for path in LIVING if (constants := times(path.read_text()))}
    assert own.pop("limits.py")
    assert {name: constants for name, constants in own.items() if name not in CARRIERS} == {}


def test_each_limit_is_used() -> None:
    sources = "".join(path.read_text() for path in LIVING)
    unused = [name for name in times((LIVE / "base" / "limits.py").read_text()) if f"limits.{name}" not in sources]
    assert unused == []
