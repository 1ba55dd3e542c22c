"""Lives of MR-clusters: from the request over saving to the end."""
