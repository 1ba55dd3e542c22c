"""BTWorld: the queries over records of BitTorrent trackers, as real Pig jobs and as a workload."""
