"""Measurements and looks: masters, nodes, blocks, queues."""
