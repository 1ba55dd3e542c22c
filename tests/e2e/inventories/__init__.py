"""Pools out of inventories that exist already: a real Slurm and a real Ansible, with the hosts of a lab."""
