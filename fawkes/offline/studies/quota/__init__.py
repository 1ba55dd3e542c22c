"""CPU quotas for Spark applications: the paper of Baresi, Guinea, Leva and Quattrocchi (xSpark), repeated offline."""
