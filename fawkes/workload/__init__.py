"""Workloads: jobs as traces and generators give them, what they need made, how they are played on a controller."""
