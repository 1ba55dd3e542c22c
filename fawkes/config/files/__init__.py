"""The way from a TOML file to checked values: the loader, kinds of values, and includes."""
