"""The course of a simulated world: steps, answers of masters and nodes, transfers, each at its time."""
