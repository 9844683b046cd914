"""Reading attributes changes nothing: no state is kept of what was looked at."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import treebound as tb
from treebound.edit import Editor

KINDS = ("training", "held-out", "folds", "prior")


@pytest.fixture(scope="module")
def rows():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, :8], y.map({0: "malignant", 1: "benign"})


@pytest.fixture(scope="module", params=KINDS)
def fitted(request, rows):
    options = {"certificate": request.param, "random_state": 0}
    return lambda: tb.BoundTreeClassifier(**options).fit(*rows)


def objects_of(clf, rows):
    """The objects that a user meets, by name."""
    certificate, path = clf.certificate_, clf.pruning_path_
    objects = {
        "classifier": clf,
        "model": clf.model_,
        "tree": clf.tree_,
        "grown tree": clf.grown_tree_,
        "certificate": certificate,
        "bound of a class": certificate.by_class[0],
        "monitor": certificate.monitor(),
        "editor": Editor(clf.model_, *rows),
        "held-out": clf.model_.evidence.calibration,
        "record of rows": clf.model_.provenance.row_record,
        "proof": clf.model_.evidence.proof,
        "frontier": clf.frontier_,
        "pruning path": path,
        "pruning result": clf.pruning_result_,
        "other tree": clf.prune_to(1),
        "editor after a step": edited(clf, rows),
    }
    if certificate.kind != "training":
        objects["abstaining"] = clf.abstain(max_risk=0.3)
        objects["abstention"] = objects["abstaining"].abstention_
        objects["mean cost"] = clf.certify_cost(costs={"malignant": 5.0})
    return {name: value for name, value in objects.items() if value is not None}


def edited(clf, rows):
    editor = Editor(clf.model_, *rows)
    editor.collapse("")
    return editor


def read_all(item):
    """Read every attribute that completion or a display may read."""
    for name in dir(item):
        if not name.startswith("__"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    getattr(item, name)
                except AttributeError:
                    continue
    repr(item)
    str(item)


def state(item):
    """A pickle that does not depend on which equal objects are one."""
    if isinstance(item, Editor):  # that of a prior has a kernel, which has no pickle
        item = item.model(), item.history, item.figures, str(item)
    return pickle.dumps(pickle.loads(pickle.dumps(item)))


def test_reading_every_attribute_changes_no_object(fitted, rows):
    for name, item in objects_of(fitted(), rows).items():
        before = state(item)
        read_all(item)
        assert state(item) == before, name


def test_what_was_read_does_not_change_a_later_edit(fitted, rows):
    plain, seen = fitted(), fitted()
    for item in objects_of(seen, rows).values():
        read_all(item)
    repr(seen), seen._repr_mimebundle_()
    edited_models = [edited(clf, rows).done() for clf in (plain, seen)]
    for kind in (edited_models[0].certificate, edited_models[1].certificate):
        assert kind is None or kind.kind in ("training", "prior")
    assert edited_models[0].certificate == edited_models[1].certificate
    assert edited_models[0].certificate_reason == edited_models[1].certificate_reason
    if (
        plain.model_.evidence.calibration is not None
        and plain.model_.evidence.calibration.folds == 1
    ):
        stated = [edited(clf, rows).done(calibration_unseen=True) for clf in (plain, seen)]
        assert stated[0].certificate == stated[1].certificate
        assert stated[0].certificate.kind == "held-out"


def test_certificates_are_equal_after_a_pickle_and_keep_their_bounds_by_class(fitted):
    certificate = fitted().certificate_
    again = pickle.loads(pickle.dumps(certificate))
    assert again == certificate
    assert again.by_class == certificate.by_class
    assert len(again.by_class) == 2
    assert "class_source" not in certificate.as_dict()
    assert np.isfinite(certificate.as_dict()["risk"])
