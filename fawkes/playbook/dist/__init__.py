"""Hadoop releases: got by Maven or brought by the site, checked, and spread to the nodes."""
