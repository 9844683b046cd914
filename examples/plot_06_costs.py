"""
Costs and class weights
=======================

A missed tumour is worse than a false alarm. Two things can say so: ``class_weight`` changes what
the tree is grown for, ``costs`` what it answers and how it is pruned.
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
# Every row is answered by a tree that has not seen it.

answers = {name: cross_val_predict(model, X, y, cv=10) for name, model in models.items()}
for name, model in models.items():
    wrong = answers[name] != y
    missed = int((wrong & (y == "malignant")).sum())
    alarms = int((wrong & (y == "benign")).sum())
    leaves = model.fit(X, y).n_leaves_
    cost = price["malignant"] * missed + alarms
    print(f"{name:12} {leaves:2} leaves, {missed:2} missed, {alarms:2} alarms, cost {cost:.0f}")

# %%
# Here pruning by cost is the cheapest. Growing for the weights chases the malignant rows down to
# the last one, which does not carry over to new rows.

figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for ax, name in zip(axes, ("plain", "class_weight", "costs"), strict=True):
    ConfusionMatrixDisplay.from_predictions(y, answers[name], ax=ax, colorbar=False)
    ax.set_title(name)

# %%
# A matrix can price each kind of mistake: rows are the true class, columns the answer. Each leaf
# then gives the answer that is cheapest on average, and the certificate is still one of plain
# errors.

matrix = np.array([[0.0, 1.0], [8.0, 0.0]])  # benign, malignant
clf = tb.BoundTreeClassifier(pruning=BoundPruner(costs=matrix)).fit(X, y)
print(clf.to_text())

# %%
# With weights there is no certificate, and the classifier says why.

print(models["class_weight"].certificate_, "-", models["class_weight"].certificate_reason_)
