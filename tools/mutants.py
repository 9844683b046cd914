"""Change the code at random places and count how many changes the closest tests notice.

    python tools/mutants.py [--mutants 100] [--seed 0] [--jobs 1] [--match TEXT] [--output FILE]
    python tools/mutants.py --again FILE       # only the survivors of a former run

A mutant is one small change in one module: another comparison, another constant, a negated
condition, a dropped statement. It is written to a temporary file and imported in place of the
module; no source file is changed. A mutant is killed if a test fails or does not end in time.
Survivors are listed with their place: each is a test to write, or a change without effect. Texts of
messages and the argument ``strict`` of zip (an assertion) are not changed, nor is what
``WITHOUT_EFFECT`` lists.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "treebound"
SECONDS = 240  # for the tests of one mutant

# Modules, and the tests that are closest to them; tests come in the order they are run.
TESTS = {
    "data/draws.py": ["data/test_draws.py", "estimators/test_draws.py",
                      "certificate/test_held_out.py", "certificate/test_folds.py",
                      "edit/test_certificates.py"],
    "data/parts.py": ["data/test_parts.py", "data/test_memory_and_stream.py"],
    "data/spill.py": ["data/test_spill.py", "growing/test_shards.py",
                      "data/test_memory_and_stream.py", "estimators/test_streams.py"],
    "certificate/row_record.py": ["certificate/test_row_record.py",
                                  "certificate/test_stated_values.py",
                                  "certificate/test_messages.py", "certificate/test_kinds.py"],
    "certificate/held_out.py": ["certificate/test_held_out.py", "certificate/test_folds.py",
                                "certificate/test_kinds.py", "certificate/test_stated_values.py"],
    "certificate/certificate.py": ["certificate/test_certificate.py", "certificate/test_kinds.py",
                                   "certificate/test_by_class.py",
                                   "certificate/test_stated_values.py"],
    "certificate/training.py": ["certificate/test_certificate.py",
                                "certificate/test_stated_values.py",
                                "certificate/test_messages.py", "certificate/test_kinds.py"],
    "certificate/by_class.py": ["certificate/test_by_class.py", "certificate/test_kinds.py",
                                "certificate/test_stated_values.py"],
    "certificate/prior.py": ["certificate/test_prior.py", "certificate/test_kinds.py",
                             "certificate/test_stated_values.py"],
    "certificate/mean_cost.py": ["certificate/test_mean_cost.py",
                                 "certificate/test_stated_values.py"],
    "certificate/abstention.py": ["certificate/test_abstention.py", "certificate/test_kinds.py",
                                  "certificate/test_stated_values.py"],
    "certificate/monitor.py": ["certificate/test_monitor.py", "cli/test_certificates.py",
                               "certificate/test_stated_values.py"],
    "exchange/model_file.py": ["exchange/test_model_file.py", "exchange/test_saved_models.py",
                               "exchange/test_no_values_leak.py", "certificate/test_kinds.py"],
}  # fmt: skip

# Changes that no test can notice: module, a text of the line, kind of change, reason.
WITHOUT_EFFECT = (
    ("certificate/prior.py", "return 1.2e6 + 25.0 *", "constant", "a budget of time"),
    ("certificate/monitor.py", "lower = lowest <= least", "comparison", "sums are never equal"),
    ("data/draws.py", "assigned.simple and k > 1", "constant", "a shorter way to the same folds"),
    ("certificate/mean_cost.py", "- log(len(each)) >= needed", "comparison", "as in the monitor"),
    ("certificate/prior.py", "if tree.left[node] < 0:", "comparison", "the root is no child"),
    ("certificate/prior.py", "if total else 1.0", "constant", "the scale of costs that are all 0"),
)

# Installed in place of a module, in the tests and in the processes that they start.
LOADER = """
import importlib.util, os, sys
name, path = os.environ["TREEBOUND_MUTANT"].split("=", 1)
class Finder:
    @staticmethod
    def find_spec(fullname, path_=None, target=None):
        if fullname == name:
            return importlib.util.spec_from_file_location(fullname, path)
sys.meta_path.insert(0, Finder)
"""

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


class Mutant(NamedTuple):
    """A change of a module."""

    module: str
    line: int
    change: str
    text: str  # of the changed module


class Result(NamedTuple):
    """A mutant, and the test that noticed it; None for a survivor."""

    mutant: Mutant
    killed_by: str | None


def changes(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Yield nodes that can be changed, and how; not in messages, annotations or docstrings."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        hidden: list[ast.AST | None] = []
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
            hidden = [node]
        elif isinstance(node, ast.FunctionDef):
            hidden = [node.returns, *node.decorator_list] if node.name != "__repr__" else [node]
        elif isinstance(node, ast.AnnAssign | ast.arg):
            hidden = [node.annotation]
        elif (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING") or (
            isinstance(node, ast.keyword) and node.arg == "strict"
        ):
            hidden = [node]
        for root in hidden:
            skipped |= {id(inner) for inner in ast.walk(root)} if root is not None else set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
            yield node, "comparison"
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
            yield node, "constant"
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            yield node, "branch"
        elif (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)) or isinstance(
            node, ast.AugAssign
        ):
            yield node, "dropped statement"


def changed(tree: ast.Module, index: int) -> tuple[str, int, str]:
    """Return the text of a module with one change, its line, and the change in words."""
    mutated = copy.deepcopy(tree)
    node, kind = list(changes(mutated))[index]
    before = ast.unparse(node).splitlines()[0]
    if isinstance(node, ast.Compare):
        node.ops[0] = COMPARISONS[type(node.ops[0])]()
    elif isinstance(node, ast.Constant):
        value = node.value
        assert isinstance(value, bool | int | float)
        node.value = not value if isinstance(value, bool) else value + 1
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    else:
        _drop(mutated, node)
        return ast.unparse(ast.fix_missing_locations(mutated)), _line(node), f"{kind}: {before}"
    after = ast.unparse(ast.fix_missing_locations(node)).splitlines()[0]
    return ast.unparse(mutated), _line(node), f"{kind}: {before}  ->  {after}"


def _without_effect(module: str, line: str, kind: str) -> bool:
    return any(
        (module, kind) == (name, change) and text in line
        for name, text, change, _ in WITHOUT_EFFECT
    )


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


def _drop(tree: ast.Module, statement: ast.AST) -> None:
    for node in ast.walk(tree):
        for _, values in ast.iter_fields(node):
            if isinstance(values, list) and statement in values:
                values[values.index(statement)] = ast.Pass()


def mutants(number: int, seed: int, match: str = "") -> list[Mutant]:
    """Draw places of all modules together; a place is drawn again if its line did not change."""
    texts = {name: (SOURCE / name).read_text("utf-8") for name in TESTS if match in name}
    trees = {name: ast.parse(text) for name, text in texts.items()}
    places, seen = [], Counter[str]()
    for name, tree in trees.items():
        lines = texts[name].splitlines()
        for at, (node, kind) in enumerate(changes(tree)):
            source = lines[_line(node) - 1].strip()
            if not _without_effect(name, source, kind):
                place = f"{seed} {name} {source} {kind} {ast.unparse(node)}"
                seen[place] += 1
                rank = blake2b(f"{place} {seen[place]}".encode()).digest()
                places.append((rank, name, at))
    result = []
    for name, at in sorted((name, at) for _, name, at in sorted(places)[:number]):
        text, line, change = changed(trees[name], at)
        result.append(Mutant(name, line, change, text))
    return result


def run(mutant: Mutant) -> Result:
    """Run the closest tests on a mutant until one fails."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mutant.py")
        path.write_text(mutant.text, encoding="utf-8")
        Path(folder, "sitecustomize.py").write_text(LOADER, encoding="utf-8")
        module = "treebound." + mutant.module.removesuffix(".py").replace("/", ".")
        environment = {
            **os.environ,
            "TREEBOUND_MUTANT": f"{module}={path}",
            "PYTHONPATH": os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")])),
        }
        tests = [str(ROOT / "tests" / name) for name in TESTS[mutant.module]]
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
        command = [sys.executable, "-m", "pytest", *options, "-m", "not heavy and not browser"]
        try:
            done = subprocess.run(
                [*command, *tests], cwd=ROOT, env=environment, capture_output=True, text=True,
                timeout=SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Result(mutant, f"no end within {SECONDS} s")
    if done.returncode == 0:
        return Result(mutant, None)
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return Result(mutant, failed[0][:200] if failed else f"exit code {done.returncode}")


def main() -> int:
    """Run the mutants and print the survivors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--mutants", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--match", default="", help="only modules whose path contains this text")
    parser.add_argument("--again", type=Path, help="results of --output: run its survivors")
    parser.add_argument("--output", type=Path, help="a JSON file of all results")
    options = parser.parse_args()
    drawn, results = mutants(options.mutants, options.seed, options.match), []
    if options.again is not None:
        former = json.loads(options.again.read_text(encoding="utf-8"))
        survived = {(row["module"], row["change"]) for row in former if row["killed_by"] is None}
        drawn = [mutant for mutant in drawn if (mutant.module, mutant.change) in survived]
    with ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(run, drawn):
            results.append(result)
            mutant = result.mutant
            word = "SURVIVED" if result.killed_by is None else "killed"
            print(
                f"{len(results):3} {word:9}{mutant.module}:{mutant.line} {mutant.change}",
                flush=True,
            )
    survivors = sum(result.killed_by is None for result in results)
    print(f"{len(results) - survivors} of {len(results)} mutants are killed.")
    if options.output is not None:
        rows = [{**result.mutant._asdict(), "killed_by": result.killed_by} for result in results]
        for row in rows:
            del row["text"]
        options.output.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
