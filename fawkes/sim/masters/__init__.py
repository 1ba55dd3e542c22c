"""Simulated masters, and second NameNodes."""
