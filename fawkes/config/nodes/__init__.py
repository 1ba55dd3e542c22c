"""`inventory.toml`: which nodes there are and how they are reached."""
