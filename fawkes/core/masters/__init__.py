"""Masters that may die: when they move, where to, and what is kept."""
