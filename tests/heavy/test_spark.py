"""A Spark MLlib tree answers the same after it was imported (needs Java)."""

from __future__ import annotations

import numpy as np
import pytest

from treebound.data import read_matrix
from treebound.exchange import from_spark

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def spark():
    sql = pytest.importorskip("pyspark.sql")
    session = (
        sql.SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    yield session
    session.stop()


def test_a_spark_tree_answers_as_spark_does(spark):
    from pyspark.ml.classification import DecisionTreeClassifier
    from pyspark.ml.feature import VectorAssembler, VectorIndexer

    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), rng.normal(size=300), rng.integers(0, 3, 300)])
    y = ((X[:, 0] > 0.2) ^ (X[:, 2] == 1)).astype(int)
    names = ["a", "b", "kind"]
    rows = [(*map(float, row), float(label)) for row, label in zip(X, y, strict=True)]
    frame = spark.createDataFrame(rows, [*names, "label"])
    frame = VectorAssembler(inputCols=names, outputCol="raw").transform(frame)
    indexer = VectorIndexer(inputCol="raw", outputCol="features", maxCategories=3).fit(frame)
    frame = indexer.transform(frame)
    model = DecisionTreeClassifier(maxDepth=5, minInstancesPerNode=2).fit(frame)
    tree = from_spark(model, X, y)
    assert tree.n_nodes == model.numNodes
    assert "nominal" in {tree.columns[f].kind for f in tree.feature[~tree.is_leaf]}
    theirs = [row.prediction for row in model.transform(frame).select("prediction").collect()]
    ours = tree.predict(read_matrix(X, tree.columns, named=False))
    np.testing.assert_array_equal(ours, np.array(theirs, dtype=int))
