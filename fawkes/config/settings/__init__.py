"""`fawkes.toml` and its presets."""
