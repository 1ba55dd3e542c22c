"""The list of a release's files with their sha256, in the form that `sha256sum -c` reads.

The digest of the list itself names the release: two folders whose lists have one digest hold the same files.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from fawkes.base.errors import FawkesError

NAME = "MANIFEST.sha256"

_LINE = re.compile(r"([0-9a-f]{64})  (\S.*)")


@dataclass(frozen=True)
class Fault:
    """One file that is not as the manifest has it; ``what`` is ``missing``, ``damaged`` or ``surplus``."""

    path: str
    what: str


@dataclass(frozen=True)
class Pinned:
    """Software of one version; ``pinned_in`` is the folder that has ``NAME.sha256``, the digests of its files."""

    software: ClassVar[str]
    version: str
    pinned_in: Path = field(default=Path(__file__).parent / "pinned", kw_only=True)

    @property
    def name(self) -> str:
        """The name of its folder, such as ``hadoop-3.5.0``."""
        return f"{self.software.lower()}-{self.version}"

    @property
    def title(self) -> str:
        """The title for people."""
        return f"{self.software} {self.version}"

    @property
    def argument(self) -> str:
        """The argument of `fawkes dist get`."""
        return self.software.lower()

    def jars(self) -> dict[str, str]:
        """Path inside the folder -> sha256 of every file."""
        file = self.pinned_in / f"{self.name}.sha256"
        return parse(file.read_text(), where=str(file))


def digest_of(path: Path) -> str:
    """The sha256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def digest_of_text(text: str) -> str:
    """The sha256 of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def render(digests: Mapping[str, str]) -> str:
    """The manifest of path -> digest, sorted by path."""
    return "".join(f"{digests[path]}  {path}\n" for path in sorted(digests))


def parse(text: str, *, where: str) -> dict[str, str]:
    """Path -> digest of a manifest; FawkesError names the line that is none. ``where`` is the file's name."""
    digests = {}
    for number, line in enumerate(text.splitlines(), start=1):
        match = _LINE.fullmatch(line)
        if match is None or ".." in match[2].split("/") or match[2].startswith("/"):
            raise FawkesError(f"line {number} is not `DIGEST  PATH`: {line[:80]!r}", where=where)
        digests[match[2]] = match[1]
    return digests


def files_in(folder: Path) -> Iterator[str]:
    """The paths of all files below ``folder`` but the manifest itself, relative, sorted within each folder.

    A link to a file counts as a file, a link to a folder is not followed.
    """
    for root, folders, names in os.walk(folder):
        folders.sort()
        inside = Path(root).relative_to(folder)
        for name in sorted(names):
            path = (inside / name).as_posix()
            if path != NAME:
                yield path


def measure(folder: Path) -> dict[str, str]:
    """Path -> digest of every file below ``folder``; FawkesError for a name that a manifest cannot hold."""
    digests = {}
    for path in files_in(folder):
        if "\n" in path or "\\" in path:
            raise FawkesError(f"the name {path!r} has a line break or a backslash", where=str(folder))
        digests[path] = digest_of(folder / path)
    return digests


def faults(folder: Path, wanted: Mapping[str, str]) -> list[Fault]:
    """The differences of the files of ``folder`` from ``wanted``, sorted by path; empty when they are the same.

    A surplus file matters: a jar that someone put into ``lib`` is on the class path of every daemon.
    """
    there = set(files_in(folder))
    wrong = [Fault(path, "surplus") for path in there - wanted.keys()]
    for path, digest in wanted.items():
        if path not in there:
            wrong.append(Fault(path, "missing"))
        elif digest_of(folder / path) != digest:
            wrong.append(Fault(path, "damaged"))
    return sorted(wrong, key=lambda fault: fault.path)
