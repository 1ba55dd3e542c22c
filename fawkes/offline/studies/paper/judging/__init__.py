"""Rules that were fixed before the runs, and the verdicts by them."""
