"""
Five lines on iris
==================

Grow a tree, prune it, read it and draw it, with the default settings and all rows.
"""

from sklearn.datasets import load_iris

import treebound as tb

iris = load_iris(as_frame=True)
clf = tb.BoundTreeClassifier().fit(iris.data, iris.target_names[iris.target])
print(clf.to_text())

# %%
# The two numbers after a class are the training rows of that class in the leaf, and all training
# rows in the leaf. The same tree as a picture: rows
# that meet the condition go left.

tb.show.TreeDisplay.from_estimator(clf)

# %%
# The certificate is an upper bound on the error rate. With 150 rows it is large, but it holds for
# new flowers from the same source, for any distribution.

print(clf.certificate_)

# %%
# Why seven leaves? Six leaves would cost more in errors than they save in size; eight leaves would
# cost more in size than they save in errors. The numbers are nats.

print(clf.pruning_result_.explain())
