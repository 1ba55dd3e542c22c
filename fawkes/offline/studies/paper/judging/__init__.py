"""Fixed before the experiments were run: seeds, sizes and bounds, and the changed models that refute statements."""
