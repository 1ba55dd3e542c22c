"""The interference study: frameworks that share one cloud by resource offers, beside isolated MR-clusters."""
