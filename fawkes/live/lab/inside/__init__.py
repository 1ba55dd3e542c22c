"""The inside of a lab: networks, control groups, sshd, a key distribution centre."""
