"""
Worst samples and witnesses
===========================

How tight is a bound? A sample that attains it, or comes close, shows it. Such samples can
be searched for, and for real stumps they can be constructed.
"""

import matplotlib.pyplot as plt
import numpy as np

import treebound as tb

# %%
# All partitions that a shape realizes on one given sample.

sample = [[0, 1], [1, 3], [2, 0], [3, 2]]
shape = tb.TreeShape.parse("(..)")
for partition in sorted(tb.bounds.realizable_partitions(sample, ["real", "real"], shape, 2)):
    print(partition)

# %%
# The sample of a given size with the most partitions. Here the search is exhaustive, so the count
# is exact.

landscape = tb.Landscape(nominal=(3, 2))
shape = tb.TreeShape.parse("((..).)")
worst = tb.bounds.worst_sample(shape, 2, 5, landscape)
print(worst.count, "exact" if worst.exact else "found")
print("at most", tb.bounds.partitions(shape, 2, 5, landscape))
print(np.array(worst.X))

# %%
# For stumps on real features the paper conjectured that its bound is attained. This is true: for
# every number of examples there is one list of features whose first l attain the bound, for each
# l. Every column below is one order of the examples.

X = tb.bounds.witness(8, 12)
check = tb.bounds.check_witness(X)
print(f"{check.count} partitions on {X.shape[0]} examples and {X.shape[1]} features,", end=" ")
print(f"at most {check.bound}")

# %%

features = range(1, X.shape[1] + 1)
counts = [tb.bounds.check_witness(X[:, :width]) for width in features]
rng = np.random.default_rng(0)
random = np.argsort(rng.random((8, 12)), axis=0)
by_chance = [tb.bounds.check_witness(random[:, :width]).count for width in features]

figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
ax.plot(features, [one.bound for one in counts], color="grey", label="the bound")
ax.plot(features, [one.count for one in counts], "o", label="the witness")
ax.plot(features, by_chance, ".", label="random orders")
ax.set(xlabel="real features", ylabel="2-partitions of 8 examples")
ax.legend()

# %%
# Ordinal features have few thresholds, and the bound assigns them greedily. A row is a feature, a
# cell one of its thresholds, the colour the size of the smaller part that it is assigned to.

tb.show.FerrersDisplay.from_landscape(6, (6, 6, 6, 6, 5, 5, 5, 2, 2))
