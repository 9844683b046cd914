"""What people see: a tree as text, rules, pictures, a page, and code in other languages."""

from treebound.show.as_c import c_code
from treebound.show.as_dot import dot
from treebound.show.as_python import python_code
from treebound.show.as_rules import Condition, Rule, Rules, rules
from treebound.show.as_sql import sql_code
from treebound.show.as_text import text

__all__ = [
    "Condition",
    "Rule",
    "Rules",
    "c_code",
    "dot",
    "python_code",
    "rules",
    "sql_code",
    "text",
]
