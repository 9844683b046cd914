"""
Growth functions and VC dimensions
==================================

The growth function is the number of ways in which trees of a shape can label a sample. The pruning
score and the certificate use it.
"""

import matplotlib.pyplot as plt

import treebound as tb

# %%
# A shape is a tree without tests and labels; a landscape is the set of features that it may test.

shape = tb.TreeShape.parse("((..)(..))")
landscape = tb.Landscape(real=10, ordinal=(3, 5), nominal=(2, 4))
print(shape.leaves, shape.nodes, shape.depth, shape.symmetries)

# %%
# Bounds on the growth function. *fast* is the form of the paper, *tight* sums over the sizes of
# the parts, *closed* and *chain* are formulas, *best* is the least of all. *m ln n* counts all
# labellings.

tb.show.GrowthDisplay.from_shape(shape, 3, landscape)

# %%
# Exact integers: partitions of six examples into two parts, at most, and as many as a search
# finds.

stump = tb.TreeShape.parse("(..)")
for features in (1, 2, 5, 10):
    real = tb.Landscape(real=features)
    most = tb.bounds.partitions(stump, 2, 6, real)
    reached = tb.bounds.worst_sample(stump, 2, 6, real, max_samples=2000, stop_at=most).count
    print(f"{features:2} real features: at most {most:2}, found {reached:2}")

# %%
# The VC dimension is known exactly for stumps, and is between two bounds for larger shapes.

features = [1, 2, 5, 10, 20, 50, 100]
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for text in ("(..)", "((..).)", "((..)(..))"):
    dimensions = [
        tb.bounds.vc_dimension(tb.TreeShape.parse(text), tb.Landscape(real=count))
        for count in features
    ]
    lower, upper = [one.lower for one in dimensions], [one.upper for one in dimensions]
    (line,) = ax.plot(features, upper, marker="v", label=text)
    ax.plot(features, lower, marker="^", color=line.get_color())
    ax.fill_between(features, lower, upper, color=line.get_color(), alpha=0.15)
ax.set(xscale="log", xlabel="real features", ylabel="VC dimension", ylim=(0, None))
ax.legend(title="at least and at most")

# %%
# All trees with L leaves together have a closed form too. It grows by about the same amount with
# each leaf; this is the cost of a leaf in the pruning score.

for leaves in (2, 5, 10, 20, 50):
    nats = tb.bounds.log_growth_leaves(leaves, 2000, 2, landscape)
    print(f"{leaves:2} leaves: {nats:6.1f} nats, {nats / leaves:.1f} a leaf")
