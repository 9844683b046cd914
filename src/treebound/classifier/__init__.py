"""The estimator that most people meet."""

from treebound.classifier.estimator import BoundTreeClassifier

__all__ = ["BoundTreeClassifier"]
