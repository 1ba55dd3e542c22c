"""Verbs about workloads."""
