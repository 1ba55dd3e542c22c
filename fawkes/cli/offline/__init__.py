"""Verbs of researchers: simulate, compare, replay, repeat a paper."""
