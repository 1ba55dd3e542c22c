"""Constants of the simulator from recorded runs, each with an uncertainty, and how well they predict other runs."""
