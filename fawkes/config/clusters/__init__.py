"""`clusters/NAME.toml`, and Hadoop's own keys in it."""
