"""CRIU from Debian's packages."""
