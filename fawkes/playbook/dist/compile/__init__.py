"""Java of our own, compiled beside the Hadoop that it is for."""
