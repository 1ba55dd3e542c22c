"""The journal of drills: a line of JSON for each seed that was played. A long run goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from drills.plan import PLAN_VERSION
from drills.result import Result

Row = Mapping[str, Any]


class Journal:
    """The journal in a folder. Lines of another version of the plan are of other drills, and are passed over."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "drills.jsonl"

    def rows(self) -> list[Row]:
        """The latest line of each world and seed, in this order; a line cut off by a crash is passed over."""
        found: dict[tuple[str, int], Row] = {}
        if not self._file.exists():
            return []
        for line in self._file.read_text().splitlines():
            row = _row(line)
            if row is not None and row["plan"] == PLAN_VERSION:
                found[row["world"], row["seed"]] = row
        return [row for _, row in sorted(found.items())]

    def done(self, world: str) -> set[int]:
        """The seeds that were played in a world."""
        return {row["seed"] for row in self.rows() if row["world"] == world}

    def add(self, result: Result) -> None:
        """Write down what came of a seed."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        whole = not self._file.exists() or self._file.read_bytes().endswith(b"\n")
        with self._file.open("a") as out:
            out.write(("" if whole else "\n") + json.dumps(result.plain()) + "\n")


def _row(line: str) -> Row | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    keys = {"plan", "world", "seed", "failures", "tried", "took_s", "steps"}
    return row if isinstance(row, dict) and keys <= row.keys() else None
