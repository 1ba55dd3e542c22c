"""What came out: figures of runs, statistics, regret."""
