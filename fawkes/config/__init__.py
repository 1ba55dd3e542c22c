"""TOML files that users write, as checked values, with file and key in each error."""
