"""Reasons, facts and events as sentences."""
