"""Chapters 4 and 5 of the dissertation on deadlines."""
