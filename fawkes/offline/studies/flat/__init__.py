"""The trace-driven study of deadlines: jobs share a flat pool of CPUs by the same admission policies as live."""
