"""
Editing a tree by hand
======================

A tree learns from its table, and a table can mislead: patients with asthma were treated at
once and seldom died of pneumonia, so asthma looks like a protection. The table is invented after
this well-known case. People who know better replace the split and see what it costs.
"""

import numpy as np
import pandas as pd

import treebound as tb

rng = np.random.default_rng(2)
rows = 1500
patients = pd.DataFrame(
    {
        "age": rng.integers(18, 95, rows).astype(float),
        "asthma": pd.Categorical(rng.choice(["yes", "no"], rows, p=[0.25, 0.75]), ["yes", "no"]),
        "pulse": rng.normal(90.0, 18.0, rows).round(),
        "oxygen": rng.normal(94.0, 3.0, rows).round(1),
    }
)
danger = 0.05 + 0.7 * (patients["age"] > 50) + 0.2 * (patients["oxygen"] < 92)
danger *= np.where(patients["asthma"] == "yes", 0.15, 1.0)  # they were treated at once
risk = pd.Series(np.where(rng.random(rows) < danger, "high", "low"), name="risk")

clf = tb.BoundTreeClassifier(max_leaves=5).fit(patients, risk)
print(clf.to_text())

# %%
# ``asthma = yes`` leads to a low risk. Which splits are possible instead at this node?

editor = clf.edit(patients, risk)
asthma = patients.columns.get_loc("asthma")
node = int(np.flatnonzero(editor.tree.feature == asthma)[0])
print(editor.alternatives(node).round(3).to_string())

# %%
# A subtree without the column takes its place. The figures are shown next to those before.

remaining = patients.columns.drop("asthma")
print(editor.grow(node, columns=remaining, max_leaves=2))

# %%
# Which patients get another prediction now?

print(editor.changed().drop(columns="numbers").to_string())

# %%
# The edited classifier has a certificate: its bound holds for all trees of this size at once,
# however one of them was chosen.

edited = editor.done()
print(edited.certificate_)
figure = tb.compare(clf, edited, patients, risk).plot()
