"""Looks at a workload, in numbers and in a picture."""
