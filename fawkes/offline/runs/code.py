"""The code that made a row: a digest of all sources that decide and simulate."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from fawkes.base.version import PACKAGE

SOURCES = (
    "core", "sim", "offline/outcomes", "offline/runs", "offline/scenarios", "workload", "engine", "policy",
    "report/history.py", "report/pictures/steps.py", "report/tables/waste_rows.py", "store/base.py", "store/memory.py",
    "base/units.py", "base/values.py",
)  # fmt: skip
"""Folders and files of the package on which the figures of a run depend; policies and constants are in its variant."""


@cache
def code_digest() -> str:
    """The digest of this Fawkes, 16 hexadecimal digits; the same wherever the same sources lie."""
    return digest_of(PACKAGE, SOURCES)


def digest_of(package: Path, sources: Iterable[str]) -> str:
    """The digest of the Python files in some folders and files of a package: their places and their bytes."""
    digest = hashlib.sha256()
    for source in sources:
        place = package / source
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            data = file.read_bytes()
            digest.update(f"{file.relative_to(package).as_posix()} {len(data)}\n".encode())
            digest.update(data)
    return digest.hexdigest()[:16]
