"""The model of Hadoop in one block of memory, compiled by numba: the same results as the readable one, faster."""
