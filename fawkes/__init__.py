"""Fawkes: balanced resource allocations across several MapReduce clusters on one pool of nodes."""

__version__ = "0.2.0"
