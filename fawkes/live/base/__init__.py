"""Times, timers, waits and files of the live world."""
