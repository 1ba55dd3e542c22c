"""Where Fawkes keeps its own files on the controller's machine."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """The folder for what can be fetched again.

    ``$FAWKES_CACHE``, else ``$XDG_CACHE_HOME/fawkes``, else ``~/.cache/fawkes``.
    """
    own = os.environ.get("FAWKES_CACHE")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "fawkes"
