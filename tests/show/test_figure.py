"""Figures: nothing overlaps, words stay inside their boxes, and a few look as they did."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from random_trees import random_tree
from sklearn.datasets import load_breast_cancer, load_digits, load_iris

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.patches import FancyBboxPatch  # noqa: E402
from matplotlib.testing.compare import compare_images  # noqa: E402

import treebound as tb  # noqa: E402
from treebound.data import Column, Sample  # noqa: E402
from treebound.growing import GrowOptions, grow  # noqa: E402
from treebound.pruning.path import ListedPath  # noqa: E402
from treebound.show import (  # noqa: E402
    CertificateDisplay,
    PruningPathDisplay,
    TreeDisplay,
    WeightChoiceDisplay,
)
from treebound.tree import Tree  # noqa: E402

IMAGES = Path(__file__).parent / "images"
# Type is set differently by other releases; the stored images were made with this one.
DRAWN_WITH = (IMAGES / "matplotlib.txt").read_text().strip()


@pytest.fixture(autouse=True)
def _plain_style():
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        yield
    plt.close("all")


def grown(load, leaves: int) -> Tree:
    data = load(as_frame=True)
    sample = Sample.learn(data.data, data.target_names[data.target])
    return grow(sample, GrowOptions(max_leaves=leaves))


def categories() -> Tree:
    """A tree with long category names, an ordinal column and missing values."""
    nan = np.nan
    return Tree(
        feature=[0, 1, -1, -1, 2, -1, -1],
        threshold=[nan, 1.0, nan, nan, 1234.5678, nan, nan],
        category=[0, -1, -1, -1, -1, -1, -1],
        missing_left=[False, True, False, False, False, False, False],
        left=[1, 2, -1, -1, 5, -1, -1],
        right=[4, 3, -1, -1, 6, -1, -1],
        counts=[
            [30, 25, 45], [30, 5, 5], [28, 2, 0], [2, 3, 5], [0, 20, 40], [0, 19, 1], [0, 1, 39],
        ],
        rows=[100, 40, 30, 10, 60, 20, 40],
        columns=(
            Column("residence", "nominal", ("a town with a very long name by the sea", "inland")),
            Column("size", "ordinal", ("small", "middling", "large"), missing=True),
            Column("income per year", missing=False),
        ),
        classes=["stays", "moves away", "costs $5 & $6"],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("load", "leaves"),
    [(load_iris, 2), (load_iris, 5), (load_breast_cancer, 20), (load_digits, 60)],
)
def test_words_stay_inside_their_boxes_and_boxes_do_not_overlap(load, leaves: int) -> None:
    tree = grown(load, leaves)
    display = TreeDisplay.from_estimator(tree)
    assert_readable(display)
    assert len(display.places_) == tree.n_nodes


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("seed", range(4))
def test_difficult_names_are_readable_too(seed: int) -> None:
    assert_readable(TreeDisplay.from_estimator(random_tree(seed, 25)))


def assert_readable(display: TreeDisplay) -> None:
    display.figure_.canvas.draw()
    boxes = [p.get_window_extent() for p in display.ax_.patches if isinstance(p, FancyBboxPatch)]
    for place, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[place + 1 :])
    for words in display.ax_.texts:
        extent = words.get_window_extent()
        owners = [box for box in boxes if box.contains(extent.x0, (extent.y0 + extent.y1) / 2)]
        if words.get_text() in ("yes", "no", "met", "not met") or extent.y0 > max(
            box.y1 for box in boxes
        ):
            continue
        (box,) = owners
        assert box.x0 <= extent.x0
        assert extent.x1 <= box.x1


def test_a_depth_limit_states_how_many_nodes_it_hides() -> None:
    tree = grown(load_digits, 60)
    display = TreeDisplay.from_estimator(tree, max_depth=3)
    assert_readable(display)
    hidden = [int(t.get_text().split()[1]) for t in display.ax_.texts if "more" in t.get_text()]
    assert len(display.places_) + sum(hidden) == tree.n_nodes
    assert max(tree.node_depth[node] for node in display.places_) == 3


def test_thresholds_are_those_of_the_tree() -> None:
    tree = grown(load_breast_cancer, 20)
    words = " ".join(text.get_text() for text in TreeDisplay.from_estimator(tree).ax_.texts).split()
    shown = [float(number) for sign, number in pairwise(words) if sign == "≤"]
    assert sorted(shown) == sorted(tree.threshold[~tree.is_leaf])
    rounded = " ".join(
        text.get_text() for text in TreeDisplay.from_estimator(tree, digits=2).ax_.texts
    )
    assert "≈" in rounded


def test_a_figure_fits_the_axes_it_is_given() -> None:
    _, axes = plt.subplots(1, 2, figsize=(10, 4))
    tree = grown(load_iris, 5)
    display = TreeDisplay.from_estimator(tree, ax=axes[0])
    assert display.ax_ is axes[0]
    assert_readable(display)


@pytest.mark.filterwarnings("ignore:Glyph")
def test_a_very_deep_tree_can_be_drawn() -> None:
    tree = random_tree(3, 1200, chain=True)
    display = TreeDisplay.from_estimator(tree, max_depth=40)
    assert len(display.places_) == 81


def test_displays_take_a_tree_and_a_model() -> None:
    for source in (categories(), tb.Model(categories())):
        assert len(TreeDisplay.from_estimator(source).places_) == 7
        with pytest.raises(ValueError, match="needs a classifier with a pruning path"):
            PruningPathDisplay.from_estimator(source)


def path_of(scores, errors, leaves, chosen: int) -> ListedPath:
    tree = categories()
    curves = np.array(errors), np.array(scores)
    path = ListedPath(tree, [tree] * len(scores), *curves, chosen=chosen)
    path.leaves = np.array(leaves)
    return path


def test_the_path_display_marks_the_chosen_step() -> None:
    display = PruningPathDisplay(path_of([9, 7.5, 8], [0, 1, 4], [9, 4, 1], 1)).plot()
    for ax, value in zip(display.axes_, (7.5, 1, 4), strict=True):
        assert [line.get_xydata().tolist() for line in ax.lines][-1] == [[1.0, value]]


def test_the_display_of_a_weight_has_errors_with_their_standard_errors() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    clf = tb.BoundTreeClassifier(size="balanced").fit(X, y)
    choice = clf.pruning_result_.choice
    ax = WeightChoiceDisplay.from_estimator(clf).ax_
    drawn, _, (bars,) = ax.containers[0].lines
    assert drawn.get_xdata().tolist() == list(choice.leaves)
    assert drawn.get_ydata() == pytest.approx(100 * np.array(choice.losses))
    low, high = bars.get_segments()[0][:, 1]
    assert high - low == pytest.approx(200 * choice.standard_error)
    with pytest.raises(ValueError, match=r"weight that was chosen by validation.*size='balanced'"):
        WeightChoiceDisplay.from_estimator(tb.BoundTreeClassifier().fit(X, y))


def test_the_displays_of_a_fitted_classifier() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    clf = tb.BoundTreeClassifier().fit(X, y)
    assert PruningPathDisplay.from_estimator(clf).path is clf.pruning_path_
    drawn = CertificateDisplay.from_estimator(clf)
    assert drawn.leaves[drawn.chosen] == clf.n_leaves_
    assert drawn.bounds[drawn.chosen] == pytest.approx(clf.certificate_.risk)
    assert drawn.risks[drawn.chosen] == pytest.approx(1 - clf.score(X, y))
    tree = TreeDisplay.from_estimator(clf)
    assert len(tree.places_) == clf.tree_.n_nodes


# -- stored images ---------------------------------------------------------------------------


def picture_categories():
    return TreeDisplay.from_estimator(categories()).figure_


def picture_iris():
    tree = grown(load_iris, 5)
    return TreeDisplay.from_estimator(tree).figure_


def picture_depth_limit():
    tree = grown(load_digits, 30)
    return TreeDisplay.from_estimator(tree, max_depth=2).figure_


def picture_path():
    steps = np.arange(30)
    scores = 40 - steps + 0.05 * steps**2
    return PruningPathDisplay(path_of(scores, steps**1.5, 60 - 2 * steps, 10)).plot().figure_


def picture_certificate():
    leaves = np.arange(40, 0, -1)
    bounds = 0.2 + 0.01 * leaves + 0.3 / leaves
    return CertificateDisplay(leaves, bounds, 0.3 / leaves, chosen=34, delta=0.05).plot().figure_


PICTURES = [
    picture_categories,
    picture_iris,
    picture_depth_limit,
    picture_path,
    picture_certificate,
]


@pytest.mark.skipif(
    matplotlib.__version__ != DRAWN_WITH, reason=f"images were drawn with matplotlib {DRAWN_WITH}"
)
@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.__name__)
def test_pictures_look_as_they_did(picture, tmp_path: Path) -> None:
    name = picture.__name__.removeprefix("picture_") + ".png"
    picture().savefig(tmp_path / name, dpi=72, metadata={"Software": None})
    assert compare_images(IMAGES / name, tmp_path / name, tol=1.0) is None


if __name__ == "__main__":  # draw the stored images again
    matplotlib.rcdefaults()
    (IMAGES / "matplotlib.txt").write_text(matplotlib.__version__ + "\n")
    for picture in PICTURES:
        name = picture.__name__.removeprefix("picture_") + ".png"
        picture().savefig(IMAGES / name, dpi=72, metadata={"Software": None})
