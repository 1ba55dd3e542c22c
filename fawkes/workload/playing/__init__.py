"""Workloads on a running controller: data, jobs at their times, and the story that they tell."""
