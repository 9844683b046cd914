"""LaTeX: plain ASCII, escaped, with every node and edge; compiled where there is a pdflatex."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import Case, cases, random_tree

from treebound.show import to_latex
from treebound.show.as_latex import escaped


@given(case=cases())
@settings(max_examples=40)
def test_every_node_and_edge_is_there_in_ascii(case: Case) -> None:
    written = to_latex(case.tree)
    assert written.isascii()
    assert len(re.findall(r"^\\node\[box", written, re.M)) == case.tree.n_nodes
    assert len(re.findall(r"^\\draw\[gray\]", written, re.M)) == case.tree.n_nodes - 1


@given(st.text(max_size=30))
def test_braces_balance_and_specials_are_escaped(text: str) -> None:
    written = escaped(text)
    bare = re.sub(r"\\[\\{}$&#%_^~\"'`=.]", "", written)
    assert bare.count("{") == bare.count("}")
    assert not re.search(r"[&#%_~^]", re.sub(r"\$[^$]*\$", "", bare))


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("100% & _x^2", r"100\% \& \_x\textasciicircum{}2"),
        ("naïve", r"na{\"\i}ve"),
        ("Łódź", r"\L{}{\'o}d{\'z}"),
        ("σ ≤ 3", r"$\sigma$ $\leq$ 3"),
        ("数", r"\texttt{U+6570}"),
        (r"a\b{c}", r"a\textbackslash{}b\{c\}"),
    ],
)
def test_escapes(text: str, source: str) -> None:
    assert escaped(text) == source


def test_a_depth_limit_states_how_many_nodes_it_hides() -> None:
    tree = random_tree(6, 40)
    written = to_latex(tree, max_depth=2)
    hidden = sum(map(int, re.findall(r"\.\.\. (\d+) more", written)))
    assert hidden + written.count(r"\node[box") == tree.n_nodes


@pytest.mark.heavy
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex with TikZ")
@pytest.mark.parametrize(
    ("seed", "leaves", "chain"), [(0, 12, False), (1, 60, False), (2, 150, True)]
)
def test_pdflatex_compiles_it(seed: int, leaves: int, chain: bool, tmp_path: Path) -> None:
    tree = random_tree(seed, leaves, chain=chain, n_columns=12)
    (tmp_path / "tree.tex").write_text(to_latex(tree, document=True), encoding="ascii")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tree.tex"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert made.returncode == 0, made.stdout.decode(errors="replace")[-2000:]
    assert (tmp_path / "tree.pdf").read_bytes().startswith(b"%PDF")
