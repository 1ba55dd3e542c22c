"""The controller: one loop over the real world, its socket, and what is asked of it."""
