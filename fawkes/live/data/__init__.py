"""Data of MR-clusters: loaded, saved, restored, and proved to be there."""
