"""The paper's sums: demand, usage and performance, weights, discrimination, targets in whole nodes."""
