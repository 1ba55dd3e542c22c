"""What is measured and looked at: masters, nodes, blocks, queues."""
