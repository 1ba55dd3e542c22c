"""Ways of commands to a controller or a ledger, and wait for an end."""
