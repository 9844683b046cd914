"""The application object, how errors leave it, and the commands it loads."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, Literal, TypeVar

from cyclopts import App, CycloptsError, Group
from rich.console import Console

import treebound


def _new_app() -> App:
    return App(
        name="treebound",
        help="Decision trees that prune themselves with a generalization bound.",
        version=lambda: treebound.__version__,
        suppress_keyboard_interrupt=False,  # main says how it ended
    )


F = TypeVar("F", bound=Callable[..., Any])
app = _new_app()
console = Console()
_ISSUES = "https://github.com/treebound/treebound/issues"
_OUR_FAULT = 70  # EX_SOFTWARE of sysexits.h
theory = Group("Theory", sort_key=1)

# Every command: the module of this package that registers it, and the first line of its help. So
# `--help` and `--version` load none of them, and a command loads its own module alone.
COMMANDS: dict[str, tuple[str, str]] = {
    "check": ("training", "Show what the columns of a table look like, and what is suspicious."),
    "fit": ("fit", "Fit a tree to a table: a file, a table of DuckDB, or '-' for standard input."),
    "predict": ("predict", "Answer for every row of a table, chunk by chunk."),
    "explain": (
        "predict",
        "Say why rows get their predictions, and what would have to change for another one.",
    ),
    "evaluate": ("evaluate", "Try a model on labelled rows that were not used for fitting."),
    "certify": (
        "evaluate",
        "Print the certificate of a model: a bound on its errors on new examples.",
    ),
    "monitor": (
        "monitor",
        "Watch rows, in the order they came, against the certificate of a model.",
    ),
    "edit": ("edit", "Change the tree of a model by hand, in a browser."),
    "compare": ("evaluate", "Show where two models answer differently, and which is right."),
    "prune": ("fit", "Prune the tree of a model again."),
    "show": ("show", "Show the tree of a model as text, rules, a picture, a page, or code."),
    "completion": ("app", "Print a script that completes commands and options with Tab."),
    "data": ("data", "The 25 data sets of the paper: list, info, fetch, check."),
    "bench": ("study", "Run the study of pruners, or go on with one that was stopped."),
    "report": ("study", "Show the results of a study."),
    "vcdim": ("theory", "VC dimension of a tree shape: exact, or between two bounds."),
    "growth": (
        "theory",
        "Growth function of a tree shape: in how many ways it can label a sample, at most.",
    ),
    "partitions": (
        "theory",
        "Partitioning function of a tree shape: in how many ways it can split a sample, at most.",
    ),
    "shapes": ("theory", "Every tree shape with this many leaves, once each."),
    "witness": (
        "theory",
        "A sample of real features that a stump splits in as many ways as there can be.",
    ),
}


def examples(*lines: str) -> str:
    """The end of the help of a command."""
    return "\n".join(["Examples:", "", *(f"    {line}" for line in lines)])


def command(*lines: str, **settings: Any) -> Callable[[F], F]:
    """Register a command, with examples for its help."""
    registered: Callable[[F], F] = app.command(help_epilogue=examples(*lines), **settings)
    return registered


@command(
    "treebound completion bash > ~/.local/share/bash-completion/completions/treebound",
    "treebound completion zsh > ~/.zfunc/_treebound",
    "treebound completion fish > ~/.config/fish/completions/treebound.fish",
)
def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Print a script that completes commands and options with Tab.

    Parameters
    ----------
    shell
        The shell it is for.
    """
    load_all()
    sys.stdout.write(app.generate_completion(shell=shell))


def fail(message: str, code: int = 2) -> int:
    """Say one line on standard error; the exit code of a failed command."""
    with suppress(OSError):  # nobody may be listening
        print(f"treebound: {' '.join(str(message).split())}", file=sys.stderr)
    return code


def load_all() -> None:
    """Register every command in full."""
    for module in dict.fromkeys(module for module, _ in COMMANDS.values()):
        import_module(f"treebound.cli.{module}")


def _called(argv: Sequence[str]) -> App:
    """The application with the command that is called; with none, the names and first lines."""
    called = argv[0] if argv else ""
    if called in COMMANDS:
        import_module(f"treebound.cli.{COMMANDS[called][0]}")
        return app
    outline = _new_app()
    outline.help_epilogue = (
        "Start with 'treebound check data.csv --target NAME', then 'treebound fit'. "
        "'treebound COMMAND --help' has the options and examples."
    )
    for name, (module, words) in COMMANDS.items():
        group = theory if module == "theory" else None
        outline.command(App(name=name, help=words, group=group))
    return outline


# What the library says of a parameter or of a schema file, in the words of the shell.
_IN_OPTIONS = (
    (r'in the schema, \[read\] encoding = "([\w-]+)"', r"with --encoding \1"),
    (r"\(\[read\] separator in the schema\)", r"(--sep)"),
    (r"call the column nominal, or list the text under 'missing' in the schema",
     r"name the column with --nominal, or the text with --missing"),
    (r"\bkind='([\w-]+)'", r"--kind \1"),
    (r"name it in 'categorical_features'", r"name it with --nominal"),
    (r"give the X, y and sample_weight of fit", r"give the table of fit, and its --weight-column"),
)  # fmt: skip


def in_options(message: str) -> str:
    """A message about a parameter of the library, in the words of the shell."""

    def option(match: re.Match[str]) -> str:
        name = match[1].removeprefix("n_").replace("_", "-")
        return f"The option --{name} must"

    message = re.sub(r"^The '(\w+)' parameter(?: of \w+)? must", option, message)
    for pattern, words in _IN_OPTIONS:
        message = re.sub(pattern, words, message)
    return message


class Ended(KeyboardInterrupt):
    """SIGTERM or SIGHUP: what is open is closed and removed, as after Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.number = number


def _end(number: int, frame: object) -> None:
    signal.signal(number, signal.SIG_DFL)  # a second signal ends the process at once
    raise Ended(number)


@contextmanager
def _signals_as_errors() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block by an error, unless the process ignores them."""
    names = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")]
    changed = []
    if threading.current_thread() is threading.main_thread():
        changed = [own for own in names if own and signal.getsignal(own) == signal.SIG_DFL]
    for number in changed:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command; exit with 0, or with one clear line and 2 (70 where the fault is ours)."""
    argv = sys.argv[1:] if argv is None else list(argv)
    debug = "--debug" in argv
    with _signals_as_errors():
        code = _run([word for word in argv if word != "--debug"], debug)
    sys.exit(code)


def _run(argv: list[str], debug: bool) -> int:
    """Run a command; its exit code."""
    try:
        run = _called(argv)
        result = run(argv, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, Exception) as error:
        if debug:
            traceback.print_exc()
        return _failed(error)


def _failed(error: BaseException) -> int:
    """Say in one line why a command failed; its exit code."""
    if isinstance(error, KeyboardInterrupt):
        number = error.number if isinstance(error, Ended) else signal.SIGINT
        return fail(str(error) or "interrupted", 128 + number)
    if isinstance(error, CycloptsError):
        return fail(f"{error} Hint: see 'treebound --help'.")
    if isinstance(error, OSError):
        named = error.filename is not None and error.strerror is not None
        return fail(f"{error.filename}: {error.strerror}." if named else str(error))
    if isinstance(error, ValueError | ModuleNotFoundError):
        return fail(in_options(str(error)))
    if isinstance(error, MemoryError):
        return fail("There is not enough memory. Hint: 'treebound fit --stream' needs less.")
    return fail(
        f"This is a fault of treebound: {type(error).__name__}: {str(error)[:200]}. Hint: please "
        f"report it at {_ISSUES}, with what the same command prints with --debug.",
        _OUR_FAULT,
    )
