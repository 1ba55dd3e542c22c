"""What happens at which time: steps, answers of masters and nodes, transfers."""
