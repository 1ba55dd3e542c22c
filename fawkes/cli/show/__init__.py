"""Rows as tables, JSON and CSV."""
