"""Outcomes: figures of runs, statistics, regret."""
