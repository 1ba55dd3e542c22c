"""HiBench: its configuration, its programs as real jobs and as a workload, its reports."""
