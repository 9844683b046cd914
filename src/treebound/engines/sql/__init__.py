"""Growing and predicting inside a database: DuckDB, Spark, and those that Ibis knows."""

from treebound.engines.sql.engine import SqlEngine
from treebound.engines.sql.predictions import (
    accuracy_in_database,
    errors_in_database,
    tested,
    with_predictions,
)
from treebound.engines.sql.relation import Relation, usable_columns
from treebound.engines.sql.rows import RelationRows

__all__ = [
    "Relation",
    "RelationRows",
    "SqlEngine",
    "accuracy_in_database",
    "errors_in_database",
    "tested",
    "usable_columns",
    "with_predictions",
]
