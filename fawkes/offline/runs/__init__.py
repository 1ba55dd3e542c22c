"""Grids of runs: in this process, on several, or on a Dask cluster."""
