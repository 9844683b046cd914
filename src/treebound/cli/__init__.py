"""The command line: ``treebound COMMAND ...``.

Each module of this package registers its commands on :data:`app`. A wrong argument is one line on
standard error and exit code 2; so is a :class:`ValueError` or :class:`OSError` from the library,
whose messages already name what was wrong.
"""

from treebound.cli.app import app, main

__all__ = ["app", "main"]
