"""Tools made for scikit-learn's trees accept the trees we hand back."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import treebound as tb

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def handed_back():
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32)
    grown = DecisionTreeClassifier(random_state=0).fit(X, y)
    return tb.to_sklearn(tb.from_sklearn(grown, X, y)), grown, X


def test_shap_explains_it_like_the_tree_it_came_from(handed_back):
    shap = pytest.importorskip("shap")
    back, grown, X = handed_back
    ours = shap.TreeExplainer(back).shap_values(X[:50])
    theirs = shap.TreeExplainer(grown).shap_values(X[:50])
    np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_skl2onnx_converts_it(handed_back):
    skl2onnx = pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    back, grown, X = handed_back
    model = skl2onnx.to_onnx(back, X[:1])
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    np.testing.assert_array_equal(session.run(None, {"X": X})[0], grown.predict(X))


def test_shap_values_of_a_tree_with_nominal_columns_add_up_to_its_frequencies():
    shap = pytest.importorskip("shap")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue"], 300),
            "size": rng.integers(0, 9, 300).astype(float),
            "idle": rng.choice(["u", "v"], 300),
        }
    )
    y = np.where((frame["colour"] == "red") ^ (frame["size"] > 4), "yes", "no")
    clf = tb.BoundTreeClassifier(smoothing=None).fit(frame, y)
    numeric = tb.exchange.Indicators(clf)
    explainer = shap.TreeExplainer(tb.to_sklearn(clf, indicators=True))
    values = numeric.summed(explainer.shap_values(numeric.transform(frame)))
    assert values.shape == (300, 3, 2)
    together = explainer.expected_value + values.sum(axis=1)
    np.testing.assert_allclose(together, clf.predict_proba(frame), atol=1e-9)
    assert np.abs(values[:, 2]).max() < 1e-12  # a column that is not split on contributes nothing
    assert np.abs(values[:, :2]).max() > 0.2
