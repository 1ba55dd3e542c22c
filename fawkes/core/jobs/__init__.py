"""Lives of jobs and their attempts, and when they may begin."""
