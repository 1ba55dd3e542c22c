"""What a workload is like, in numbers and in a picture."""
