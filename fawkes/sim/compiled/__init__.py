"""The model of Hadoop in arrays, compiled by numba: the same results as the readable one, a hundred times as fast."""
