"""Nodes over SSH: connections, host keys, playbooks, files."""
