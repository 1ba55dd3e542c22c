"""Values that events, effects and decisions are made of."""
