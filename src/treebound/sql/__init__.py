"""Growing and predicting inside a database: DuckDB, Spark, and those that Ibis knows."""

from treebound.sql.answers import accuracy, tested, with_answers
from treebound.sql.engine import SqlEngine
from treebound.sql.relation import Relation
from treebound.sql.rows import RelationRows

__all__ = ["Relation", "RelationRows", "SqlEngine", "accuracy", "tested", "with_answers"]
