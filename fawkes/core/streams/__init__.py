"""Streams: when a topology grows or shrinks, who holds which keys, and where its operators run."""
