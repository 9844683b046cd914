"""
The pruning path, and why this size
===================================

The pruner compares the best trees of every size and keeps the one with the lowest score. All of
them remain available, without fitting again.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import treebound as tb

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=1)
clf = tb.BoundTreeClassifier().fit(X, y)
print(clf.pruning_result_.explain())

# %%
# Step 0 is the grown tree, the last step a single leaf.

tb.show.PruningPathDisplay.from_estimator(clf)

# %%
# As a table, with one row for each step.

print(clf.pruning_path_.to_frame().round(1).to_string())

# %%
# Was it a good choice? The other half of the rows was not used, so it is a fair test.

sizes = clf.pruning_path_.leaves
seen = [clf.prune_to(step=step).score(X, y) for step in range(len(sizes))]
unseen = [clf.prune_to(step=step).score(X_new, y_new) for step in range(len(sizes))]

figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.plot(sizes, seen, marker=".", label="rows of the training half")
ax.plot(sizes, unseen, marker=".", label="rows of the other half")
ax.axvline(clf.n_leaves_, color="grey", linestyle=":", label="chosen")
ax.set(xlabel="leaves", ylabel="accuracy")
ax.legend()

# %%
# ``prune_to`` returns a smaller tree; the classifier itself is not changed.

print(clf.prune_to(leaves=3).to_text())
