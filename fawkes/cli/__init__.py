"""The command tree; one module for each verb."""
