"""Tables of measured figures, read from ``benchmarks/results``.

``.. results:: NAME`` inserts one of the tables below. The numbers on the page are those that the
scripts in ``benchmarks`` wrote, so none is typed by hand.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
Row = Sequence[str]
Table = tuple[Row, Iterable[Row]]


def read(name: str) -> Any:
    """Return the contents of a result file."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def time(seconds: float) -> str:
    """Return a duration with two digits and its unit."""
    for limit, factor, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms"), (float("inf"), 1.0, "s")):
        if seconds < limit:
            value = seconds * factor
            return f"{value:.2g} {unit}" if value < 99.5 else f"{value:,.0f} {unit}"
    raise AssertionError


def difference(comparison: dict[str, Any] | None, digits: int = 2) -> str:
    """Return a paired difference with its standard error."""
    if comparison is None:
        return ""
    error = comparison["standard_error"]
    text = f"{comparison['difference']:+.{digits}f}"
    return text if error is None else f"{text}\u00a0±\u00a0{error:.{digits}f}"


def commits() -> Table:
    """List the commit and the date of each result file."""
    stems = [path.stem for path in sorted(RESULTS.glob("*.json")) if path.stem[-4:] != "_log"]
    rows = [(f"``{stem}.json``", *measured(stem)) for stem in stems]
    return ("file in ``benchmarks/results``", "commit", "date"), rows


def measured(stem: str) -> tuple[str, str]:
    """Return commit and date of a measurement.

    A result file names the commit that was measured. If it names none, or one that is not in the
    history because it was rebased, the commit that changed the file is returned.
    """
    summary = read(stem)
    if "commit" not in summary:  # parts of a file may be measured separately
        parts = [part for part in summary.values() if isinstance(part, dict)]
        summary = next((part for part in parts if "commit" in part), {})
    commit = summary.get("commit", "").removesuffix("+changes")
    in_history = commit and _git("merge-base", "--is-ancestor", commit, "HEAD") is not None
    if in_history or _git("rev-parse", "HEAD") is None:
        return commit[:8], summary.get("date", "")[:10]
    changed = _git("log", "-1", "--format=%h %cs", "--abbrev=8", "--", f"{stem}.json") or ""
    commit, _, date = changed.partition(" ")
    return commit, date


def _git(*arguments: str) -> str | None:
    """Return the output of a git command in the folder of the results; None if it fails."""
    command = ["git", "-C", str(RESULTS), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


# -- accuracy --------------------------------------------------------------------------------------


def unseen_methods(stem: str) -> Table:
    """Compare the methods of ``unseen.py``: means over tables, and differences in accuracy."""
    summary = read(stem)
    header = ("method", "accuracy %", "balanced accuracy %", "log-loss", "leaves", "fit, seconds",
              "default minus method, points", "tables better / worse")  # fmt: skip
    rows = []
    for name, row in summary["methods"].items():
        compared = None if name == summary["reference"] else row["reference minus method"]
        accuracy = None if compared is None else compared["accuracy"]
        counts = "" if accuracy is None else f"{accuracy['better']} / {accuracy['worse']}"
        rows.append(
            (name, f"{row['accuracy']:.2f}", f"{row['balanced accuracy']:.2f}",
             f"{row['log-loss']:.3f}", "" if row["leaves"] is None else f"{row['leaves']:.1f}",
             f"{row['seconds']:.3f}", difference(accuracy), counts)
        )  # fmt: skip
    return header, rows


def unseen_groups(stem: str) -> Table:
    """Break the differences of ``unseen.py`` down by kinds of tables."""
    groups = read(stem)["groups"]
    rivals = [name for name in next(iter(groups.values())) if name != "tables"]
    chosen = [n for n in ("cost-complexity", "scikit-learn, ccp_alpha", "random forest", "EBM")
              if n in rivals]  # fmt: skip
    header = ("tables with", "number", *(f"default minus {name}" for name in chosen))
    rows = [
        (group, f"{row['tables']}", *(difference(row[name]) for name in chosen))
        for group, row in groups.items()
    ]
    return header, rows


def unseen_commit(stem: str) -> str:
    """State when and on what the figures were measured."""
    summary = read(stem)
    tables, draws = len(summary["tables"]), summary["draws"]
    commit = measured_at(stem).lower()
    return f"{tables} tables, {draws} draws of 85/15, {summary['fits']:,} fits; {commit}"


def measured_at(stem: str) -> str:
    """State the commit and the date of a measurement."""
    return "Commit {}, {}.".format(*measured(stem))


def unseen_regression(stem: str) -> Table:
    """Compare the methods of ``unseen_regression.py``: differences in RMSE in percent."""
    header = ("method", "R2", "leaves", "fit, seconds", "RMSE against scikit-learn, ccp_alpha, %",
              "RMSE against scikit-learn, ccp_alpha and leaf size, %")  # fmt: skip
    rows = []
    for name, row in read(stem)["methods"].items():
        rivals = ("scikit-learn, ccp_alpha", "scikit-learn, ccp_alpha and leaf size")
        against = (row.get(f"against {rival}") for rival in rivals)
        errors = [None if one is None else one["RMSE"] for one in against]
        cells = ["" if one is None else f"{one['mean']:+.1f} ± {one['standard error']:.1f}"
                 for one in errors]  # fmt: skip
        leaves = row["leaves"]
        rows.append(
            (name, f"{row['R2']:.3f}", f"{leaves:,.1f}" if leaves < 100 else f"{leaves:,.0f}",
             f"{row['seconds']:.3f}", *cells)
        )  # fmt: skip
    return header, rows


def calibration_rows() -> Table:
    """Compare held-out certificates with those of training rows, by the number of rows."""
    header = ("tables", "training rows", "number of tables", "accuracy, held-out minus training",
              "test error", "certified from training rows", "certified from a tenth")  # fmt: skip
    summary, rows = read("calibration_rows"), []
    for source in ("development half", "simulated"):
        for group, row in summary[source].items():
            figures = ("test error", "certified, training", "certified, held-out")
            rows.append(
                (source, group, f"{row['tables']}", difference(row),
                 *(f"{row[key]:.1f} %" for key in figures))
            )  # fmt: skip
    return header, rows


def equal_leaves() -> Table:
    """Compare the methods of ``equal_leaves.py`` at each limit on the leaves."""
    header = ("method, leaves at most", "tables", "accuracy %", "training error %", "leaves",
              "fit, seconds", "ours minus method, points", "tables better / worse")  # fmt: skip
    rows = []
    for name, row in read("equal_leaves")["methods"].items():
        if row["accuracy"] is None:
            continue
        compared = row["ours minus method, accuracy"]
        counts = "" if compared is None else f"{compared['better']:.0f} / {compared['worse']:.0f}"
        tables = "" if compared is None else f"{compared['tables']:.0f}"
        rows.append(
            (name, tables, f"{row['accuracy']:.2f}", f"{row['training error']:.2f}",
             f"{row['leaves']:.1f}", f"{row['seconds']:.3f}", difference(compared), counts)
        )  # fmt: skip
    return header, rows


def equal_leaves_run() -> str:
    """State the tables, the draws and the limit of a search."""
    summary = read("equal_leaves")
    tables, limit = len(summary["tables"]), summary["seconds per optimal search"]
    return (
        f"Development half: {tables} tables, {summary['draws']} draws, of slow searches "
        f"{summary['draws of optimal searches']}, {limit:g} seconds per search. "
        + measured_at("equal_leaves")
    )


def unbalanced() -> Table:
    """Compare trees with balanced class weights by balanced accuracy."""
    header = ("method", "balanced accuracy %", "accuracy %", "leaves", "fit, seconds",
              "default minus method, points", "tables better / worse")  # fmt: skip
    rows = []
    for name, row in read("unbalanced")["methods"].items():
        paired = row["default minus method"]
        counts = "" if paired is None else f"{paired['better']:.0f} / {paired['worse']:.0f}"
        rows.append(
            (name, f"{row['balanced accuracy']:.2f}", f"{row['accuracy']:.2f}",
             f"{row['leaves']:.1f}", f"{row['seconds']:.3f}", difference(paired), counts)
        )  # fmt: skip
    return header, rows


def searches(stem: str) -> Table:
    """Compare greedy growth and the wide search at each limit on the leaves."""
    header = ("at most", "accuracy %, greedy", "accuracy %, wide", "difference in accuracy",
              "in balanced accuracy", "in leaves")  # fmt: skip
    rows = [
        (setting, f"{row['greedy']['accuracy']:.2f}", f"{row['wide']['accuracy']:.2f}",
         *(difference(row["wide minus greedy"][figure])
           for figure in ("accuracy", "balanced accuracy", "leaves")))
        for setting, row in read(stem)["settings"].items()
    ]  # fmt: skip
    return header, rows


# -- the study -------------------------------------------------------------------------------------


def study_standard() -> Table:
    """Summarise the standard protocol on the paper's 25 data sets."""
    cost = read("study")["standard"]["cost"]
    header = ("model", "accuracy %", "leaves", "growing", "pruning")
    place = {name: at for at, name in enumerate(cost["header"])}
    rows = []
    for row in cost["rows"]:
        seconds = [row[place[name]] for name in cost["header"] if name.endswith("(s)")]
        growing, pruning = (
            [time(s) if isinstance(s, float) else "" for s in seconds[:2]] + ["", ""]
        )[:2]
        leaves = next(row[at] for name, at in place.items() if "leaves" in name.lower())
        rows.append((str(row[0]), f"{100 * row[1]:.2f}", f"{leaves:.1f}", growing, pruning))
    return header, rows


def study_paper() -> Table:
    """Summarise the paper protocol."""
    summary = read("study")["paper"]["summary"]
    rows = []
    for row in summary["rows"]:
        share = "%" in str(row[0])
        cells = [
            (f"{100 * cell:.2f}" if share else f"{cell:.3g}") if isinstance(cell, float)
            else str(cell)
            for cell in row[1:]
        ]  # fmt: skip
        rows.append((str(row[0]), *cells))
    return summary["header"], rows


def weights() -> Table:
    """Compare weights of the score on the paper's 25 data sets."""
    rows = [
        (weight, f"{accuracy:.2f}", f"{leaves:.1f}", f"{gain:+.2f} ± {error:.2f}")
        for weight, (accuracy, leaves, gain, error) in read("weight")["entropy"].items()
    ]
    return ("weight", "accuracy %", "leaves", "accuracy minus that of 0.6, points"), rows


def constants() -> Table:
    """List the constants that cross-validation chooses."""
    results = read("calibrate")
    wine, everything = results["error-prior, wine"], results["weight, all"]
    low, high = min(wine["chosen"]), max(wine["chosen"])  # r is two to minus this
    few, many = min(everything["chosen"]), max(everything["chosen"])
    rows = [
        ("*r*", "Wine", f":math:`2^{{-{wine['mean']:.1f}}}`",
         f":math:`2^{{-{high}}}` to :math:`2^{{-{low}}}`", ":math:`2^{-10.5}`"),
        ("weight", f"all {everything['sets']} sets", f"{everything['mean']:.2f}",
         f"{few:g} to {many:g}", ""),
    ]  # fmt: skip
    return ("constant", "data", "mean of the draws", "in single draws", "in the paper"), rows


# -- unbalanced classes and probabilities ----------------------------------------------------------


def balanced_classes() -> Table:
    """Compare the default with cost-complexity pruning by balanced accuracy."""
    rows = []
    for group, result in read("default").items():
        for pair in result["paired"]:
            if (pair["ours"], pair["rival"], pair["figure"]) == (
                "default", "cost-complexity", "balanced accuracy"
            ):  # fmt: skip
                rows.append(
                    (group.removesuffix(", balanced"), f"{result['draws']}",
                     f"{pair['difference']:+.3f} ± {pair['standard error']:.3f}",
                     f"{pair['leaves']:.2f}")
                )  # fmt: skip
    header = ("table", "draws", "default minus cost-complexity", "ratio of leaves")
    return header, rows


def probabilities() -> Table:
    """Compare pruning for log-loss, the default and the unpruned tree by AUC and log-loss."""
    names = {"log-loss": "for log-loss", "default": "default", "unpruned": "unpruned"}
    rows = []
    for group, result in read("default").items():
        means = result["means"]
        if group.endswith("balanced") or not names.keys() <= means.keys():
            continue
        aucs = [f"{means[name]['AUC']:.3f}" for name in names]
        losses = [f"{means[name]['log-loss']:.3f}" for name in names]
        rows.append((group, *aucs, *losses))
    header = ("table", *(f"AUC, {n}" for n in names.values()),
              *(f"log-loss, {n}" for n in names.values()))  # fmt: skip
    return header, rows


def noise() -> Table:
    """Compare sizes and errors on noise with a little signal."""
    names = ("default", "size='accurate'", "size='small'", "weight 0.6", "cost-complexity")
    rows = []
    for group, result in read("default").items():
        if group.startswith("noise"):
            means = result["means"]
            cells = [
                f"{means[n]['error']:.2f} % ({means[n]['leaves']:,.0f})" if n in means else ""
                for n in names
            ]
            rows.append((group, *cells))
    rows.sort(key=lambda row: int(row[0].split()[1].replace(",", "")))
    return ("table", *names), rows


def estimate() -> Table:
    """List how often intervals of the estimated error contain it, and the bias of the estimate."""
    header = ("world", "tables", "contain the error", "bias in points", "width in points", "error")
    rows = [
        (world, f"{row['draws']:.0f}", f"{100 * row['coverage']:.1f} %",
         f"{100 * row['bias']:+.2f} ± {100 * row['bias_error']:.2f}", f"{100 * row['width']:.1f}",
         f"{100 * row['error']:.1f} %")
        for world, row in read("estimate").items()
    ]  # fmt: skip
    return header, rows


def certificates() -> Table:
    """Compare the kinds of certificates on the 25 data sets."""
    mean = read("certificates")["mean"]
    rows = [
        (name, f"{mean[f'{key}: certificate']:.1f} %", f"{mean[f'{key}: test error']:.1f} %",
         f"{mean[f'{key}: leaves']:.1f}", time(mean[f"{key}: seconds"]))
        for name, key in KINDS.items()
    ]  # fmt: skip
    return ("kind", "certified error", "test error", "leaves", "fit"), rows


KINDS = {"training": "decimal", "held-out": "held-out", "folds": "folds", "prior": "prior"}
SETS = {
    "iris": "iris",
    "planning_relax": "planning relax",
    "breast_cancer_wisconsin_diagnostic": "breast cancer",
    "statlog_german": "German credit",
    "spambase": "spambase",
    "mushroom": "mushroom",
}


def certificate_sets() -> Table:
    """Compare certified errors and test errors of each kind on six data sets, and on all."""
    result = read("certificates")
    tested = ("training", "folds", "prior")
    header = ("data set", *(f"{kind}, certified %" for kind in KINDS),
              *(f"{kind}, test error %" for kind in tested))  # fmt: skip
    named = [(f"{name}, {result['sets'][of]['rows']:,} rows", result["sets"][of])
             for of, name in SETS.items()]  # fmt: skip
    rows = [
        (name, *(f"{row[f'{key}: certificate']:.1f}" for key in KINDS.values()),
         *(f"{row[f'{KINDS[kind]}: test error']:.1f}" for kind in tested))
        for name, row in (*named, (f"mean of {len(result['sets'])}", result["mean"]))
    ]  # fmt: skip
    return header, rows


def certificate_kinds() -> Table:
    """Compare bound, excess, test error and time of the kinds of certificates."""
    summary = read("certificates")["summary"]
    everywhere, large = summary["all"], summary["500 training rows and more"]
    names = {
        '``"training"``': "decimal",
        '``"training"``, ``thresholds="observed"``': "observed",
        '``"held-out"``': "held-out",
        '``"folds"``': "folds",
        '``"prior"``, within 3 points': "prior",
        '``"prior"``, within 8 points': "prior, 8 points",
    }
    rows = [
        (name, f"{everywhere[key]['certificate']:.1f}", f"{everywhere[key]['excess ratio']:.2f}",
         f"{large[key]['excess ratio']:.2f}", _change(everywhere[key]),
         f"{everywhere[key]['times slower']:.1f}")
        for name, key in names.items()
    ]  # fmt: skip
    header = ("kind", "bound, %", "excess", "excess, from 500 rows on", "change, points",
              "times slower")  # fmt: skip
    return header, rows


def _change(row: dict[str, float], digits: int = 1) -> str:
    """Return the change of the test error with its standard error."""
    change = {
        "difference": row["change of test error"],
        "standard_error": row["its standard error"],
    }
    return difference(change, digits)


def thresholds() -> Table:
    """Compare the three choices of thresholds."""
    result = read("certificates")
    mean, summary = result["mean"], result["summary"]
    parts = (summary["all"], summary["500 training rows and more"])
    rows = [
        (f'``"{key}"``', f"{mean[f'{key}: test error']:.2f}", f"{mean[f'{key}: digits']:.1f}",
         f"{mean[f'{key}: certificate']:.1f}",
         *("" if key == "decimal" else _change(part[key], 2) for part in parts))
        for key in ("decimal", "midpoint", "observed")
    ]  # fmt: skip
    header = ("thresholds", "test error, %", "digits of a threshold", "certificate, %",
              "difference", "from 500 rows on")  # fmt: skip
    return header, rows


def wrong_certificates() -> Table:
    """Count the samples in which a certificate is below the true risk."""
    violations = read("certificates")["violations"]
    names = {
        "tail inversion": "tail inversion",
        "compression": "compression",
        "the smaller of both, as in ``certificate_``": "the least of both",
        "held-out rows": "held-out rows",
        "the best of three folds": "folds",
        "the tree of least bound by a prior": "prior, least limit",
        "any of the trees that the search by a prior found": "prior, any tree",
        "the best of three folds, all of delta for each": "folds, delta for each",
        "training rows used as held-out rows": "training errors alone",
    }
    rows = []
    for name, key in names.items():
        wrong = sorted(row["wrong"] for row in violations[key].values())
        few, many = f"{wrong[0]:,}", f"{wrong[-1]:,}"
        rows.append((name, few if few == many else f"{few} to {many}"))
    by_class = violations["held-out rows, drawn by class"]["rare classes"]
    rare = f"{by_class['wrong']:,} of {by_class['draws']:,}"
    rows.append(("stratified held-out rows, rare classes", rare))
    return ("bound", "wrong, of 8,000"), rows


def monitor() -> Table:
    """List the delay of the alarm for each rise of the error rate."""
    result = read("monitor")
    rows = [
        (f"to {100 * rise['rate']:.0f} %", f"{rise['median delay']:,.0f}",
         f"{rise['nine tenths within']:,.0f}")
        for rise in result["rises"]
    ]  # fmt: skip
    header = ("error rate rises", f"rows to the alarm, median of {result['runs']:,} runs",
              "in nine of ten runs at most")  # fmt: skip
    return header, rows


# -- speed -----------------------------------------------------------------------------------------


def growing() -> Table:
    """Compare the time to grow 75 leaves with scikit-learn and LightGBM."""
    rows = []
    for section in ("real columns", "nominal columns", "numbers"):
        prefix = "numbers, " if section == "numbers" else ""
        for work, seconds in read("growth")[section].items():
            ours, peer = seconds["treebound"], seconds["scikit-learn"]
            boosted = seconds.get("with Dataset")
            rows.append(
                (prefix + work, time(ours), time(peer), f"{peer / ours:.0f}",
                 "" if boosted is None else time(boosted),
                 "" if boosted is None else f"{boosted / ours:.0f}")
            )  # fmt: skip
    return ("work", "treebound", "scikit-learn", "ratio", "LightGBM", "ratio"), rows


def cores() -> Table:
    """List wall-clock times by number of threads, with LightGBM's."""
    rows = []
    result = read("cores")["milliseconds"]
    threads = list(next(iter(next(iter(result.values())).values())))
    for size, by_work in result.items():
        for work, times in by_work.items():
            if work != "xgboost":
                best = times[threads[0]] / min(times.values())
                rows.append(
                    (size.replace("x", "×"), work, *(time(times[n] / 1000) for n in threads),
                     f"{best:.1f}")
                )  # fmt: skip
    return (
        "rows × columns",
        "work",
        *(f"{n} thread{'s' * (n != '1')}" for n in threads),
        "speed-up",
    ), rows


def predicting() -> Table:
    """Compare the time to predict with scikit-learn."""
    rows = [
        (work, time(s["treebound"]), time(s["scikit-learn"]),
         f"{s['scikit-learn'] / s['treebound']:.1f}")
        for section in read("predict").values()
        for work, s in section.items()
        if "scikit-learn" in s
    ]  # fmt: skip
    return ("work", "treebound", "scikit-learn", "ratio"), rows


def pruning() -> Table:
    """List the time of pruning and of a whole fit."""
    result = read("pruning")
    link = result["weakest_link"]
    sizes = [(f"best pruning of {leaves}", row) for leaves, row in result["optimal"].items()]
    rows = [(work, time(next(iter(row.values())) / 1e3), "") for work, row in sizes]
    rows.append(
        (f"cost-complexity path of {link['leaves']:,} leaves", time(link["treebound"] / 1e3),
         f"scikit-learn {time(link['scikit-learn'] / 1e3)}: {link['ratio']:.0f} times")
    )  # fmt: skip
    rows += [
        (f"default fit, {size}", time(row["auto"] / 1e3),
         f"{row['ratio']:.1f} times a fit that only grows")
        for size, row in result["auto"].items()
    ]  # fmt: skip
    ratio = result["end_to_end"]["array ratio"]
    rows.append(
        ("fit and prune, the 25 data sets", "",
         f"scikit-learn's GridSearchCV over its path takes {ratio['geometric_mean']:.0f} times "
         f"as long (geometric mean; least {ratio['least']:.0f})")
    )  # fmt: skip
    return ("work", "treebound", "comparison"), rows


def editor() -> Table:
    """List the milliseconds from an action in the editor to the page that shows its result."""
    return ("action", "milliseconds"), [
        (action, f"{milliseconds:.0f}")
        for action, milliseconds in read("editor")["milliseconds"].items()
    ]


def search_time() -> Table:
    """List the time of a whole fit with greedy growth and with the wide search."""
    rows = [
        (f"{row['rows']:,} x {row['columns']}", f"{row.get('max_leaves', '')}",
         *(time(row[f"{labels}, {how}"]) for labels in ("tree", "noise")
           for how in ("greedy", "wide")))
        for row in read("search_time")["tables"]
    ]  # fmt: skip
    header = ("rows x columns", "``max_leaves``", "labels of a tree, greedy", "wide",
              "labels of noise, greedy", "wide")  # fmt: skip
    return header, rows


def large_data() -> Table:
    """List processor time and memory for ten million rows."""
    rows = [
        (name, f"{row['cpu_s']:.0f} s", f"{row['clock_s']:.0f} s", f"{row['peak_mb'] / 1e3:.1f} GB")
        for name, row in read("scale")["10000000"].items()
    ]
    return ("10,000,000 rows x 20 columns", "processor time", "wall time", "peak memory"), rows


TABLES: dict[str, Callable[[], Table]] = {
    "commits": commits,
    "unseen": lambda: unseen_methods("unseen_test"),
    "unseen-development": lambda: unseen_methods("unseen"),
    "unseen-groups": lambda: unseen_groups("unseen"),
    "unseen-regression": lambda: unseen_regression("unseen_regression_test"),
    "unseen-regression-development": lambda: unseen_regression("unseen_regression"),
    "equal-leaves": equal_leaves,
    "calibration-rows": calibration_rows,
    "search-development": lambda: searches("search"),
    "search": lambda: searches("search_test"),
    "study-standard": study_standard,
    "study-paper": study_paper,
    "unbalanced": unbalanced,
    "balanced-classes": balanced_classes,
    "probabilities": probabilities,
    "noise": noise,
    "certificates": certificates,
    "certificate-sets": certificate_sets,
    "certificate-kinds": certificate_kinds,
    "thresholds": thresholds,
    "wrong-certificates": wrong_certificates,
    "estimate": estimate,
    "growing": growing,
    "cores": cores,
    "predicting": predicting,
    "pruning": pruning,
    "large-data": large_data,
    "editor": editor,
    "monitor": monitor,
    "search-time": search_time,
    "weights": weights,
    "constants": constants,
}
SENTENCES: dict[str, Callable[[], str]] = {
    "unseen": lambda: unseen_commit("unseen_test"),
    "unseen-development": lambda: unseen_commit("unseen"),
    "unseen-regression": lambda: unseen_commit("unseen_regression_test"),
    "unseen-regression-development": lambda: unseen_commit("unseen_regression"),
    "equal-leaves": equal_leaves_run,
    "unbalanced": lambda: unseen_commit("unbalanced"),
    "search-development": lambda: unseen_commit("search"),
    "search": lambda: unseen_commit("search_test"),
    "cores": lambda: f"Machine: {read('cores')['machine']}.",
    "editor": lambda: measured_at("editor"),
    "monitor": lambda: measured_at("monitor"),
    "search-time": lambda: measured_at("search_time"),
}


class Results(SphinxDirective):
    """``.. results:: NAME``: a table of measured figures, and where it was measured."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the table."""
        name = self.arguments[0]
        if name not in TABLES:
            raise self.error(f"There are no results {name!r}: choose from {', '.join(TABLES)}.")
        try:
            header, rows = TABLES[name]()
        except FileNotFoundError as missing:
            script = Path(str(missing.filename)).name
            return [nodes.paragraph(text=f"Not measured yet: benchmarks/results/{script}.")]
        lines = [".. list-table::", "   :header-rows: 1", "   :class: results", ""]
        for row in (header, *rows):
            for at, cell in enumerate(row):
                lines.append(f"   {'*' if at == 0 else ' '} - {cell}")
        if name in SENTENCES:
            lines += ["", SENTENCES[name]()]
        container = nodes.container()
        self.state.nested_parse(StringList(lines, f"<results {name}>"), self.content_offset,
                                container)  # fmt: skip
        return list(container.children)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("results", Results)
    return {"parallel_read_safe": True}
