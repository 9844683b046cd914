"""To and from: a written JSON format, ONNX, scikit-learn, and other libraries' trees."""

from treebound.exchange.errors import FormatError
from treebound.exchange.json_model import SavedModel, dumps, json_schema, load, loads, save
from treebound.exchange.onnx_model import to_onnx

__all__ = ["FormatError", "SavedModel", "dumps", "json_schema", "load", "loads", "save", "to_onnx"]
