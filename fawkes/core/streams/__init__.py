"""Streams: the congestion monitor, which says when a topology grows or shrinks."""
