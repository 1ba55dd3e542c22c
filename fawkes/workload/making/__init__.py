"""Workloads that are made, not read."""
