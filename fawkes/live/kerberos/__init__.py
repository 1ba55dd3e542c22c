"""Kerberos and TLS for MR-clusters that want them."""
