"""A page to look at and metrics to collect: a process of its own that only reads the ledger of a site or of a run."""
