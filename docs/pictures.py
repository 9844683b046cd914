"""Draw the pictures of the README and of the pages: ``python docs/pictures.py``."""

from math import log
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from treebound import BoundTreeClassifier, Landscape, bounds
from treebound.bounds.compression import log_message_weight
from treebound.bounds.risk import risk_upper
from treebound.show import PruningPathDisplay, TreeDisplay

HERE = Path(__file__).parent / "_static"
DELTA, COLUMNS, ERRORS = 0.05, 20, 0.05
# Okabe and Ito's colours, which most eyes distinguish, and a dash for each kind.
STYLES = {
    "tail inversion": ("#d55e00", "solid"),
    "compression": ("#0072b2", (0, (5, 2))),
    "held-out rows": ("#009e73", (0, (1, 1.2))),
}


def certificates(m: int, leaves: int) -> dict[str, float]:
    """Every kind, for two classes, 20 real columns and 5 % of errors on whatever rows there are."""
    errors = round(ERRORS * m)
    inversion = bounds.tail_inversion(
        m,
        errors,
        lambda total: bounds.log_growth_leaves(leaves, total, 2, Landscape(real=COLUMNS)),
        delta=DELTA,
        log_prior=bounds.log_leaves_prior(leaves),
    )
    splits = leaves - 1
    price = log_message_weight(m, leaves, 2, COLUMNS, 0.0, splits, splits)
    calibration = round(min(0.3 * m, max(150, 0.1 * m)))
    return {
        "tail inversion": inversion,
        "compression": risk_upper(m - splits, errors, log(DELTA / 2) - price),
        "held-out rows": bounds.binomial_upper(calibration, round(ERRORS * calibration), DELTA),
    }


def draw_certificates() -> None:
    """Certificates against rows and against leaves."""
    rows = np.unique(np.geomspace(200, 100_000, 60).round(-1).astype(int))
    sizes = np.arange(2, 61)
    panels = [
        (rows, [certificates(int(m), 10) for m in rows], "training rows (10 leaves)"),
        (sizes, [certificates(1000, int(size)) for size in sizes], "leaves (1,000 rows)"),
    ]
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True, layout="constrained")
    for ax, (places, values_by_kind, name) in zip(axes, panels, strict=True):
        for kind, (colour, dash) in STYLES.items():
            values = [100 * one[kind] for one in values_by_kind]
            ax.plot(places, values, color=colour, linestyle=dash, linewidth=1.8, label=kind)
        ax.axhline(100 * ERRORS, color="0.6", linewidth=1, label="error seen")
        ax.set_xlabel(name)
        ax.set_ylim(0, 60)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_xscale("log")
    axes[0].set_xticks([200, 1000, 10_000, 100_000], ["200", "1,000", "10,000", "100,000"])
    axes[0].minorticks_off()
    axes[0].set_ylabel("certified error, %")
    axes[0].legend(frameon=False)
    figure.savefig(HERE / "certificates.png", dpi=130)


def draw_round() -> None:
    """One round of growth on rows that are not in memory at once."""
    figure, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
    ax.set_xlim(0, 10)
    ax.set_ylim(0, 4.3)
    ax.axis("off")
    grey, blue, orange = "#555555", "#0072b2", "#d55e00"
    for k, name in enumerate(("shard 1", "shard 2", "shard n")):
        y = 2.9 - 1.2 * k
        ax.add_patch(plt.Rectangle((0.1, y), 2.5, 0.9, fill=False, edgecolor=grey))
        ax.text(1.35, y + 0.6, name, ha="center", va="center", color=grey)
        ax.text(1.35, y + 0.25, "codes, rows of nodes", ha="center", va="center", size=8)
    ax.text(1.35, 4.1, "values in a file, read when needed", ha="center", size=8, color=grey)
    ax.add_patch(plt.Rectangle((6.7, 0.5), 3.2, 3.3, fill=False, edgecolor=blue, linewidth=1.6))
    ax.text(8.3, 3.55, "driver", ha="center", va="center", color=blue)
    steps = (
        ("scores between bins,\nbounds inside them", "counts of bins, smaller children only"),
        ("live bins cut into slices\nor values: the split", "classes of slices and values"),
        (
            "best-first order determines\nwhich leaves are split next",
            "tests of the nodes that are split",
        ),
    )
    for k, (step, message) in enumerate(steps):
        y = 3.0 - 1.05 * k
        ax.text(8.3, y - 0.05, f"{k + 1}. {step}", ha="center", va="center", size=9)
        to_driver = k < 2
        ends = ((2.75, y), (6.55, y)) if to_driver else ((6.55, y), (2.75, y))
        ax.annotate(
            "",
            xy=ends[1],
            xytext=ends[0],
            arrowprops={"arrowstyle": "->", "color": blue if to_driver else orange},
        )
        ax.text(4.65, y + 0.14, message, ha="center", size=8)
    figure.savefig(HERE / "round.png", dpi=150)
    plt.close(figure)


def draw_search() -> None:
    """The fewest training errors by number of leaves, of greedy growth and of a wide search."""
    X, y = load_breast_cancer(return_X_y=True)
    figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    for search, name, colour in (
        ("greedy", "greedy growth", "#0072b2"),
        ("wide", "wide search", "#d55e00"),
    ):
        clf = BoundTreeClassifier(search=search, cv=None).fit(X, y)
        sizes = range(2, 13)
        errors = [clf.prune_to(leaves).tree_.errors for leaves in sizes]
        ax.plot(sizes, errors, marker="o", color=colour, label=name)
    ax.set_xlabel("leaves")
    ax.set_ylabel("training errors")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)
    figure.savefig(HERE / "search.png", dpi=110)
    plt.close(figure)


def main() -> None:
    """One data set, its tree and its pruning path; what certificates depend on; a round."""
    draw_certificates()
    draw_round()
    draw_search()
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
