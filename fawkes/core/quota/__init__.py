"""CPU quotas: plans of stages, controllers of executors, and the cores and nodes that they share."""
