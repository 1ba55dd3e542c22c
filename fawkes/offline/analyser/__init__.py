"""The preemption analyser: evictions and preemptions in logs of task events, and logs whose figures are known."""
