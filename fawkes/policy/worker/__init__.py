"""Files of users that are code: each answers in a process of its own that has no rights on this machine."""
