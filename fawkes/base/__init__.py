"""Base of all rooms: errors, units, and the one place that opens and writes the files that users name."""
