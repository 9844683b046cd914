"""
Predicting house prices
=======================

A regression tree for numbers: its estimated error, intervals for new rows, and the price of a
smaller tree. The houses are simulated, so that the true mean price is known.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import treebound as tb

rng = np.random.default_rng(0)
n = 2_000
houses = pd.DataFrame(
    {
        "area": rng.uniform(30, 220, n).round(0),
        "town": rng.choice(["centre", "north", "south"], n, p=[0.2, 0.4, 0.4]),
        "year": rng.integers(1900, 2024, n),
        "garden": rng.choice(["yes", "no"], n),
    }
)
mean = 2.4 * houses["area"] * np.where(houses["town"] == "centre", 1.6, 1.0)
mean += np.where((houses["garden"] == "yes") & (houses["town"] != "centre"), 60.0, 0.0)
price = (mean + rng.normal(0, 30, n)).round(1).rename("price")
train, test = slice(0, 1500), slice(1500, n)

# %%
# The summary has the cross-validated errors, next to those of the mean of all rows.
reg = tb.BoundTreeRegressor(max_leaves=12).fit(houses[train], price[train])
print(reg.summary())

# %%
# The tree, and the reasons for the prediction of one house:
print(reg.to_text())
print(reg.explain(houses.iloc[1500]))

# %%
# An interval contains the price of about 90 % of new houses.
low, high = reg.predict_interval(houses[test], coverage=0.9).T
inside = (low <= price[test]) & (price[test] <= high)
print(f"{100 * inside.mean():.1f} % of the test prices are in their interval")

# %%
# A smaller tree costs accuracy; ``sizes_`` estimates how much.
_, axis = plt.subplots(figsize=(5, 3.2), layout="constrained")
axis.plot([size.leaves for size in reg.sizes_], [size.rmse for size in reg.sizes_], marker="o")
axis.set(xlabel="leaves", ylabel="cross-validated RMSE")
plt.show()
