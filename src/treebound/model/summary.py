"""The summary of a model in words: the estimated error first, then what is certified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treebound._utils.validation import WordedText, as_clause, parts_of
from treebound.certificate.certificate import Certificate, bound_percent

if TYPE_CHECKING:
    from treebound.model.model import Model
    from treebound.pruning.estimate import SizeEstimate

# A tree of more leaves comes with an offer of smaller ones.
MANY_LEAVES = 30
# The page of the documentation that compares the kinds of certificates.
GUIDE_PAGE = "Certificates"


def percent(share: float) -> str:
    """A share in percent, with one decimal."""
    return f"{100 * share:.1f} %"


def headline(model: Model) -> str:
    """The estimated error, the baseline and the certified error: the first sentences everywhere."""
    return WordedText(f"{_estimated(model)} ", *parts_of(_certified(model)))


def summary_lines(model: Model) -> list[str]:
    """The mean cost if there are costs, the headline, the size, and smaller trees if it is large.

    Errors come second if they differ in cost.
    """
    tree = model.tree
    lines = [*cost_estimate(model), headline(model), *class_estimates(model)]
    leaves = "1 leaf" if tree.n_leaves == 1 else f"{tree.n_leaves:,} leaves"
    grown = "" if model.grown is tree else f" of {model.grown.n_leaves:,} grown"
    lines.append(f"{leaves}{grown}, depth {tree.depth}, {int(tree.rows[0]):,} training rows.")
    offer = smaller_trees(model)
    return [*lines, offer] if offer else lines


def summary_values(model: Model) -> dict[str, Any]:
    """The facts of the summary as plain values for JSON."""
    estimate, certificate = model.estimate, model.certificate
    return {
        "summary": summary_lines(model),
        "leaves": model.tree.n_leaves,
        "rows": int(model.tree.rows[0]),
        "estimate": None if estimate is None else estimate.as_dict(),
        "no_estimate": model.no_estimate,
        "certificate": None if certificate is None else certificate.as_dict(),
        "no_certificate": model.certificate_reason,
    }


def size_in_words(size: SizeEstimate) -> str:
    """``12 leaves: +0.4 points``, the difference of the estimated errors; or the mean cost."""
    leaves = "1 leaf" if size.leaves == 1 else f"{size.leaves:,} leaves"
    if size.mean_cost is not None:
        return f"{leaves}: mean cost {size.mean_cost:.4g}"
    return f"{leaves}: {points(size.difference)}"


def points(difference: float) -> str:
    """Return a difference of shares in percentage points, such as ``+0.4 points``."""
    rounded = round(100 * difference, 1)
    return f"{rounded:+.1f} points" if rounded else "0.0 points"


def smaller_trees(model: Model) -> str:
    """The offer of smaller trees in one line; empty for a small tree."""
    sizes = smaller_sizes(model)
    return f"Smaller trees: {'; '.join(map(size_in_words, sizes))}." if sizes else ""


def smaller_sizes(model: Model) -> list[SizeEstimate]:
    """The sizes to offer for a tree of many leaves, the largest first; none for a small tree."""
    estimate, leaves = model.estimate, model.tree.n_leaves
    if estimate is None or leaves <= MANY_LEAVES:
        return []
    return [size for size in reversed(estimate.sizes) if 2 < size.leaves < leaves]


def _estimated(model: Model) -> str:
    estimate, listed = model.estimate, model.size_estimate
    if estimate is not None:
        return str(estimate)
    counts, classes = model.tree.counts[0], model.classes.tolist()
    most = int(counts.argmax())
    total = float(counts.sum())
    baseline = _baseline(1.0 - float(counts[most]) / total if total else 0.0, classes[most])
    fitted = model.evidence.estimate
    if listed is not None and fitted is not None:
        return f"Estimated error {percent(listed.error)} ({fitted.method}; {baseline})."
    return f"No estimate: {model.no_estimate} ({baseline})."


def _baseline(error: float, label: Any) -> str:
    return f"baseline {percent(error)}, always {label!r}"


def _certified(model: Model) -> str:
    certificate = model.certificate
    if certificate is None:
        reason = as_clause(model.certificate_reason or "")
        return WordedText("No certificate: ", *reason.parts)
    if not certificate.useful:
        return (
            f"{no_guarantee(model, certificate)}; the guide page '{GUIDE_PAGE}' compares the kinds."
        )
    return f"Certified: {certified_error(certificate)}."


def no_guarantee(model: Model, certificate: Certificate) -> str:
    """``No useful guarantee from 900 training rows``."""
    of = "" if model.costs is None else " of the error rate"
    role = {"held-out": "calibration rows", "training": "training rows"}
    return f"No useful guarantee{of} from {certificate.m:,} {role.get(certificate.kind, 'rows')}"


def certified_error(certificate: Certificate) -> str:
    """``at most 23.9 % with 95 % confidence``."""
    confidence = f"{100 * certificate.confidence:.6g} %"
    return f"at most {bound_percent(certificate.risk)} with {confidence} confidence"


def cost_estimate(model: Model) -> list[str]:
    """The estimated mean cost in a line; nothing without costs."""
    estimate = model.estimate
    if estimate is None or estimate.mean_cost is None or estimate.baseline_cost is None:
        return []
    return [
        f"Estimated mean cost {estimate.mean_cost:.4g} (baseline {estimate.baseline_cost:.4g}, "
        "the cheapest constant prediction)."
    ]


def class_estimates(model: Model) -> list[str]:
    """The estimate that class weights add, in a line; nothing without them."""
    estimate = model.estimate
    if estimate is None or estimate.balanced_accuracy is None:
        return []
    share = percent(estimate.balanced_accuracy)
    return [f"Estimated balanced accuracy {share}, the mean recall of the classes."]
