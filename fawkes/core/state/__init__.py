"""The state that is known and planned at one moment, and how a decision changes it."""
