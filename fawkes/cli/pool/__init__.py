"""Verbs of administrators: the controller and its nodes."""
