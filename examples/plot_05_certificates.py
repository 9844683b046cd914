"""
Certificates and declared categories
====================================

A certificate bounds the error rate on new examples, from the training rows alone. Here the source
of the rows is known, so the bound can be compared with the true error rate.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import treebound as tb

speeds = ["economy", "standard", "express"]
depots = [f"depot {number}" for number in range(12)]


def draw(rows, seed):
    """Parcels, and whether they arrived late, with 10 % noise."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "weight": rng.gamma(2.0, 1.5, rows),
            "service": rng.choice(speeds, rows),
            "depot": rng.choice(depots, rows),
        }
    )
    heavy = (frame["weight"] > 4) & (frame["service"] != "express")
    late = heavy | (frame["depot"] == "depot 7")
    return frame, late ^ (rng.random(rows) < 0.1)


X, y = draw(5000, seed=0)
clf = tb.BoundTreeClassifier().fit(X, y)
print(clf.certificate_.explain())

# %%
# The categories of ``service`` and ``depot`` are undeclared. There might be any number of others,
# and the bound allows for that. Declare them for a smaller bound:

kinds = {
    "service": pd.CategoricalDtype(speeds, ordered=True),
    "depot": pd.CategoricalDtype(depots),
}
better = tb.BoundTreeClassifier().fit(X.astype(kinds), y)
print(better.certificate_)

# %%
# The certificate of each size. Larger trees make fewer errors on the training rows, but more leaves
# make the bound larger.

tb.show.CertificateDisplay.from_estimator(better)

# %%
# The certificate, the training error and the true error rate (from 100,000 new parcels) against the
# number of training rows. The certificate is far above the true rate at first, and approaches it.

X_new, y_new = draw(100_000, seed=99)
sizes = [100, 300, 1000, 3000, 10_000, 30_000]
promised, on_training, true = [], [], []
for rows in sizes:
    X, y = draw(rows, seed=rows)
    fitted = tb.BoundTreeClassifier().fit(X.astype(kinds), y)
    promised.append(fitted.certificate_.risk)
    on_training.append(fitted.certificate_.training_error)
    true.append(1 - fitted.score(X_new.astype(kinds), y_new))

figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
ax.plot(sizes, promised, marker="o", label="certificate, 95 %")
ax.plot(sizes, true, marker="o", label="true error rate")
ax.plot(sizes, on_training, marker="o", label="training error")
ax.set(xscale="log", xlabel="training rows", ylabel="share of errors", ylim=(0, 1))
ax.legend()

# %%
# With extra labelled rows there is a simpler bound, from those rows alone.

rows, labels = draw(2000, seed=5)
errors = int((better.predict(rows.astype(kinds)) != labels).sum())
print(tb.certify(better, rows.astype(kinds), labels))
print(better.certificate_.agrees_with(errors, len(labels)))
