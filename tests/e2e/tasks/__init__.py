"""Jobs of tasks on real Hadoop."""
