"""How long prediction takes, next to scikit-learn in the same run.

    python benchmarks/predict.py [--quick]

Prints ratios and keeps them as benchmarks/results/predict.json: ``predict``, ``predict_proba`` and
``apply`` of 75-leaf trees on 10^6 rows of 20 real columns (10^5 with ``--quick``) as float64 and as
float32, which is what scikit-learn works on and we convert; ``predict`` on one row; and on a table
with nominal columns, where scikit-learn needs one-hot columns first.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from growers import Job, Table, mixed_sample, print_times, real_sample, seconds
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import treebound as tb
from treebound._utils.files import write_text

RESULTS = Path(__file__).parent / "results"


def fitted(X: Any, y: Any) -> tuple[Any, Any]:
    """Our tree and scikit-learn's, grown on the same rows."""
    mine = tb.BoundTreeClassifier(pruning=None, max_leaves=75, criterion="gini").fit(X, y)
    peer = DecisionTreeClassifier(max_leaf_nodes=75, random_state=0)
    nominal = list(getattr(X, "columns", [])[5:])
    if nominal:
        hot = OneHotEncoder(handle_unknown="ignore", dtype=np.float32)
        peer = make_pipeline(make_column_transformer((hot, nominal), remainder="passthrough"), peer)
    return mine, peer.fit(X, y)


def real_columns(rows: int) -> Table:
    """Every method, on both widths of floats."""
    X, y = real_sample(rows)
    mine, peer = fitted(X[: 10**5], y[: 10**5])
    narrow = X.astype(np.float32)
    times = {}
    for method in ("predict", "predict_proba", "apply"):
        for data in (X, narrow):
            times[f"{method}, {rows:,} rows, {data.dtype}"] = pair(
                lambda method=method, data=data: getattr(mine, method)(data),
                lambda method=method, data=data: getattr(peer, method)(data),
            )
    times["predict, 1 row"] = pair(lambda: mine.predict(X[:1]), lambda: peer.predict(X[:1]))
    return times


def nominal_columns(rows: int) -> Table:
    """From the table to the predictions."""
    times = {}
    for categories in (10, 100):
        X, y = mixed_sample(rows, categories)
        mine, peer = fitted(X.head(10**4), y[: 10**4])
        times[f"predict, {rows:,} rows, {categories} categories"] = pair(
            lambda mine=mine, X=X: mine.predict(X), lambda peer=peer, X=X: peer.predict(X)
        )
    return times


def pair(mine: Job, peer: Job) -> dict[str, float]:
    """Both, taking turns."""
    return seconds({"treebound": mine, "scikit-learn": peer})


def main() -> None:
    """Run, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="10^5 rows instead of 10^6")
    rows = 10**5 if parser.parse_args().quick else 10**6
    results = {"real columns": real_columns(rows), "nominal columns": nominal_columns(rows // 10)}
    print_times("trees of 75 leaves on 20 real columns", results["real columns"])
    print_times("trees of 75 leaves on 5 real and 5 nominal columns", results["nominal columns"])
    RESULTS.mkdir(exist_ok=True)
    write_text(RESULTS / "predict.json", json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
