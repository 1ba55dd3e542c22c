"""Attempts of real jobs and copies: begun once, followed, and why they failed."""
