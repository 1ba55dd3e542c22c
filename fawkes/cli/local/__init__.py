"""Verbs about this machine: the lab, the demo, Hadoop releases."""
