"""``treebound completion``."""

from __future__ import annotations

import sys
from typing import Literal

from treebound.cli.app import app, load_all

_EXAMPLES = """\
Examples:

    treebound completion bash > ~/.local/share/bash-completion/completions/treebound
    treebound completion zsh > ~/.zfunc/_treebound
    treebound completion fish > ~/.config/fish/completions/treebound.fish\
"""


@app.command(help_epilogue=_EXAMPLES)
def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Print a script that completes commands and options with Tab.

    Parameters
    ----------
    shell
        The shell it is for.
    """
    load_all()
    sys.stdout.write(app.generate_completion(shell=shell))
