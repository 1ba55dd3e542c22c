"""The way from a scenario's file to a plan that can be run."""
