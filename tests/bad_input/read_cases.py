"""Cases of bad input as data: each file in `cases/` has a good file, and what is wrong with it in each case.

``args`` is the command line, ``file`` the file that it reads, ``good`` a text of it that works. A case has a ``name``,
the exit code and a part of what is said on stderr, and either the whole ``text`` or ``change``: a part of the good text
and what stands there instead.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.bad_input.support import Case

FOLDER = Path(__file__).parent / "cases"


def cases() -> tuple[Case, ...]:
    """The cases of all data files."""
    return tuple(case for path in sorted(FOLDER.glob("*.toml")) for case in _cases_of(path))


def _cases_of(path: Path) -> Iterator[Case]:
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    for row in table["case"]:
        args = tuple(row.get("args", table["args"]))
        yield Case(
            group=path.stem,
            name=row["name"],
            exit=row["exit"],
            says=row.get("says", ""),
            args=args,
            files={row.get("file", table["file"]): _text(table["good"], row)},
            risky=row.get("risky", False),
            writes=tuple(row.get("writes", ())),
        )


def _text(good: str, row: Mapping[str, Any]) -> str:
    if "change" not in row:
        return str(row.get("text", good))
    old, new = row["change"]
    assert good.count(old) == 1, f"{row['name']}: {old!r} must stand once in the good text"
    return good.replace(old, new)
