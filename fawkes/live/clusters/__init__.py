"""Real MR-clusters: deployed, with nodes that join and leave."""
