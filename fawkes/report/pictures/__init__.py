"""Step functions, frames, and figures that are made of them."""
