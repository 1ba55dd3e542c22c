"""The core, read as text: what it imports, that nothing is left undone, and that each reason has a sentence."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fawkes.report.words.sentences import SENTENCES, VERDICTS

ROOT = Path(__file__).parents[2]
CORE = sorted((ROOT / "fawkes" / "core").rglob("*.py"))
#: of the standard library: values, arithmetic, collections
CORE_MAY = {
    "__future__", "bisect", "collections", "dataclasses", "enum", "functools", "graphlib", "hashlib", "heapq",
    "itertools", "json", "math", "operator", "re", "types", "typing",
}  # fmt: skip
OURS = {"fawkes.core", "fawkes.base.units", "fawkes.base.errors", "fawkes.base.values"}
UNDONE = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
CHANGING = {
    "add",
    "append",
    "apply",
    "clear",
    "discard",
    "extend",
    "pop",
    "popleft",
    "put",
    "remove",
    "setdefault",
    "update",
}
FORBIDDEN = {"id", "hash", "open", "print", "input", "globals", "eval", "exec"}


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in CORE:
        yield path, ast.parse(path.read_text())


@pytest.mark.parametrize("path", CORE, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_module_of_the_core_imports_the_core_and_pure_parts_of_the_standard_library(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or "."] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            top = name.partition(".")[0]
            ours = name == "fawkes.core" or name.startswith("fawkes.core.") or name in OURS
            assert ours or (top in CORE_MAY and top in sys.stdlib_module_names), name


@pytest.mark.slow
def test_the_core_has_no_chance_to_differ() -> None:
    """Nothing gives another answer in another process: no address or hash of a thing, no set that is popped."""
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in FORBIDDEN, path.name


def changed(source: str) -> list[str]:
    """The parts of a state that a source changes: what it assigns to, deletes, or calls a changing method of."""
    targets: list[ast.expr] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign | ast.Delete):
            targets += node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets.append(node.target)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING:
            targets.append(node.func.value)
    return [text for text in map(ast.unparse, targets) if re.search(r"\bview[.\[]", text)]


def test_only_evolve_changes_a_state() -> None:
    assert changed("draft.view.nodes[name] = node; view.paused = ''; view.jobs.pop(job); view.queue[1:].copy()") == [
        "draft.view.nodes[name]", "view.paused", "view.jobs",
    ]  # fmt: skip
    sources = sorted((ROOT / "fawkes").rglob("*.py"))
    assert {path.name: texts for path in sources if (texts := changed(path.read_text()))} == {}


def constants(node: ast.AST, tree: ast.Module) -> set[str]:
    """The texts that an expression may be; a name is looked up where it is assigned."""
    if isinstance(node, ast.Name):
        assigned = [n for n in ast.walk(tree) if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)]
        values = [n.value for n in assigned if n.targets[0].id == node.id]  # type: ignore[attr-defined]
        return set().union(*(constants(value, tree) for value in values))
    if isinstance(node, ast.IfExp):
        return constants(node.body, tree) | constants(node.orelse, tree)
    return {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def codes() -> set[str]:
    """The codes of all reasons that the core gives."""
    named: set[str] = set()
    for _, tree in trees():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            at = {"say": 0, "Reason": 0, "give": 3}.get(name)
            if at is not None and len(node.args) > at:
                named |= constants(node.args[at], tree)
    return named


@pytest.mark.slow
def test_each_reason_of_the_core_has_a_sentence() -> None:
    given = codes()
    assert {"tick", "grow", "shrink", "undrain", "job-succeeded", "freed", "master-node"} <= given
    assert given - set(SENTENCES) == set()


def test_each_verdict_has_a_sentence() -> None:
    tick = ast.parse((ROOT / "fawkes" / "core" / "deciding" / "tick.py").read_text())
    (function,) = (n for n in ast.walk(tick) if isinstance(n, ast.FunctionDef) and n.name == "_verdict")
    pairs = [n for n in ast.walk(function) if isinstance(n, ast.Tuple) and isinstance(n.elts[0], ast.Constant)]
    verdicts = {str(pair.elts[0].value) for pair in pairs if isinstance(pair.elts[0], ast.Constant)}
    assert {"balanced", "unbalanced", "settling"} <= verdicts
    assert verdicts == set(VERDICTS)


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["fawkes", "policies", "playbooks", "bench", "docs"])
def test_nothing_is_left_undone(folder: str) -> None:
    left = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if UNDONE.search(line)
    ]
    assert left == []
