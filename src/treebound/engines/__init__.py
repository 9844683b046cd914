"""Rows that live elsewhere: on a Dask cluster, in a database."""
