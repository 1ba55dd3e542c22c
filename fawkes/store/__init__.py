"""The ledger: every event with what was decided, in SQLite or in memory."""
