"""
Explaining a row
================

Why does a row get its prediction? ``explain`` shows the splits on its path with its own values, the
next best class, and the smallest change that gives another prediction. The table is invented:
loans, and whether they were paid back.
"""

import numpy as np
import pandas as pd

import treebound as tb

rng = np.random.default_rng(5)
rows = 900
jobs = ["none", "part time", "full time"]
loans = pd.DataFrame(
    {
        "income": rng.gamma(4.0, 700.0, rows).round(),
        "amount": rng.gamma(2.0, 4000.0, rows).round(-2),
        "job": pd.Categorical(rng.choice(jobs, rows, p=[0.2, 0.3, 0.5]), jobs, ordered=True),
        "owner": pd.Categorical(rng.choice(["yes", "no"], rows), ["yes", "no"]),
    }
)
good = (loans["amount"] < 3 * loans["income"]) | (
    (loans["owner"] == "yes") & (loans["job"] > "none")
)
good ^= rng.random(rows) < 0.07
paid = pd.Series(np.where(good, "paid", "lost"), name="loan")

# %%
# With rows given, every inner node shows a histogram of its column by class. The dotted line is the
# threshold.

clf = tb.BoundTreeClassifier(max_leaves=7, handle_unknown="error").fit(loans, paid)
ax = clf.plot(loans, paid)

# %%
# The explanation of the first loan. In a notebook this is a table.

explanation = clf.explain(loans.iloc[0])
print(explanation)

# %%
# The changed row gets the other prediction.

print(clf.explain(explanation.counterfactual.row))
