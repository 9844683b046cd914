"""The application object, how errors leave it, and the commands it loads."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module

from cyclopts import App, CycloptsError
from rich.console import Console

import treebound

__all__ = ["app", "console", "fail", "main"]

app = App(
    name="treebound",
    help="Decision trees that prune themselves with a generalization bound.",
    version=treebound.__version__,
)
console = Console()

# Modules that register commands on `app`; imported when the command line starts.
COMMANDS = ("theory", "trees", "explain", "data", "study")


def fail(message: str) -> int:
    """Say one line on standard error; the exit code of a failed command."""
    print(f"treebound: {' '.join(str(message).split())}", file=sys.stderr)
    return 2


def _in_options(message: str) -> str:
    """A message about a parameter of the library, in the words of the shell."""

    def option(found: re.Match[str]) -> str:
        name = found[1].removeprefix("n_").replace("_", "-")
        return f"The option --{name} must"

    return re.sub(r"^The '(\w+)' parameter(?: of \w+)? must", option, message)


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command; exit with 0, or with 2 and one clear line."""
    for name in COMMANDS:
        import_module(f"treebound.cli.{name}")
    try:
        result = app(
            sys.argv[1:] if argv is None else list(argv),
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
        code = result if isinstance(result, int) else 0
    except CycloptsError as error:
        code = fail(f"{error} Hint: see 'treebound --help'.")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        named = error.filename is not None and error.strerror is not None
        code = fail(f"{error.filename}: {error.strerror}." if named else str(error))
    except (ValueError, ModuleNotFoundError) as error:
        code = fail(_in_options(str(error)))
    except KeyboardInterrupt:
        fail("interrupted")
        code = 130
    sys.exit(code)
