"""Preemption: which tasks wait, are killed or are checkpointed, where they go on, and what that wastes."""
