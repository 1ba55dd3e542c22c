"""docs/configuration.md has every key, and no others."""

from __future__ import annotations

import re
import typing
from pathlib import Path

import pytest

from fawkes.config.clusters import ClusterTable, DataTable, OutputTable
from fawkes.config.fields import Bounds, bounds_of
from fawkes.config.hadoop import OWNED, SITES, Heap, RoleTables
from fawkes.config.inventory import Group, InventoryFile, NodeTable, Ssh
from fawkes.config.jobs import JobTable
from fawkes.config.loader import Strict, keys_of
from fawkes.config.presets import PRESETS
from fawkes.config.settings import Patience, Retries, SettingsFile, SshLimits, Timeouts
from fawkes.config.workloads import ClusterArrival, GenerateTable, JobArrival, WorkloadTable
from fawkes.dist.pins import DEFAULT_VERSION
from fawkes.errors import ExitStatus

TEXT = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()

SECTIONS: dict[tuple[str, str], type[Strict]] = {
    ("inventory.toml", "The file"): InventoryFile,
    ("inventory.toml", "`[ssh]`"): Ssh,
    ("inventory.toml", "`[[group]]`"): Group,
    ("fawkes.toml", "The settings"): SettingsFile,
    ("fawkes.toml", "`[timeouts]`"): Timeouts,
    ("fawkes.toml", "`[patience]`"): Patience,
    ("fawkes.toml", "`[retries]`"): Retries,
    ("fawkes.toml", "`[ssh]` of the settings"): SshLimits,
    ("clusters/NAME.toml", "The MR-cluster"): ClusterTable,
    ("clusters/NAME.toml", "`[[data]]`"): DataTable,
    ("clusters/NAME.toml", "`[[outputs]]`"): OutputTable,
    ("clusters/NAME.toml", "`[heap]`"): Heap,
    ("clusters/NAME.toml", "`[hadoop.FILE]` and `[role.ROLE.hadoop.FILE]`"): RoleTables,
    ("Job files", "The job"): JobTable,
    ("Workloads", "The workload"): WorkloadTable,
    ("Workloads", "`[[generate]]`"): GenerateTable,
}


def rows(chapter: str, section: str) -> list[list[str]]:
    """The rows of the table in a section, as cells."""
    inside = re.search(rf"^## {re.escape(chapter)}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert inside, chapter
    below = re.search(rf"^### {re.escape(section)}\n(.*?)(?=^### |\Z)", inside[1], re.MULTILINE | re.DOTALL)
    assert below, section
    found = [line.strip("|").split("|") for line in below[1].splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in row] for row in found]


def keys(chapter: str, section: str) -> list[str]:
    return [row[0].strip("`") for row in rows(chapter, section)]


@pytest.mark.parametrize(("place", "model"), SECTIONS.items(), ids=[" ".join(place) for place in SECTIONS])
def test_a_section_has_the_keys_of_its_table(place: tuple[str, str], model: type[Strict]) -> None:
    assert sorted(keys(*place)) == sorted(keys_of(model))


def bounded(model: type[Strict]) -> dict[str, Bounds]:
    """The keys of a table that have bounds, each with its own."""
    hints = typing.get_type_hints(model, include_extras=True)
    found = {field.alias or name: bounds_of(hints[name]) for name, field in model.model_fields.items()}
    return {key: bounds for key, bounds in found.items() if bounds is not None}


@pytest.mark.parametrize(("place", "model"), SECTIONS.items(), ids=[" ".join(place) for place in SECTIONS])
def test_the_row_of_a_key_tells_its_bounds(place: tuple[str, str], model: type[Strict]) -> None:
    told = {row[0].strip("`"): row[1] for row in rows(*place)}
    assert {key: told[key] for key, bounds in bounded(model).items() if f"({bounds})" not in told[key]} == {}


@pytest.mark.parametrize(
    ("section", "model", "base"),
    [("`[[cluster]]`", ClusterArrival, ClusterTable), ("`[[job]]`", JobArrival, JobTable)],
)
def test_a_workload_adds_keys(section: str, model: type[Strict], base: type[Strict]) -> None:
    assert set(keys("Workloads", section)) == set(keys_of(model)) - set(keys_of(base))


def test_a_single_node_has_the_keys_of_a_group_without_its_names() -> None:
    assert set(keys_of(NodeTable)) == set(keys_of(Group)) - {"name", "nodes"}


def test_the_presets_are_shown_as_they_are() -> None:
    shown = {row[0].strip("`"): row[1:] for row in rows("fawkes.toml", "The presets")}
    real = {
        key: [_text(preset[key].value) if key in preset else "" for preset in PRESETS.values()]
        for key in {key for preset in PRESETS.values() for key in preset}
    }
    assert list(PRESETS) == ["steady", "paper", "demo"]
    assert shown == real


def _text(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("word", [*SITES, *OWNED, DEFAULT_VERSION])
def test_fixed_words_are_told(word: str) -> None:
    assert f"`{word}`" in TEXT


def test_every_exit_code_is_told() -> None:
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", TEXT, re.MULTILINE)}
    assert codes == {*ExitStatus, 130}
