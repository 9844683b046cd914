"""The editor: changing a fitted tree by hand, with its figures and its certificate."""

from treebound.edit.editor import Editor
from treebound.edit.figures import Figures
from treebound.edit.shown import AlternativesDisplay
from treebound.edit.steps import Step

__all__ = ["AlternativesDisplay", "Editor", "Figures", "Step"]
