"""The contents of a store, live or simulated, for people: sentences, explanations, frames, figures."""
