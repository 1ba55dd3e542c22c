"""The place where Fawkes keeps its own files on the controller's machine, and what kind of thing a path may lead to."""

from __future__ import annotations

import os
import stat
from pathlib import Path

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


def kind_of(mode: int) -> str:
    """The kind of a thing that is not a regular file, by its mode, for people: ``a folder``, ``a device``, ..."""
    return next((name for fits, name in _KINDS if fits(mode)), "something else")
