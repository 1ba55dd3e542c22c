"""A model of Hadoop, readable and compiled: tasks at shared rates on the machines of a pool."""
