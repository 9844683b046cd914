"""What people see: a tree as text, rules, pictures, a page, and code in other languages."""

from treebound.show.as_c import c_code
from treebound.show.as_dot import dot
from treebound.show.as_html import html_report
from treebound.show.as_latex import latex
from treebound.show.as_python import python_code
from treebound.show.as_rules import Condition, Rule, Rules, rules
from treebound.show.as_sql import sql_code
from treebound.show.as_text import text
from treebound.show.figure import TreeDisplay
from treebound.show.notebook import html_repr
from treebound.show.path_display import CertificateDisplay, PruningPathDisplay
from treebound.show.theory import FerrersDisplay, GrowthDisplay

__all__ = [
    "CertificateDisplay",
    "Condition",
    "PruningPathDisplay",
    "FerrersDisplay",
    "GrowthDisplay",
    "Rule",
    "Rules",
    "TreeDisplay",
    "c_code",
    "dot",
    "html_report",
    "html_repr",
    "latex",
    "python_code",
    "rules",
    "sql_code",
    "text",
]
