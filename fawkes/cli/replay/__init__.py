"""Live replay: the jobs of a workload run for real, at their times, on the MR-clusters of a running controller."""
