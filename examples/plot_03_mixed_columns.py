"""
Mixed columns, missing values, new categories
=============================================

Real, ordinal and nominal columns without one-hot encoding or imputation. The table is invented:
parcels, and whether they arrived late.
"""

import numpy as np
import pandas as pd

import treebound as tb

rng = np.random.default_rng(3)
rows = 800
speeds = ["economy", "standard", "express"]
parcels = pd.DataFrame(
    {
        "weight": rng.gamma(2.0, 1.5, rows).round(2),
        "service": pd.Categorical(rng.choice(speeds, rows), speeds, ordered=True),
        "country": rng.choice(["FR", "DE", "IT", "IS"], rows, p=[0.4, 0.3, 0.2, 0.1]),
        "insured": rng.random(rows) < 0.3,
    }
)
slow = parcels["service"] < "express"
late = (parcels["country"] == "IS") | ((parcels["weight"] > 4) & slow)
late ^= rng.random(rows) < 0.05

# %%
# Some values are missing, more often those of late parcels. The tree can use that information.

parcels.loc[rng.random(rows) < np.where(late, 0.3, 0.02), "weight"] = np.nan
parcels.loc[rng.random(rows) < 0.1, "country"] = None
print(parcels.head())

# %%
# Numbers are real columns, the ordered categorical is ordinal, texts and booleans are nominal.

arrival = np.where(late, "late", "on time")
clf = tb.BoundTreeClassifier().fit(parcels, arrival)
for column in clf.columns_:
    print(f"{column.name:8} {column.kind:8} {column.categories or ''}")

# %%
# In a real or ordinal column every split learns where missing values go; in a nominal column
# missing is a category of its own.

print(clf.to_text())

# %%

tb.show.TreeDisplay.from_estimator(clf)

# %%
# Norway is not in the training rows. ``handle_unknown`` sets how such a row is treated.

new = pd.DataFrame({"weight": [1.2], "service": ["express"], "country": ["NO"], "insured": [False]})
for choice in ("majority", "stop", "missing"):
    clf.set_params(handle_unknown=choice).fit(parcels, arrival)
    print(f"{choice:8} {clf.predict(new)[0]:7} {clf.predict_proba(new)[0].round(3)}")

try:
    clf.set_params(handle_unknown="error").fit(parcels, arrival).predict(new)
except ValueError as error:
    print(error)
