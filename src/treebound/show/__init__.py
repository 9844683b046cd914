"""Text, rules, figures and reports of trees."""

from treebound.show.as_dot import to_dot
from treebound.show.as_html import to_html
from treebound.show.as_latex import to_latex
from treebound.show.as_rules import NumberRule, Region, Rule, Rules, to_rules
from treebound.show.as_text import to_notebook, to_text
from treebound.show.compare import Comparison, Disagreement, compare
from treebound.show.compare_numbers import NumberComparison, NumberDisagreement
from treebound.show.explain import Change, Counterfactual, Explanation, PathStep, explain
from treebound.show.explain_numbers import NumberCounterfactual, NumberExplanation
from treebound.show.figure import TreeDisplay
from treebound.show.path_display import CertificateDisplay, PruningPathDisplay, WeightChoiceDisplay
from treebound.show.subgroups import SubgroupComparison, SubgroupRate
from treebound.show.theory import FerrersDisplay, GrowthDisplay

__all__ = [
    "CertificateDisplay",
    "Change",
    "Comparison",
    "Counterfactual",
    "Disagreement",
    "Explanation",
    "FerrersDisplay",
    "GrowthDisplay",
    "NumberComparison",
    "NumberCounterfactual",
    "NumberDisagreement",
    "NumberExplanation",
    "NumberRule",
    "PruningPathDisplay",
    "Region",
    "Rule",
    "Rules",
    "PathStep",
    "SubgroupComparison",
    "SubgroupRate",
    "TreeDisplay",
    "compare",
    "explain",
    "to_dot",
    "to_html",
    "to_latex",
    "to_notebook",
    "to_rules",
    "to_text",
    "WeightChoiceDisplay",
]
