"""Hadoop's configuration, its processes, and the doors that they listen at."""
