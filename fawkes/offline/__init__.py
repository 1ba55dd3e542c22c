"""Offline runs: scenarios in the simulated world, decided by the code that decides live."""
