"""What a store says, live or simulated, for people: sentences, explanations, frames, figures."""
