"""Verbs about MR-clusters."""
