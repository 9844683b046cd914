"""Draw the pictures of the README: ``python docs/pictures.py``."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from treebound import BoundTreeClassifier
from treebound.show import PruningPathDisplay, TreeDisplay

HERE = Path(__file__).parent / "_static"


def main() -> None:
    """One data set, its tree and its pruning path."""
    data = load_breast_cancer(as_frame=True)
    y = data.target.map(dict(enumerate(data.target_names))).rename("diagnosis")
    clf = BoundTreeClassifier().fit(data.data, y)
    figure = TreeDisplay.from_estimator(clf).figure_
    figure.savefig(HERE / "tree.png", dpi=110, bbox_inches="tight")
    figure = PruningPathDisplay.from_estimator(clf).figure_
    figure.savefig(HERE / "path.png", dpi=110, bbox_inches="tight")
    plt.close("all")
    print(clf.to_text())
    print(clf.certificate_)
    print(clf.pruning_result_.explain())


if __name__ == "__main__":
    main()
