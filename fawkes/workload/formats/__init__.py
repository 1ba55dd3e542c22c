"""Formats of traces: read by their content."""
