"""
Five lines on iris
==================

Grow a tree, prune it, read it, draw it. Nothing has to be tuned, and no row is set aside.
"""

from sklearn.datasets import load_iris

import treebound as tb

iris = load_iris(as_frame=True)
clf = tb.BoundTreeClassifier().fit(iris.data, iris.target_names[iris.target])
print(clf.to_text())

# %%
# Behind each answer stands how many training rows of that leaf were right, and how many there
# were. The same tree as a picture: yes goes left.

tb.show.TreeDisplay.from_estimator(clf)

# %%
# What does it promise? With 150 rows not much, but what it says is true of new flowers of the same
# kind, whatever their distribution.

print(clf.certificate_)

# %%
# Why seven leaves? Because six would cost more in errors than they save in size, and eight the
# other way round. The numbers are nats.

print(clf.pruning_result_.explain())
