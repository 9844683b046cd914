"""The application object, how errors leave it, and the commands it loads."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from typing import Any, Literal, TypeVar

from cyclopts import App, CycloptsError, Group
from rich.console import Console

import treebound
from treebound._utils.validation import Phrase, Setting, WordedError, join_parts, parts_of


def _new_app() -> App:
    return App(
        name="treebound",
        help="Fit one decision tree that people can read, check and edit, with a guarantee.",
        version=lambda: treebound.__version__,
        suppress_keyboard_interrupt=False,  # main prints how it ended
    )


F = TypeVar("F", bound=Callable[..., Any])
app = _new_app()
console = Console()
_ISSUES = "https://github.com/treebound/treebound/issues"
_OUR_FAULT = 70  # EX_SOFTWARE of sysexits.h


def examples(*lines: str) -> str:
    """The end of the help of a command."""
    return "\n".join(["Examples:", "", *(f"    {line}" for line in lines)])


research = Group("Research", sort_key=1)
STUDY = "Run the study of the paper, and show its results and data sets."
THEORY = "Compute quantities of learning theory for shapes of trees."
study_app = App(
    name="study",
    help=STUDY,
    group=research,
    help_epilogue=examples(
        "treebound study run --sets sklearn:iris data.csv:label --store mine.sqlite",
        "treebound study report mine.sqlite",
        "treebound study data list",
    ),
)
theory_app = App(
    name="theory",
    help=THEORY,
    group=research,
    help_epilogue=examples(
        'treebound theory vcdim "((..).)" --real 10', "treebound theory shapes --leaves 5"
    ),
)
app.command(study_app)
app.command(theory_app)

# Every command: the module of this package that registers it, and the first line of its help. So
# `--help` and `--version` load none of them, and a command loads its own module alone.
COMMANDS: dict[str, tuple[str, str]] = {
    "check": ("training", "Show what the columns of a table look like, and what is suspicious."),
    "fit": ("fit", "Fit a tree to a table: a file, a DuckDB table, or '-' for standard input."),
    "predict": ("predict", "Predict every row of a table, chunk by chunk."),
    "evaluate": ("evaluate", "Try a model on labelled rows that were not used for fitting."),
    "explain": (
        "predict",
        "Explain predictions: the path of a row, and the smallest change for another one.",
    ),
    "show": ("show", "Show the tree of a model as text, rules, a picture, a report, or code."),
    "edit": ("edit", "Change the tree of a model by hand, in a browser."),
    "compare": ("evaluate", "Show where the predictions of two models differ, and which is right."),
    "prune": ("fit", "Prune the tree of a model again."),
    "certify": (
        "evaluate",
        "Print the certificate of a model: a bound on its errors on new examples.",
    ),
    "monitor": (
        "monitor",
        "Watch rows, in the order they came, against the certificate of a model.",
    ),
    "completion": ("app", "Print a script that completes commands and options with Tab."),
    "study": ("study", STUDY),
    "theory": ("theory", THEORY),
}


def command(*lines: str, of: App = app, **settings: Any) -> Callable[[F], F]:
    """Register a command of the application or of a group, with examples for its help."""
    registered: Callable[[F], F] = of.command(help_epilogue=examples(*lines), **settings)
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
    """Print one line on standard error; return the exit code of a failed command."""
    with suppress(OSError):  # standard error may be closed
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
    for at, (name, (_, words)) in enumerate(COMMANDS.items()):
        group = research if name in ("study", "theory") else None
        outline.command(App(name=name, help=words, group=group, sort_key=at))
    return outline


# Options that have another name than the parameter of the library.
OPTIONS = {
    "n_jobs": "jobs",
    "random_state": "seed",
    "monotonic_cst": "monotone",
    "ordinal_features": "ordinal",
    "categorical_features": "nominal",
    "sample_weight": "weight_column",
    "separator": "sep",
}


def in_options(setting: Setting | Phrase, names: Collection[str]) -> str:
    """Return a parameter of the library as an option, if the command has options of this name."""
    if isinstance(setting, Phrase):
        return setting.command_line
    option = "--" + OPTIONS.get(setting.name, setting.name).replace("_", "-")
    if option not in names and not setting.of:
        return setting.in_python()
    if setting.python.startswith(f"{setting.name!r} parameter"):
        return f"option {option}"
    return option if setting.value is None else f"{option} {setting.value}"


def for_command_line(text: str, names: Collection[str] = ()) -> str:
    """Return a text in the words of the command line, with the options of a command."""
    return join_parts(parts_of(text), partial(in_options, names=names))


def option_names(command: App) -> set[str]:
    """Return the options of a command, and of the commands in its group."""
    names: set[str] = set()
    if command.default_command is not None:
        arguments = command.assemble_argument_collection()
        names.update(name for argument in arguments for name in argument.names)
    for name in command:
        names |= set() if name.startswith("-") else option_names(command[name])
    return names


class Ended(KeyboardInterrupt):
    """SIGTERM or SIGHUP: what is open is closed and removed, as after Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.number = number


@contextmanager
def _signals_as_errors() -> Iterator[list[Ended]]:
    """Let SIGTERM and SIGHUP end the block by an error, unless the process ignores them.

    The list has the error as soon as there is one: compiled libraries may raise another one in its
    place, as DuckDB does in a query.
    """
    ended: list[Ended] = []

    def end(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)  # a second signal ends the process at once
        ended.append(Ended(number))
        raise ended[0]

    names = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")]
    changed = []
    if threading.current_thread() is threading.main_thread():
        available = filter(None, names)
        changed = [number for number in available if signal.getsignal(number) == signal.SIG_DFL]
    for number in changed:
        signal.signal(number, end)
    try:
        yield ended
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command; exit with 0, or with one clear line and 2 (70 for a fault of treebound)."""
    argv = sys.argv[1:] if argv is None else list(argv)
    debug = "--debug" in argv
    with _signals_as_errors() as ended:
        code = _run([word for word in argv if word != "--debug"], debug, ended)
    sys.exit(code)


def _run(argv: list[str], debug: bool, ended: Sequence[Ended]) -> int:
    """Run a command; its exit code. A signal is the reason for any error that follows it."""
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
        return _failed(ended[0] if ended else error, argv)


def _failed(error: BaseException, argv: Sequence[str]) -> int:
    """Print in one line why a command failed; return its exit code."""
    if isinstance(error, KeyboardInterrupt):
        number = error.number if isinstance(error, Ended) else signal.SIGINT
        return fail(str(error) or "interrupted", 128 + number)
    if isinstance(error, CycloptsError):
        of = f" {argv[0]}" if argv and argv[0] in COMMANDS else ""
        return fail(f"{error} Hint: see 'treebound{of} --help'.")
    if isinstance(error, OSError):
        named = error.filename is not None and error.strerror is not None
        return fail(f"{error.filename}: {error.strerror}." if named else str(error))
    if isinstance(error, WordedError):
        names = option_names(app[argv[0]]) if argv[0] in COMMANDS else ()
        return fail(error.worded(partial(in_options, names=names)))
    if isinstance(error, ValueError | ModuleNotFoundError):
        return fail(str(error))
    if isinstance(error, MemoryError):
        return fail("There is not enough memory. Hint: 'treebound fit --stream' needs less.")
    return fail(
        f"This is a fault of treebound: {type(error).__name__}: {str(error)[:200]}. Hint: please "
        f"report it at {_ISSUES}, with what the same command prints with --debug.",
        _OUR_FAULT,
    )
