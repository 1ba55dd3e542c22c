"""What users write: TOML files as checked values, with file and key in each error."""
