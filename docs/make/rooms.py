"""The rooms of the code: what each folder is for, how large it is, and what its contracts let it import."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from docs.make.table import code, table

ROOT = Path(__file__).parents[2]
PACKAGE = "fawkes"
ENTRY = "__main__"
_HUNDRED = 100


@dataclass(frozen=True)
class Room:
    """A folder or a module of the package: ``lines`` of code, and the first sentence of its docstring."""

    name: str
    place: str
    purpose: str
    lines: int


@cache
def rooms() -> Mapping[str, Room]:
    """All rooms by their names; the entry ``__main__`` is none."""
    folder = ROOT / PACKAGE
    found = [path.parent for path in folder.glob("*/__init__.py")] + list(folder.glob("[a-z]*.py"))
    return {path.stem: _room(path) for path in sorted(found)}


def _room(path: Path) -> Room:
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    tree = ast.parse((path / "__init__.py" if path.is_dir() else path).read_text(encoding="utf-8"))
    first = (ast.get_docstring(tree) or "").split("\n\n")[0]
    lines = sum(len(each.read_text(encoding="utf-8").splitlines()) for each in files)
    place = f"{PACKAGE}/{path.name}"
    return Room(path.stem, place, " ".join(first.split()).rstrip("."), lines)


@cache
def layers() -> Sequence[Sequence[str]]:
    """The rooms of each layer, from the top, by the contract of type `layers`."""
    return [[_name(part) for part in re.split(r"[|:]", line)] for line in _layers()["layers"]]


def _layers() -> Mapping[str, Any]:
    """The contract about whole rooms; those about the folders of one room name their container."""
    (whole,) = (each for each in _contracts() if each["type"] == "layers" and "containers" not in each)
    return whole


def common() -> frozenset[str]:
    """The rooms that every other one may import: those below the core."""
    (at,) = (number for number, layer in enumerate(layers()) if "core" in layer)
    return frozenset(name for layer in layers()[at + 1 :] for name in layer)


def may_import(name: str) -> list[str]:
    """The rooms that a room may import, from the top; what all may import is left out of all other rows."""
    (at,) = (number for number, layer in enumerate(layers()) if name in layer)
    beside = [other for other in layers()[at] if other != name and _together(name, other)]
    hidden = frozenset() if name in common() else common()
    below = [other for layer in layers()[at + 1 :] for other in layer if other not in hidden]
    return [other for other in (*beside, *below) if not _forbidden(name, other)]


def _forbidden(name: str, other: str) -> bool:
    return any(_forbids(contract, f"{PACKAGE}.{name}", f"{PACKAGE}.{other}") for contract in _contracts())


def _forbids(contract: Mapping[str, Any], importer: str, imported: str) -> bool:
    match contract["type"]:
        case "forbidden":
            return importer in contract["source_modules"] and imported in contract["forbidden_modules"]
        case "independence":
            return importer in contract["modules"] and imported in contract["modules"]
        case "protected":
            return imported in contract["protected_modules"] and importer not in contract["allowed_importers"]
    return False


def _together(name: str, other: str) -> bool:
    """Whether two rooms of one layer may import each other: a colon stands between them, no bar."""
    (line,) = (
        line for line in _layers()["layers"] if {name, other} <= {_name(part) for part in re.split(r"[|:]", line)}
    )
    return "|" not in line


@cache
def _contracts() -> Sequence[Mapping[str, Any]]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts: list[Mapping[str, Any]] = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    return contracts


def _name(part: str) -> str:
    return part.strip().removeprefix(f"{PACKAGE}.")


def table_of_rooms() -> str:
    """A row for each room, from the top layer: what it is for, its lines, and what it may import."""
    rows = [_row(rooms()[name]) for layer in layers() for name in layer]
    return table(["room", "what it is for", "lines", "may import"], rows)


def _row(room: Room) -> list[str]:
    imports = ", ".join(map(code, may_import(room.name))) or "nothing else"
    return [code(room.place), room.purpose.replace("``", "`"), f"{_rounded(room.lines):,}", imports]


def _rounded(lines: int) -> int:
    """To hundreds, and not less than one: nobody wants to read more digits."""
    return max(_HUNDRED, round(lines, -2))


def table_of_folders() -> str:
    """A row for each folder of each room, from the top layer: what it is for, and its lines."""
    found = [(folder, _room(folder)) for layer in layers() for name in layer for folder in _folders(name)]
    rows = [
        [code(_inside(folder)), room.purpose.replace("``", "`"), f"{_rounded(room.lines):,}"] for folder, room in found
    ]
    return table(["folder", "what it is for", "lines"], rows)


def table_of_subjects() -> str:
    """A row for each subject that has a folder on more than one floor, with a column for each floor that has any."""
    places = {name: {folder.name for folder in _folders(name)} for layer in layers() for name in layer}
    shared = sorted({s for names in places.values() for s in names if sum(s in other for other in places.values()) > 1})
    floors = [name for name, names in places.items() if names & set(shared)]
    rows = [
        [subject, *(code(f"{each}/{subject}") if subject in places[each] else "" for each in floors)]
        for subject in shared
    ]
    return table(["subject", *map(code, floors)], rows)


def _folders(name: str) -> list[Path]:
    return sorted(path.parent for path in (ROOT / PACKAGE / name).glob("*/__init__.py"))


def _inside(folder: Path) -> str:
    return folder.relative_to(ROOT / PACKAGE).as_posix()


WIDTH, HEIGHT, GAP, MARGIN = 960, 46, 10, 12


def picture() -> str:
    """The layers as an SVG picture: a box for each room, as wide as its name and its share of the layer's lines ask."""
    step = HEIGHT + GAP
    boxes = [box for number, layer in enumerate(layers()) for box in _boxes(layer, MARGIN + number * step)]
    height = 2 * MARGIN + len(layers()) * step - GAP
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
        'font-size="14" text-anchor="middle">'
    )
    title = "<title>The rooms of Fawkes in layers: each imports only from layers below it</title>"
    return "\n".join([head, title, f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>', *boxes, "</svg>\n"])


def _boxes(layer: Sequence[str], top: int) -> Iterator[str]:
    """The boxes of one layer, side by side: half of the width is shared equally, half by lines."""
    lines = [_rounded(rooms()[name].lines) for name in layer]
    free = WIDTH - 2 * MARGIN - GAP * (len(layer) - 1)
    left = float(MARGIN)
    for name, count in zip(layer, lines, strict=True):
        width = free / 2 / len(layer) + free / 2 * count / sum(lines)
        middle = left + width / 2
        yield (
            f'<rect x="{left:.0f}" y="{top}" width="{width:.0f}" height="{HEIGHT}" rx="4" fill="#e8eef7" '
            f'stroke="#44608a"/>'
            f'<text x="{middle:.0f}" y="{top + 19}" font-weight="bold">{escape(name)}</text>'
            f'<text x="{middle:.0f}" y="{top + 37}" fill="#444444">{count:,} lines</text>'
        )
        left += width + GAP
