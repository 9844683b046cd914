"""The types of labels and the order of columns change nothing; other names are an error."""

import numpy as np
import pytest
from random_samples import ARRAYS
from sklearn.datasets import load_breast_cancer

import treebound as tb


@pytest.fixture(scope="module")
def table():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X[["mean radius", "mean texture", "worst area", "worst concavity"]], y


@pytest.fixture(scope="module")
def clf(table):
    X, y = table
    return tb.BoundTreeClassifier().fit(X[:400], y[:400])


@pytest.mark.parametrize(
    "labels",
    [
        lambda y: y.to_numpy().astype(bool),
        lambda y: y.map({0: "benign", 1: "malign"}).to_numpy(),
        lambda y: y.map({0: "benign", 1: "malign"}).astype("category"),
        lambda y: y.astype(float),
    ],
)
@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced"}, {"size": "small"}])
def test_equal_labels_of_any_type_give_one_tree(table, labels, options):
    X, y = table
    expected = tb.BoundTreeClassifier(**options).fit(X, y)
    model = tb.BoundTreeClassifier(**options).fit(X, labels(y))
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(model.tree_, name), getattr(expected.tree_, name))
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    assert model.certificate_ == expected.certificate_


VERBS = {
    "predict": lambda clf, X, y: clf.predict(X).tolist(),
    "predict_proba": lambda clf, X, y: clf.predict_proba(X).tolist(),
    "apply": lambda clf, X, y: clf.apply(X).tolist(),
    "decision_path": lambda clf, X, y: clf.decision_path(X).toarray().tolist(),
    "score": lambda clf, X, y: clf.score(X, y),
    "certify": lambda clf, X, y: str(tb.certify(clf, X, y)),
    "prune": lambda clf, X, y: tb.prune(clf, X, y).tree_.counts.tolist(),
    "validation": lambda clf, X, y: tb.prune(
        clf, validation=(X, y), pruner="reduced-error"
    ).tree_.counts.tolist(),
    "abstain": lambda clf, X, y: str(clf.abstain(X, y, max_risk=0.2).abstention_),
    "explain": lambda clf, X, y: str(clf.explain(X.iloc[3])),
    "to_html": lambda clf, X, y: clf.to_html(test=(X, y)),
}


@pytest.mark.parametrize("verb", VERBS)
def test_columns_are_found_by_name(verb, clf, table):
    X, y = table[0][400:], table[1][400:]
    if verb in ("predict", "predict_proba", "apply", "decision_path", "score"):
        # scikit-learn's estimators refuse another order
        with pytest.raises(ValueError, match="feature names"):
            VERBS[verb](clf, X[X.columns[::-1]], y)
    else:
        assert VERBS[verb](clf, X[X.columns[::-1]], y) == VERBS[verb](clf, X, y)
    renamed = X.rename(columns={clf.columns_[clf.tree_.feature[0]].name: "another"})
    with pytest.raises(ValueError, match=r"another|feature names|[Cc]olumn"):
        VERBS[verb](clf, renamed, y)
