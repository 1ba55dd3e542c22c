"""The compiled twin of the readable pool: the same decisions of the bundled policies, for millions of jobs."""
