"""To and from: a written JSON format, ONNX, scikit-learn, and other libraries' trees."""

from treebound.exchange.errors import FormatError
from treebound.exchange.imports import from_lightgbm, from_spark, from_xgboost
from treebound.exchange.json_model import SavedModel, dumps, json_schema, load, loads, save
from treebound.exchange.onnx_model import to_onnx
from treebound.exchange.sklearn_tree import from_sklearn, to_sklearn

__all__ = [
    "FormatError",
    "SavedModel",
    "dumps",
    "from_lightgbm",
    "from_sklearn",
    "from_spark",
    "from_xgboost",
    "json_schema",
    "load",
    "loads",
    "save",
    "to_onnx",
    "to_sklearn",
]
