"""Tools made for scikit-learn's trees accept the trees we hand back."""

import numpy as np
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
