"""
Pruning a scikit-learn tree
===========================

``prune`` takes a fitted ``DecisionTreeClassifier`` and returns a smaller one, without
cross-validation. ``plot_tree`` and all other tools of scikit-learn work with the result.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, plot_tree

import treebound as tb

data = load_breast_cancer(as_frame=True)
X, X_new, y, y_new = train_test_split(data.data, data.target, test_size=0.3, random_state=0)

grown = DecisionTreeClassifier(random_state=0).fit(X, y)
pruned = tb.prune(grown, X, y)
for name, tree in (("grown", grown), ("pruned", pruned)):
    accuracy = tree.score(X_new, y_new)
    print(
        f"{name:6} {type(tree).__name__}, {tree.get_n_leaves()} leaves, {accuracy:.1%} on new rows"
    )

# %%
# scikit-learn can draw it.

figure, ax = plt.subplots(figsize=(9, 5))
plot_tree(
    pruned,
    feature_names=list(X.columns),
    class_names=list(data.target_names),
    filled=True,
    impurity=False,
    fontsize=7,
    ax=ax,
)
figure.tight_layout()

# %%
# The original tree is not changed. Other pruners are chosen by name, with their options:

gentle = tb.prune(grown, X, y, pruner="pessimistic", confidence=0.25)
validated = tb.prune(grown, X, y, pruner="cost-complexity", folds=5)
print(grown.get_n_leaves(), gentle.get_n_leaves(), validated.get_n_leaves())
