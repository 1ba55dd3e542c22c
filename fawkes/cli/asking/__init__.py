"""How commands reach a controller or a ledger, and wait for an end."""
