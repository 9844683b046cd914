"""Tables on Dask: ``table`` for fitting and answers; workers run the rest, without scikit-learn."""
