"""Workloads out of others: scaled, folded, merged, written."""
