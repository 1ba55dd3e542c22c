"""The simulated world: the decisions of the core, without nodes."""
