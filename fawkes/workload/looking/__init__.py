"""Descriptions of a workload, in numbers and in a picture."""
