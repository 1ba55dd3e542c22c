"""The meaning of facts about nodes: lost, drained, late, stuck, left behind."""
