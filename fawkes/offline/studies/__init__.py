"""Other people's papers, repeated."""
