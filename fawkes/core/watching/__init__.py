"""What facts about nodes mean: lost, drained, late, stuck, left behind."""
