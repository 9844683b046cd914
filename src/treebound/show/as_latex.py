"""A tree as LaTeX: a TikZ picture with explicit positions, for any depth and any TeX."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np

from treebound.model.methods import as_any_model
from treebound.show.colours import class_colours, fill_of
from treebound.show.layout import tidy, visible
from treebound.show.words import branch_condition, node_lines, typeset
from treebound.tree import Tree
from treebound.tree.split import splits_of

# The paper is cropped to the tree by hand, so that the article class suffices.
_DOCUMENT = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage{textcomp}
\usepackage{tikz}
\newsavebox{\tree}
\begin{document}
\begin{lrbox}{\tree}
%s
\end{lrbox}
\pdfpagewidth=\dimexpr\wd\tree+8pt\relax
\pdfpageheight=\dimexpr\ht\tree+\dp\tree+8pt\relax
\pdfhorigin=4pt \pdfvorigin=4pt \hoffset=0pt \voffset=0pt
\shipout\box\tree
\end{document}
"""

_PICTURE = r"""%% needs \usepackage[T1]{fontenc}, \usepackage{textcomp} and \usepackage{tikz}
%s
\begin{tikzpicture}[x=1pt, y=1pt,
  box/.style={draw=gray, rounded corners=2pt, font=\sffamily\footnotesize, align=center,
    inner sep=3pt},
  edge label/.style={pos=0.7, fill=white, text=black, inner sep=1pt, font=\sffamily\scriptsize}]
%s
\end{tikzpicture}"""

_NARROW, _WIDE = frozenset("iljtfr.,:;|'()[]! "), frozenset("mwMW@%…")

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}", "`": r"\textasciigrave{}", "-": r"-{}", "?": r"?{}", "!": r"!{}",
    "[": r"{[}", "]": r"{]}", ",": r"{,}", "=": r"{=}", "…": r"\ldots{}", "≤": r"$\leq$",
    "≠": r"$\neq$", "≈": r"$\approx$",
}  # fmt: skip
_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0308": '"', "\u0304": "=",
    "\u0307": ".", "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0306": "u", "\u0327": "c",
    "\u0328": "k",
}  # fmt: skip
_LETTERS = {
    "ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}", "ø": r"\o{}",
    "Ø": r"\O{}", "ł": r"\l{}", "Ł": r"\L{}", "µ": r"$\mu$", "°": r"\textdegree{}",
    "–": r"\textendash{}", "—": r"\textemdash{}", "€": r"\texteuro{}", "±": r"$\pm$", "−": "$-$",
    "×": r"$\times$", "²": "$^2$",
}  # fmt: skip
_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi o pi rho varsigma "
    "sigma tau upsilon phi chi psi omega"
)


def to_latex(
    source: Any,
    *,
    document: bool = False,
    max_depth: int | None = None,
    digits: int | None = None,
) -> str:
    r"""The tree as a ``tikzpicture`` for pdflatex.

    Names are escaped. Accented Latin letters and Greek letters become LaTeX commands; other
    characters that pdflatex cannot typeset are shown by their code point, such as U+6570.

    Parameters
    ----------
    source
        See :func:`treebound.show.to_text`.
    document : bool
        Whether to write a whole document, cropped to the tree, instead of the picture alone.
    max_depth, digits
        See :func:`treebound.show.to_dot`.

    Notes
    -----
    TeX limits lengths to 16383 points, about 5.7 metres: larger trees need ``max_depth``.

    Examples
    --------
    >>> import treebound as tb
    >>> clf = tb.BoundTreeClassifier(pruning=None).fit([[0], [1]] * 3, ["no", "yes"] * 3)
    >>> print(to_latex(clf).splitlines()[10])
    \node[box, fill=fill0] (n0) at (50.2,0) {x0\\6 rows};
    """
    model = as_any_model(source, "to_latex")
    tree = model.tree
    splits = splits_of(tree, handle_unknown=model.reading.handle_unknown)
    nodes, left, right = visible(tree, max_depth)
    edge_labels = [""] * len(nodes)  # the label of the edge to each node
    labels, fills = [], []
    for place, node in enumerate(nodes):
        split = splits[node] if left[place] >= 0 else None
        labels.append(node_lines(tree, node, split))
        fills.append(fill_of(tree, node))
        if split is not None:
            for side, child in ((True, left[place]), (False, right[place])):
                edge_labels[child] = typeset(branch_condition(split, left=side, digits=digits))
    width = [
        max(36.0, *(_width(line) for line in label), 1.4 * _width(words)) + 8
        for label, words in zip(labels, edge_labels, strict=True)
    ]
    across = tidy(left, right, width=width, gap=6.0)
    named = {fill: f"fill{k}" for k, fill in enumerate(dict.fromkeys(fills))}
    lines = []
    for place, node in enumerate(nodes):
        words = r"\\".join(map(escaped, labels[place]))
        spot = f"({across[place]:.4g},{-52 * int(tree.node_depth[node])})"
        lines.append(rf"\node[box, fill={named[fills[place]]}] (n{node}) at {spot} {{{words}}};")
    for place, node in enumerate(nodes):
        for child in (left[place], right[place]):
            if child >= 0:
                words = f"node[edge label]{{{escaped(edge_labels[child])}}}"
                lines.append(rf"\draw[gray] (n{node}.south) -- {words} (n{nodes[child]}.north);")
    colours = dict(named)
    if isinstance(tree, Tree):
        lines += [line for node in nodes for line in _bar(tree, node)]
        classes = enumerate(class_colours(tree.n_classes))
        colours |= {colour: f"class{k}" for k, colour in classes}
    defined = [rf"\definecolor{{{name}}}{{HTML}}{{{c[1:]}}}" for c, name in colours.items()]
    picture = _PICTURE % ("\n".join(defined), "\n".join(lines))
    return _DOCUMENT % picture if document else picture


def _bar(tree: Tree, node: int) -> list[str]:
    """The proportions of the classes, under the box of a node."""
    shares = 36 * tree.counts[node] / (float(tree.weight[node]) or 1.0)
    begins = np.concatenate([[0.0], np.cumsum(shares)]) - 18
    foot = f"n{node}.south"
    return [
        rf"\fill[class{k}] ([shift={{({begin:.4g},-4)}}]{foot}) rectangle +({share:.4g},3);"
        for k, (begin, share) in enumerate(zip(begins.tolist(), shares.tolist(), strict=False))
        if share > 0
    ]


def _width(text: str) -> float:
    """An upper estimate of the width of a line of eight-point sans serif, in points."""
    units = (
        0.35 if c in _NARROW else 0.95 if c in _WIDE else 0.72 if c.isupper() else 0.6 for c in text
    )
    exotic = sum(not c.isascii() and _character(c).startswith(r"\texttt") for c in text)
    return 8.0 * (sum(units) + 3.4 * exotic)


def escaped(text: str) -> str:
    r"""Text as LaTeX source in ASCII."""
    return "".join(map(_character, unicodedata.normalize("NFC", text)))


def _character(char: str) -> str:
    command = _SPECIAL.get(char) or _LETTERS.get(char)
    if command is not None:
        return command
    if char.isascii():
        return char
    base = unicodedata.normalize("NFD", char)
    if len(base) == 2 and base[0].isascii() and base[1] in _ACCENTS:
        letter = rf"\{base[0]}" if base[0] in "ij" else base[0]
        accent = _ACCENTS[base[1]]
        return rf"{{\{accent}{{{letter}}}}}" if accent.isalpha() else rf"{{\{accent}{letter}}}"
    return _greek(char) or rf"\texttt{{U+{ord(char):04X}}}"


def _greek(char: str) -> str | None:
    names = _GREEK.split()
    place = ord(char) - ord("α")
    if 0 <= place < len(names):
        return f"${chr(92)}{names[place]}$" if names[place] != "o" else "o"
    capital = ord(char) - ord("Α")
    drawn = {2: "Gamma", 3: "Delta", 7: "Theta", 10: "Lambda", 13: "Xi", 15: "Pi", 18: "Sigma",
             20: "Upsilon", 21: "Phi", 23: "Psi", 24: "Omega"}  # fmt: skip
    return rf"$\{drawn[capital]}$" if capital in drawn else None
