"""`make bench`: Fawkes beside what people would do without it, in one run, with the spread."""
