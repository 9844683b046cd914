"""
Five lines on iris
==================

A tree is grown, pruned and shown. Nothing has to be tuned, and no row is held out.
"""

# %%
# The five lines.

import treebound as tb
from sklearn.datasets import load_iris

iris = load_iris(as_frame=True)
species = iris.target_names[iris.target]
clf = tb.BoundTreeClassifier().fit(iris.data, species)
print(clf.to_text())
