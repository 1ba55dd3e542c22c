"""The trace-driven study of deadlines: jobs on a flat pool of CPUs, shared by the admission policies that share live pools."""
