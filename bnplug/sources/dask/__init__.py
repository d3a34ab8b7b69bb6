"""Tables whose blocks are on the workers of a Dask cluster."""
