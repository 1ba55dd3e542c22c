"""Sections 5 to 7 of the paper as runs with their rules."""
