"""The verdict on a copy to another HDFS: saved, or lacking what. Only files that are known to be equal are saved.

DistCp alone is no judge: it takes a file for equal when one of its two checksums cannot be had.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Files:
    """The number of some files, the names of the first few, and the reason for the first one (may be empty)."""

    count: int = 0
    first: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison of an output (here) with its copy (there), file by file.

    ``files`` are those of the output, ``equal`` of them have the same length and the same, known checksum in both.
    ``unknown_...`` have no checksum at one side, ``extra`` are at the target alone. ``whole`` is false if the
    comparison was broken off.
    """

    files: int
    equal: int
    missing: Files = Files()
    different: Files = Files()
    unknown_here: Files = Files()
    unknown_there: Files = Files()
    extra: Files = Files()
    whole: bool = True

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Compared:
        """A comparison as its program prints it; KeyError or TypeError if it is none."""

        def files(kind: str) -> Files:
            return Files(facts[kind]["count"], tuple(facts[kind]["first"]), facts[kind]["why"])

        return cls(
            files=facts["files"],
            equal=facts["equal"],
            missing=files("missing"),
            different=files("different"),
            unknown_here=files("unknown_here"),
            unknown_there=files("unknown_there"),
            extra=files("extra"),
            whole=facts["whole"],
        )


def saved(seen: Compared) -> bool:
    """True if each file of the output is known to be equal at the target, which has no other file."""
    others = (seen.missing, seen.different, seen.unknown_here, seen.unknown_there, seen.extra)
    return seen.whole and seen.equal == seen.files and not any(files.count for files in others)


def to_copy_again(seen: Compared) -> bool:
    """True if a further copy can bring what is lacking."""
    return seen.missing.count + seen.different.count > 0
