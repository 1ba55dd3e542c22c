"""Drills: mixtures of faults by seed, in the simulator and on real Hadoop in a lab, and what was lost in them."""
