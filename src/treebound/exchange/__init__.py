"""Model files, code, ONNX, and scikit-learn's trees."""

from treebound.exchange.c_code import to_c
from treebound.exchange.document import FormatError, json_schema
from treebound.exchange.files import load, load_regression, save
from treebound.exchange.indicators import Indicators
from treebound.exchange.model_file import dumps, loads
from treebound.exchange.onnx_model import to_onnx
from treebound.exchange.predictions import write_predictions
from treebound.exchange.python_code import to_python
from treebound.exchange.regression_document import regression_json_schema
from treebound.exchange.sklearn_tree import from_sklearn, to_sklearn
from treebound.exchange.sql_code import to_sql

__all__ = [
    "FormatError",
    "Indicators",
    "dumps",
    "from_sklearn",
    "json_schema",
    "load",
    "load_regression",
    "loads",
    "regression_json_schema",
    "save",
    "to_c",
    "to_onnx",
    "to_python",
    "to_sklearn",
    "to_sql",
    "write_predictions",
]
