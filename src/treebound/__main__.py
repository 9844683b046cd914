"""``python -m treebound``."""

from treebound.cli import main

main()
