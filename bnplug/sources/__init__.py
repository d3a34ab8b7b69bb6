"""Training rows from frames, files and Dask clusters."""
