"""
The study on your own data
==========================

Which pruner is best for *your* data? The study that compares them on the 25 data sets of the paper
accepts any table: here a CSV file with a schema file next to it.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from rich.console import Console
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treebound import study
from treebound.growing import GrowOptions
from treebound.pruning import BoundPruner, PessimisticPruner
from treebound.study.results import Results
from treebound.study.sheets import print_sheet
from treebound.study.summaries import accuracy_table, cost_table

# %%
# The schema declares the columns. Columns that it does not name are inferred.

print(Path("parcels.toml").read_text())

# %%
# ``parcels.toml`` is found by its name. A second table ships with scikit-learn.

sets = [study.load_sample("parcels.csv"), study.load_sample("sklearn:wine")]
for named in sets:
    kinds = ", ".join(f"{named.count(kind)} {kind}" for kind in ("real", "ordinal", "nominal"))
    print(f"{named.name}: {named.sample.n_rows} rows, {named.sample.n_classes} classes, {kinds}")

# %%
# Models are declared. Any scikit-learn classifier can be one; logistic regression needs imputed and
# scaled columns.

logistic = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression())
grown = GrowOptions("entropy")
models = [
    study.PrunedTree("Bound", grown, BoundPruner()),
    study.PrunedTree("Harder", grown, BoundPruner(weight=1.2)),
    study.PrunedTree("Pessimistic", grown, PessimisticPruner()),
    study.PrunedTree("Unpruned", grown),
    study.Estimator("Logistic", logistic),
]
mine = study.Protocol("mine", models=lambda: models, draws=10)

# %%
# Results go to a SQLite file, one transaction each. A second run finds nothing left to do.

with tempfile.TemporaryDirectory() as folder:
    for _ in range(2):
        print(study.run(protocol=mine, sets=sets, store=f"{folder}/mine.sqlite"), "results added")
    results = Results.read(f"{folder}/mine.sqlite")

# %%
# The tables of the report.

console = Console(width=100)
print_sheet(accuracy_table(results), console)
print_sheet(cost_table(results), console)

# %%
# Accuracy against size of the trees, with one point for each draw.

accuracy, leaves = results.cube("test_accuracy"), results.cube("leaves")
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for at, (ax, table) in enumerate(zip(axes, results.datasets, strict=True)):
    for number, model in enumerate(results.models[:4]):
        ax.scatter(leaves[at, :, number], accuracy[at, :, number], 90 - 22 * number, label=model)
    ax.set(title=table["title"], xlabel="leaves", ylabel="accuracy on new rows")
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter("{x:g}")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right")
