from __future__ import annotations

from tests.report.conftest import played, played_ledger

__all__ = ["played", "played_ledger"]
