"""Masters of real Hadoop: moved, taken over, followed by a second NameNode."""
