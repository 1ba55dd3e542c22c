"""Verbs that read the ledger."""
