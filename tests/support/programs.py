"""Programs that stand in for those of a machine."""

from __future__ import annotations

from pathlib import Path


def program(path: Path, text: str) -> Path:
    """A program of ``sh``, in a folder that is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path
