"""
SQL, C, ONNX, JSON and Python
=============================

One tree in five forms. Each form gives the predictions of ``predict``, also for missing values and
new categories.
"""

import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import treebound as tb

rng = np.random.default_rng(3)
parcels = pd.DataFrame(
    {
        "weight": rng.gamma(2.0, 1.5, 800).round(4),
        "country": rng.choice(["FR", "DE", "IT", "IS"], 800, p=[0.4, 0.3, 0.2, 0.1]),
    }
)
late = (parcels["country"] == "IS") | (parcels["weight"] > 4)
late ^= rng.random(800) < 0.05
clf = tb.BoundTreeClassifier().fit(parcels, np.where(late, "late", "on time"))
tb.show.TreeDisplay.from_estimator(clf)

# %%
# New rows, with a missing value and a new country.

new = pd.DataFrame(
    {"weight": [0.5, 6.1, None, 1.0, 2.2], "country": ["FR", "DE", "IT", "NO", None]}
)
expected = clf.predict(new).tolist()
print(expected)

# %%
# **SQL**: one ``CASE`` expression, here in SQLite.

print(clf.to_sql())
with sqlite3.connect(":memory:") as database:
    new.to_sql("new", database, index=False)
    predicted = [row[-1] for row in database.execute(clf.to_sql(table="new"))]
print(predicted == expected)

# %%
# **C**: a function of a struct, without any library. It is compiled here if there is a compiler.

source = clf.to_c(name="arrival")
print("\n".join(source.splitlines()[-16:]))

main = r"""
#include <stdio.h>
int main(void)
{
    struct arrival_row row = {6.1, "DE"};
    puts(arrival_classes[arrival(&row)]);
    return 0;
}
"""
if shutil.which("cc"):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "arrival.c").write_text(source + main)
        subprocess.run(["cc", "-o", "arrival", "arrival.c", "-lm"], cwd=folder, check=True)
        done = subprocess.run([f"{folder}/arrival"], capture_output=True, text=True, check=True)
        print(done.stdout.strip() == expected[1])

# %%
# **ONNX**: one input for each column; a missing text is the empty one. It needs the extra ``onnx``.

try:
    import onnxruntime
except ModuleNotFoundError:
    print("onnxruntime is not installed")
else:
    session = onnxruntime.InferenceSession(clf.to_onnx().SerializeToString())
    table = {
        "weight": new[["weight"]].to_numpy(dtype=float),
        "country": new[["country"]].fillna("").to_numpy(dtype=object),
    }
    labels, probabilities = session.run(None, table)
    print(labels.tolist() == expected)
    print(np.abs(probabilities - clf.predict_proba(new)).max() < 1e-6)

# %%
# **JSON**: the documented model format. Reading it executes nothing.

with tempfile.TemporaryDirectory() as folder:
    clf.save(f"{folder}/model.json")
    print(Path(folder, "model.json").read_text()[:160], "...")
    again = tb.BoundTreeClassifier.load(f"{folder}/model.json")
print(again.predict(new).tolist() == expected)

# %%
# **Python**, a function of one row that needs no library at all.

module = {}
exec(clf.to_python(), module)
print([module["predict"](row) for row in new.to_dict("records")] == expected)
