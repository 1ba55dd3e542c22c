"""``python -m fawkes``."""

from __future__ import annotations

from fawkes.cli.main import main

main()
