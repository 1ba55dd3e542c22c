"""The journal of a replay: its requests, line by line, so that a replay that was broken off goes on where it was.

The first line says which replay it is, and which of its MR-clusters ran when it began. A line says that something is
about to be sent, the next one that the controller took it, or refused it. ``ready`` ends the first part.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fawkes.base.errors import RefusedError, UserError
from fawkes.base.version import __version__
from fawkes.workload.playing.play import Posted

FILE = "replay.jsonl"
BEFORE, JOBS = "before", "jobs"
_BEGIN = b'{"fawkes": '


class Journal:
    """The journal in the folder of a replay.

    ``earlier`` is what was asked for in each part by a run that was broken off, ``running`` the MR-clusters that ran
    when it began. RefusedError when the folder has another replay or something else, UserError when a line cannot be
    read.
    """

    def __init__(self, folder: Path, facts: dict[str, Any], running: Collection[str] = ()) -> None:
        self.file = folder / FILE
        self.earlier: dict[str, list[Posted]] = {BEFORE: [], JOBS: []}
        self.running = frozenset(running)
        said = {"fawkes": __version__, **facts}
        if folder.exists() and any(folder.iterdir()):
            self._read(said)
            return
        folder.mkdir(parents=True, exist_ok=True)
        self._begin(said)

    @property
    def resumed(self) -> bool:
        """True if anything was asked for before."""
        return any(self.earlier.values())

    @property
    def names(self) -> set[str]:
        """The names of the MR-clusters and jobs that it asked for, and that may have arrived."""
        entries = [posted for part in self.earlier.values() for posted in part]
        return {posted.name for posted in entries if posted.verb in ("request", "submit") and posted.tries >= 0}

    def add(self, part: str, posted: Posted) -> None:
        """One more thing that was asked for."""
        self._add({"part": part, **asdict(posted)})

    def _add(self, line: dict[str, Any]) -> None:
        with self.file.open("ab") as out:
            out.write(_line(line))

    def _begin(self, facts: dict[str, Any]) -> None:
        self.file.unlink(missing_ok=True)
        self._add({**facts, "running": sorted(self.running)})

    def _read(self, facts: dict[str, Any]) -> None:
        if not self.file.is_file():
            raise RefusedError(
                "is not empty and holds no replay", where=str(self.file.parent), hint="Name another folder"
            )
        lines = self._whole_lines()
        head: dict[str, Any] = {}
        entries: dict[tuple[str, str, str], Posted] = {}
        for number, line in enumerate(lines, 1):
            try:
                said = json.loads(line)
                if number == 1:
                    head = dict(said)
                else:
                    part, posted = said.pop("part"), Posted(**said)
                    entries[part, posted.verb, posted.name] = posted
            except (AttributeError, KeyError, TypeError, ValueError):
                raise UserError(f"line {number} cannot be read", where=str(self.file)) from None
        if not entries:
            self._begin(facts)
            return
        self.running = frozenset(head.pop("running", ()))
        different = sorted(key for key in facts.keys() | head.keys() if head.get(key) != facts.get(key))
        if different:
            what = f"with another {different[0]}: {head.get(different[0])!r} instead of {facts.get(different[0])!r}"
            if different[0] == "requests":
                what = "of other jobs, times or MR-clusters: its scenario has changed since"
            raise RefusedError(
                f"has a replay {what}",
                where=str(self.file.parent),
                hint="Name another folder (and --as NAME if its jobs have run), or repeat what began this replay",
            )
        for (part, *_), posted in entries.items():
            self.earlier[part].append(posted)

    def _whole_lines(self) -> list[bytes]:
        """The lines that were written to their end. The rest goes: the next line would be glued to it."""
        text = self.file.read_bytes()
        whole, end, rest = text.rpartition(b"\n")
        if not whole and not (_BEGIN.startswith(rest) or rest.startswith(_BEGIN)):
            raise UserError("line 1 cannot be read", where=str(self.file))
        os.truncate(self.file, len(whole + end))
        return whole.splitlines()


def _line(said: dict[str, Any]) -> bytes:
    return json.dumps(said).encode() + b"\n"
