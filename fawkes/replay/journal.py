"""What a replay has asked for, line by line, so that one that was broken off goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fawkes import __version__
from fawkes.errors import RefusedError, UserError
from fawkes.workload.play import Posted

FILE = "replay.jsonl"
BEFORE, JOBS = "before", "jobs"


class Journal:
    """The journal in the folder of a replay.

    ``earlier`` is what was asked for in each part by a run that was broken off. RefusedError when the folder has
    another replay or something else, UserError when a line cannot be read.
    """

    def __init__(self, folder: Path, facts: dict[str, Any]) -> None:
        self.file = folder / FILE
        self.earlier: dict[str, list[Posted]] = {BEFORE: [], JOBS: []}
        said = {"fawkes": __version__, **facts}
        if folder.exists() and any(folder.iterdir()):
            self._read(said)
            return
        folder.mkdir(parents=True, exist_ok=True)
        self._add(said)

    @property
    def resumed(self) -> bool:
        """Whether anything was asked for before."""
        return any(self.earlier.values())

    def add(self, part: str, posted: Posted) -> None:
        """One more thing that was asked for."""
        self._add({"part": part, **asdict(posted)})

    def began(self, part: str) -> bool:
        """Whether something of a part was asked for before."""
        return bool(self.earlier[part])

    def _add(self, line: dict[str, Any]) -> None:
        with self.file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")

    def _read(self, facts: dict[str, Any]) -> None:
        if not self.file.is_file():
            raise RefusedError("is not empty, and no replay", where=str(self.file.parent), hint="Name another folder")
        head, *rows = self._lines()
        different = sorted(key for key in facts.keys() | head.keys() if head.get(key) != facts.get(key))
        if different:
            raise RefusedError(
                f"has a replay with another {different[0]}: {head.get(different[0])!r} instead of "
                f"{facts.get(different[0])!r}",
                where=str(self.file.parent),
                hint="Name another folder, or what that one was begun with",
            )
        for row in rows:
            self.earlier[row.pop("part")].append(Posted(**row))

    def _lines(self) -> list[dict[str, Any]]:
        texts: Sequence[str] = self.file.read_text(encoding="utf-8").splitlines()
        found: list[dict[str, Any]] = []
        for number, text in enumerate(texts, 1):
            try:
                found.append(json.loads(text))
            except ValueError:
                # Cut off while it was written: what it tells of is found by the controller's refusal.
                if number == len(texts) and number > 1:
                    break
                raise UserError(f"line {number} cannot be read", where=str(self.file)) from None
        return found
