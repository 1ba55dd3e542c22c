"""Workloads: what they need made, how they are played on a controller, and the story that follows."""
