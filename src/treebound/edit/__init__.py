"""The editor: changing a fitted tree by hand, with its figures and its certificate."""

from treebound.edit.editor import Editor, Step
from treebound.edit.figures import Figures

__all__ = ["Editor", "Figures", "Step"]
