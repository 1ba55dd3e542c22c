"""A span of a live run as a folder that offline runs start from: its jobs, its pool, and what Hadoop said of it."""
