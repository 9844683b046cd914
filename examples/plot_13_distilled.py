"""
A tree distilled from a forest
==============================

A certificate from training rows holds for every tree of its size, however the tree was found. So a
tree may be taught by a stronger model. Here a forest labels new rows between neighbouring training
rows, a tree is grown on both, and pruned on the true rows alone.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

import treebound as tb

X, y = load_breast_cancer(return_X_y=True, as_frame=True)


def between_neighbours(X, count, rng):
    """Rows between a random row and one of its five nearest neighbours."""
    near = NearestNeighbors(n_neighbors=6).fit(StandardScaler().fit_transform(X))
    order = near.kneighbors(return_distance=False)
    first = rng.integers(len(X), size=count)
    second = order[first, rng.integers(order.shape[1], size=count)]
    share = rng.random((count, 1))
    values = X.to_numpy()
    return share * values[first] + (1 - share) * values[second]


def distilled(X, y, seed):
    """Grown on true rows and on rows that a forest labels; pruned on the true rows."""
    rng = np.random.default_rng(seed)
    forest = RandomForestClassifier(100, random_state=seed).fit(X.to_numpy(), y)
    new = between_neighbours(X, 10 * len(X), rng)
    rows = np.vstack([X.to_numpy(), new])
    labels = np.concatenate([y, forest.predict(new)])
    grown = tb.BoundTreeClassifier(pruning=None).fit(rows, labels)
    return tb.prune(grown, X.to_numpy(), y)


# %%
# The distilled tree has a certificate like any other, from the true rows.

taught = distilled(X, y, seed=0)
print(taught.certificate_)

# %%
# Is it better? On six random halves of these rows, next to a tree that learned from the true rows
# alone, at most eight leaves each.

plain, by_forest = [], []
for seed in range(6):
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=seed)
    alone = tb.BoundTreeClassifier(max_leaves=8).fit(X_train.to_numpy(), y_train)
    plain.append(1 - alone.score(X_test.to_numpy(), y_test))
    small = distilled(X_train, y_train, seed).prune_to(8)
    by_forest.append(1 - small.score(X_test.to_numpy(), y_test))

figure, ax = plt.subplots(figsize=(4.5, 4.2), layout="constrained")
ax.plot(plain, by_forest, "o")
largest = 1.1 * max(plain + by_forest)
ax.plot([0, largest], [0, largest], color="0.7", zorder=0)
ax.set(xlabel="test error, true rows alone", ylabel="test error, distilled")
difference = 100 * (np.array(by_forest) - plain)
print(f"{difference.mean():+.1f} ± {difference.std(ddof=1) / 6**0.5:.1f} points")

# %%
# Here there is no clear difference, and the fit takes many times as long. Do not expect much from
# distillation in general.
