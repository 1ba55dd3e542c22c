"""A site: where its files are, and whose MR-clusters it has."""
