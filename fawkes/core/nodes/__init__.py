"""Which node comes, goes, or takes the place of another."""
