"""
Costs and class weights
=======================

A missed tumour is worse than a false alarm. There are two ways to express that:
``class_weight`` changes how the tree is grown, ``costs`` how it is pruned and what it predicts.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import cross_val_predict

import treebound as tb
from treebound.pruning import BoundPruner

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
price = {"malignant": 5.0, "benign": 1.0}

models = {
    "plain": tb.BoundTreeClassifier(),
    "class_weight": tb.BoundTreeClassifier(class_weight=price),
    "costs": tb.BoundTreeClassifier(pruning=BoundPruner(costs=price)),
}

# %%
# Cross-validation: every row is predicted by a tree that was fitted without it.

predicted = {name: cross_val_predict(model, X, y, cv=10) for name, model in models.items()}
for name, model in models.items():
    wrong = predicted[name] != y
    missed = int((wrong & (y == "malignant")).sum())
    alarms = int((wrong & (y == "benign")).sum())
    leaves = model.fit(X, y).n_leaves_
    cost = price["malignant"] * missed + alarms
    print(f"{name:12} {leaves:2} leaves, {missed:2} missed, {alarms:2} alarms, cost {cost:.0f}")

# %%
# Here pruning by cost is the cheapest. Growing with weights overfits the malignant rows.

figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for ax, name in zip(axes, ("plain", "class_weight", "costs"), strict=True):
    ConfusionMatrixDisplay.from_predictions(y, predicted[name], ax=ax, colorbar=False)
    ax.set_title(name)

# %%
# A matrix gives each kind of error its own cost: rows are the true class, columns the predicted
# class. Each leaf then predicts the class with the least mean cost. The certificate still counts
# errors, not costs.

matrix = np.array([[0.0, 1.0], [8.0, 0.0]])  # benign, malignant
clf = tb.BoundTreeClassifier(pruning=BoundPruner(costs=matrix)).fit(X, y)
print(clf.to_text())

# %%
# The certificate counts every row once, however it was weighted. Held-out rows give a bound on the
# mean cost.

print(models["class_weight"].certificate_)
clf = tb.BoundTreeClassifier(pruning=BoundPruner(costs=price), certificate="held-out").fit(X, y)
print(clf.certify_cost(costs=price))
