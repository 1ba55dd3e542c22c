"""Laws that import-linter cannot check: the folders beside the package, late imports, and the length of modules."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]
POLICY_MAY = {"__future__", "fawkes.policy", "math", "statistics"}
PLAYBOOK_MAY = {"fabric", "fawkes"}
MOST_LINES = 600
MOST_ENTRIES = 14


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "."


def files(folder: str) -> list[Path]:
    paths = sorted((ROOT / folder).rglob("*.py"))
    assert paths
    return paths


@pytest.mark.parametrize("path", files("policies"), ids=lambda path: path.name)
def test_a_policy_imports_its_one_module_and_mathematics(path: Path) -> None:
    assert set(imports(path)) <= POLICY_MAY


@pytest.mark.parametrize("path", files("playbooks"), ids=lambda path: path.name)
def test_a_playbook_imports_fabric_its_one_module_and_the_standard_library(path: Path) -> None:
    for name in imports(path):
        top = name.partition(".")[0]
        assert top in PLAYBOOK_MAY or top in sys.stdlib_module_names, name
        assert top != "fawkes" or name in ("fawkes.playbook", "fawkes.playbook.script"), name


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = grimp.build_graph("fawkes")
    TopologicalSorter({each: graph.find_modules_directly_imported_by(each) for each in graph.modules}).prepare()


@pytest.mark.parametrize(
    ("modules", "other"),
    [
        ("fawkes.report.web.serve, fawkes.live.controller.control", "paramiko"),
        ("fawkes.offline.api", "paramiko"),
        ("fawkes.report.web.serve, fawkes.report.tables.board", "pydantic"),
    ],
)
def test_what_is_not_needed_is_not_loaded(modules: str, other: str) -> None:
    """SSH where no host is asked, forms of files where none is read: pages are larger with them, commands slower."""
    command = [sys.executable, "-c", f"import sys, {modules}; print(*sys.modules)"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert other not in done.stdout.split()


@pytest.mark.parametrize("folder", ["fawkes", "policies", "playbooks", "tests", "bench", "docs"])
def test_modules_are_short(folder: str) -> None:
    long = {str(p.relative_to(ROOT)): n for p in files(folder) if (n := len(p.read_text().splitlines())) > MOST_LINES}
    assert long == {}


@pytest.mark.slow
def test_live_and_offline_runs_and_the_flat_pool_let_jobs_in_by_the_same_code() -> None:
    # Only those are parsed that may.
    naming = [path for path in files("fawkes") if "core.state.admitting" in path.read_text()]
    users = {path.relative_to(ROOT).as_posix() for path in naming if "fawkes.core.state.admitting" in imports(path)}
    assert {
        "fawkes/core/jobs/deadlines.py",
        "fawkes/offline/studies/flat/pool.py",
        "fawkes/policy/worker/policies.py",
    } <= users
    assert not {name for name in users if name.startswith(("fawkes/sim/", "fawkes/live/"))}
    deciding = {name for name in users if re.search(r"\bchecked\(", (ROOT / name).read_text())}
    assert deciding == {
        "fawkes/core/jobs/deadlines.py",
        "fawkes/offline/studies/flat/pool.py",
        "fawkes/offline/studies/interference/manager.py",
    }


def test_no_folder_of_the_package_is_a_hall() -> None:
    package = ROOT / "fawkes"
    folders = [package, *(path.parent for path in package.rglob("__init__.py"))]
    entries = {folder: [path for path in folder.iterdir() if not path.name.startswith("__")] for folder in folders}
    assert len(entries) > MOST_ENTRIES
    assert {path.relative_to(ROOT).as_posix(): len(e) for path, e in entries.items() if len(e) > MOST_ENTRIES} == {}
