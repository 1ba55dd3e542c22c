"""Every reason that the core can give has a sentence."""

from __future__ import annotations

import ast
import json
import string
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from fawkes.core.values.model import Reason, Role
from fawkes.report.words.sentences import SENTENCES, VERDICTS, bare, sentence
from fawkes.store.base import Reader

CORE = Path(__file__).parents[3] / "fawkes" / "core"


def _said() -> Iterator[tuple[Reason, str]]:
    """The cases of ``sentences.txt``: code and facts of a reason, then its sentence behind "= "."""
    text = Path(__file__).with_name("sentences.txt").read_text().replace("\n  ", " ")
    lines = iter(text.splitlines())
    for reason, said in zip(lines, lines, strict=True):
        code, _, facts = reason.partition(" ")
        yield Reason(code, json.loads(facts or "{}")), said.removeprefix("= ")


SAID = list(_said())


def _texts(node: ast.AST) -> set[str]:
    return {each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)}


def _assigned(tree: ast.AST, name: str) -> set[str]:
    """The texts that a variable of a function, or a constant of a module, can hold."""
    texts: set[str] = set()
    for each in ast.walk(tree):
        if isinstance(each, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in each.targets):
            texts |= _texts(each.value)
        if isinstance(each, ast.For) and isinstance(each.target, ast.Tuple):
            places = [n for n, t in enumerate(each.target.elts) if isinstance(t, ast.Name) and t.id == name]
            texts |= {text for place in places for text in _column(tree, each.iter, place)}
    return texts


def _column(tree: ast.AST, rows: ast.expr, place: int) -> set[str]:
    """The texts at one place of the rows that a loop goes through."""
    name = rows.id if isinstance(rows, ast.Name) else ""
    tables = [each.value for each in ast.walk(tree) if isinstance(each, ast.Assign) and _is(each.targets, name)]
    table_rows = [row for table in tables if isinstance(table, ast.Tuple) for row in table.elts]
    return {text for row in table_rows if isinstance(row, ast.Tuple) for text in _texts(row.elts[place])}


def _is(targets: list[ast.expr], name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _codes(module: ast.Module) -> Iterator[str]:
    for function in ast.walk(module):
        if isinstance(function, (ast.FunctionDef, ast.ClassDef)):
            for call in ast.walk(function):
                code = _code(call)
                if isinstance(code, ast.Name):
                    yield from _assigned(function, code.id) or _assigned(module, code.id)
                elif code is not None:
                    yield from _texts(code)


def _code(call: ast.AST) -> ast.expr | None:
    """The argument of a call that is the code of a reason."""
    if not isinstance(call, ast.Call):
        return None
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    position = {"say": 0, "Reason": 0, "give": 3}.get(name, len(call.args))
    return call.args[position] if position < len(call.args) else None


@cache
def codes() -> set[str]:
    """Every code of a reason in the core, found in its source; constants are known in every module."""
    trees = {path: ast.parse(path.read_text()) for path in CORE.rglob("*.py")}
    constants = [each for tree in trees.values() for each in tree.body if isinstance(each, ast.Assign)]
    for tree in trees.values():
        tree.body += [each for each in constants if each not in tree.body]
    return {code for tree in trees.values() for code in _codes(tree)}


def test_the_source_is_read_rightly() -> None:
    known = codes()
    assert {"undeclared-data", "foreign-applications", "survey-failed", "discard-asked"} <= known
    assert {"grow", "shrink", "shrink-to-admit", "freed", "out-of-service", "job-failed", "job-cancelled"} <= known
    assert len(known) > 40


def test_every_code_has_a_sentence_and_every_sentence_a_code() -> None:
    assert set(SENTENCES) == codes()


def test_every_verdict_of_a_tick_has_a_sentence() -> None:
    tree = ast.parse((CORE / "deciding" / "tick.py").read_text())
    (verdict,) = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == "_verdict"]
    words = {text for text in _texts(verdict) if set(text) <= set(string.ascii_lowercase + "-")}
    assert words == set(VERDICTS)


def test_no_reason_of_a_run_falls_back_to_its_code(fresh: Reader) -> None:
    fallen = {
        sentence(reason)
        for entry in fresh.entries()
        for reason in entry.decision.reasons
        if sentence(reason) == bare(reason)
    }
    assert fallen == set()


def test_every_sentence_is_tried(played: Reader) -> None:
    """The recorded run tries a sentence, or a case of ``sentences.txt``."""
    tried = {reason.code for entry in played.entries() for reason in entry.decision.reasons}
    tried |= {reason.code for reason, _ in SAID}
    assert set(SENTENCES) <= tried


@pytest.mark.parametrize(("reason", "text"), SAID, ids=lambda each: each.code if isinstance(each, Reason) else "")
def test_sentences_of_what_goes_wrong(reason: Reason, text: str) -> None:
    assert sentence(reason) == text
    # The core has tuples where a ledger gives lists.
    facts = {name: tuple(fact) if isinstance(fact, list) else fact for name, fact in reason.facts.items()}
    assert sentence(Reason(reason.code, facts)) == text


def test_one_sentence_for_several_nodes() -> None:
    reason = Reason("grow", {"node": "n03", "cluster": "c", "role": Role.TRANSIENT, "target": 7, "held": 2, "tick": 3})
    said = sentence(reason, ("n03", "n04", "n07"))
    assert said == "n[03-04,07] join c as transient: c held 2 nodes and should have 7"
    assert sentence(reason, ("n03",)).startswith("n03 joins c ")
