"""Preemption by checkpoints: chapter 3 of Jack Li's thesis, repeated offline."""
