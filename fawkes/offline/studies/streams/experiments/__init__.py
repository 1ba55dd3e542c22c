"""Experiments of the chapter: one file each, with its cases, its rules, its table and its figure."""
