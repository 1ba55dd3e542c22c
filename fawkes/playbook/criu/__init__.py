"""CRIU for tasks: its program, from Debian's packages, and the script of nodes that runs, dumps and resumes with it."""
