"""The place where Fawkes keeps its own files on the controller's machine, and what may stand in a path."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
"""An id: short, safe as a folder's name, the same in any spelling of capitals."""

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def cache_dir() -> Path:
    """The folder for what can be fetched again.

    ``$FAWKES_CACHE``, else ``$XDG_CACHE_HOME/fawkes``, else ``~/.cache/fawkes``.
    """
    own = os.environ.get("FAWKES_CACHE")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "fawkes"


def is_name(text: str) -> bool:
    """True if ``text`` can be an id, as `NAME` says."""
    return NAME.fullmatch(text) is not None


def kind_of(mode: int) -> str:
    """The kind of a thing that is not a regular file, by its mode, for people: ``a folder``, ``a device``, ..."""
    return next((name for fits, name in _KINDS if fits(mode)), "something else")
