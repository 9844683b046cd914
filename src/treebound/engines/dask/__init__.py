"""Tables on Dask: ``table`` fits and predicts; workers need no scikit-learn."""
