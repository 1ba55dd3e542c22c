"""Workloads and scenarios."""
