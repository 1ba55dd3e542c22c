"""The bare scripts, and what they are given."""
