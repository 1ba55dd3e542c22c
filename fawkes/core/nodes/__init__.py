"""The node that comes, goes, or takes the place of another."""
