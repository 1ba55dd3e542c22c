"""The version of Fawkes, and the folder that holds its code."""

from __future__ import annotations

from pathlib import Path

__version__ = "0.3.0.dev0"
PACKAGE = Path(__file__).parents[1]
