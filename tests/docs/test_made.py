"""Statements of the documents about the code are true: their made parts are the same when they are made anew."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections import Counter
from pathlib import Path

import pytest

import fawkes.config
from docs.make import rooms
from docs.make.codes import MEANINGS
from docs.make.pages import made, parts, remade
from docs.make.reasons import reasons
from fawkes.base.errors import ExitStatus
from fawkes.cli.main import CUT_OFF, INTERRUPTED, VERBS
from fawkes.config.clusters.hadoop import SITES, RoleTable, RoleTables
from fawkes.config.files.loader import Strict, keys_of
from fawkes.config.jobs.jobs import JobsFile
from fawkes.config.nodes.inventory import Group, NodeTable
from fawkes.playbook.dist.pins import DEFAULT_VERSION
from fawkes.report.words.sentences import SENTENCES
from tests.docs.pages import ROOT, name_of

MADE = made(ROOT)
PARTS = parts(ROOT)
#: pages with numbers that change with each line of code: these may be a bit old
COUNTED = {ROOT / "docs" / "architecture.md", ROOT / "docs" / "architecture.svg"}
NUMBER = re.compile(r"\d[\d,]*")
REMEDY = "run `python -m docs.make` and commit what it writes"


@pytest.mark.parametrize("path", sorted(set(MADE) - COUNTED), ids=name_of)
def test_a_page_is_what_the_code_says(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == MADE[path], REMEDY


@pytest.mark.parametrize("path", sorted(COUNTED), ids=name_of)
def test_the_rooms_are_what_tree_and_contracts_say(path: Path) -> None:
    now, then = MADE[path], path.read_text(encoding="utf-8")
    assert NUMBER.sub("N", then) == NUMBER.sub("N", now), REMEDY


def test_the_lines_of_the_rooms_are_about_right() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for place, number in re.findall(r"^\| `(fawkes/[a-z/.]+)` \|[^|]+\| ([\d,]+) \|", text, re.MULTILINE):
        stated, real = int(number.replace(",", "")), rooms.rooms()[Path(place).stem].lines
        assert abs(stated - real) <= max(200, real / 4), f"{place}: {REMEDY}"


def test_every_room_stands_in_one_layer() -> None:
    """Else import-linter proves nothing about it, and the table leaves it out."""
    assert Counter(name for layer in rooms.layers() for name in layer) == Counter(list(rooms.rooms()))


def test_a_room_may_import_what_its_contracts_leave() -> None:
    assert rooms.may_import("core") == []
    assert rooms.may_import("live")[0] == "report"
    assert not {"live", "report", "store", "config"} & set(rooms.may_import("sim"))
    assert "sim" in rooms.may_import("offline")
    assert "live" in rooms.may_import("cli")


def test_every_verb_has_one_section() -> None:
    assert Counter(verb for name, *verbs in PARTS if name == "commands" for verb in verbs) == Counter(list(VERBS))


def test_every_table_of_configuration_has_its_keys_told() -> None:
    documented = {words[0].partition(":")[2] for name, *words in PARTS if name in ("keys", "more-keys")}
    for module in pkgutil.iter_modules(fawkes.config.__path__):
        importlib.import_module(f"fawkes.config.{module.name}")
    tables = {model.__name__ for model in _below(Strict) if model.__module__.startswith("fawkes.config.")}
    # `[node.NAME]`, `[role]` and `[[job]]` of a file of jobs are told in words: they have the keys of other tables.
    assert tables - {"_Keys", *(model.__name__ for model in (NodeTable, RoleTable, RoleTables, JobsFile))} == documented


def _below(model: type[Strict]) -> set[type[Strict]]:
    return {each for own in model.__subclasses__() for each in (own, *_below(own))}


def test_a_single_node_has_the_keys_of_a_group_without_its_names() -> None:
    assert set(keys_of(NodeTable)) == set(keys_of(Group)) - {"name", "nodes"}


@pytest.mark.parametrize("word", [*SITES, DEFAULT_VERSION])
def test_fixed_words_of_hadoop_are_told(word: str) -> None:
    assert f"`{word}`" in (ROOT / "docs" / "reference" / "cluster.md").read_text(encoding="utf-8")


def test_every_exit_code_is_told() -> None:
    assert set(MEANINGS) == {*ExitStatus, INTERRUPTED, CUT_OFF}


def test_every_reason_is_told_as_a_sentence() -> None:
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", reasons(), re.MULTILINE))
    assert set(rows) == set(SENTENCES) - {"tick"}
    assert [code for code, text in rows.items() if re.search(r"[{}]", text) or not text.endswith(".")] == []


def test_only_the_made_part_of_a_page_changes() -> None:
    page = "before\n\n<!-- made: exit-codes -->\nold\n<!-- end -->\n\nafter\n"
    again = remade(page)
    assert again.startswith("before\n\n<!-- made: exit-codes -->\n\n| code |")
    assert again.endswith("<!-- end -->\n\nafter\n")
    assert "old" not in again
    assert remade(again) == again


def test_a_part_that_nothing_makes_is_an_error() -> None:
    with pytest.raises(KeyError, match="riddles"):
        remade("<!-- made: riddles -->\n<!-- end -->\n")
