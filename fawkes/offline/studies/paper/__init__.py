"""The paper's experiments (sections 4 to 7), run in the simulated world and judged by rules that were fixed before."""
