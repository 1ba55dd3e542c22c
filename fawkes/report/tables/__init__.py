"""Nodes, MR-clusters, jobs and steps as rows, and why they are so."""
