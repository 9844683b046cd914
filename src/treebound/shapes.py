"""Unordered binary tree shapes.

A shape is a decision tree without its tests and labels. Two shapes are equal if swapping children
turns one into the other. Equal shapes are the same object (hash-consing), so that comparing them
and using them as keys is fast.

======================  ==========================================================
written                 meaning
======================  ==========================================================
``.``                   a leaf
``(XY)``                an inner node with the children ``X`` and ``Y``
======================  ==========================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from threading import Lock
from typing import ClassVar
from weakref import WeakValueDictionary

from treebound._utils.frozen import set_fields
from treebound._utils.validation import as_int


class TreeShape:
    """An unordered binary tree shape, in canonical form and unique per shape.

    The left child is the one with more leaves; ties are broken by depth, then by text.
    Use :meth:`leaf`, :meth:`node`, :meth:`parse` or :meth:`enumerate` to get one.

    Attributes
    ----------
    left, right : TreeShape or None
        The children; None for a leaf.
    leaves : int
        Number of leaves.
    depth : int
        Longest path from the root to a leaf; 0 for a leaf.
    symmetries : int
        Inner nodes whose two children are equal; the shape has ``2**symmetries`` automorphisms.

    Examples
    --------
    >>> import treebound as tb
    >>> shape = tb.TreeShape.parse("(.(..))")
    >>> str(shape), shape.leaves, shape.depth, shape.symmetries
    ('((..).)', 3, 2, 1)
    >>> shape is tb.TreeShape.parse("((..).)")
    True
    >>> [str(s) for s in tb.TreeShape.enumerate(leaves=4)]
    ['((..)(..))', '(((..).).)']
    """

    __slots__ = ("__weakref__", "_text", "depth", "leaves", "left", "right", "symmetries")

    left: TreeShape | None
    right: TreeShape | None
    leaves: int
    depth: int
    symmetries: int
    _text: str | None

    # Equal shapes are one object, so that they are compared and hashed by identity.
    _pool: ClassVar[WeakValueDictionary[tuple[int, int], TreeShape]] = WeakValueDictionary()
    _leaf: ClassVar[TreeShape | None] = None
    _lock: ClassVar[Lock] = Lock()

    def __init__(self) -> None:
        raise TypeError("Use TreeShape.leaf(), .node(left, right), .parse(text) or .enumerate().")

    @classmethod
    def _make(cls, left: TreeShape | None, right: TreeShape | None) -> TreeShape:
        self = object.__new__(cls)
        leaves, depth, symmetries = 1, 0, 0
        if left is not None and right is not None:
            leaves = left.leaves + right.leaves
            depth = 1 + max(left.depth, right.depth)
            symmetries = left.symmetries + right.symmetries + (left is right)
        set_fields(
            self, left=left, right=right, leaves=leaves, depth=depth, symmetries=symmetries,
            _text=None,
        )  # fmt: skip
        return self

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"TreeShape is immutable; cannot set {name!r}.")

    @classmethod
    def leaf(cls) -> TreeShape:
        """The shape of a single leaf.

        Examples
        --------
        >>> print(TreeShape.leaf())
        .
        """
        if cls._leaf is None:
            cls._leaf = cls._make(None, None)
        return cls._leaf

    @classmethod
    def node(cls, left: TreeShape, right: TreeShape) -> TreeShape:
        """The shape of a node with two children.

        Parameters
        ----------
        left, right : TreeShape
            The children, in either order.

        Raises
        ------
        TypeError
            If a child is not a shape.

        Examples
        --------
        >>> leaf = TreeShape.leaf()
        >>> print(TreeShape.node(leaf, TreeShape.node(leaf, leaf)))
        ((..).)
        """
        for name, child in (("left", left), ("right", right)):
            if not isinstance(child, TreeShape):
                raise TypeError(f"The {name!r} child must be a TreeShape. Got {child!r} instead.")
        if left is not right and not _comes_first(left, right):
            left, right = right, left
        # A shape keeps its children alive, so their ids are valid as long as the entry exists.
        key = (id(left), id(right))
        with cls._lock:
            shape = cls._pool.get(key)
            if shape is None:
                shape = cls._pool[key] = cls._make(left, right)
        return shape

    @classmethod
    def parse(cls, text: str) -> TreeShape:
        """Read a shape written with ``.`` for a leaf and ``(XY)`` for a node; blanks are ignored.

        Parameters
        ----------
        text : str
            The shape.

        Raises
        ------
        TypeError
            If ``text`` is not a string.
        ValueError
            If the text is not a shape; the message names the position.

        Examples
        --------
        >>> TreeShape.parse("( . (..) )")
        TreeShape.parse('((..).)')
        """
        if not isinstance(text, str):
            raise TypeError(f"A shape is parsed from a string. Got {text!r} instead.")
        stack: list[list[TreeShape]] = [[]]
        opened: list[int] = []
        for at, char in enumerate(text):
            if char.isspace():
                continue
            if len(stack) == 1 and stack[0]:
                raise _parse_error(text, at, "the shape is complete, nothing may follow it")
            if char == "(":
                stack.append([])
                opened.append(at)
                continue
            if char == ".":
                done = cls.leaf()
            elif char == ")":
                if not opened:
                    raise _parse_error(text, at, "')' closes nothing")
                children = stack.pop()
                opened.pop()
                if len(children) != 2:
                    raise _parse_error(text, at, f"a node has 2 children, this has {len(children)}")
                done = cls.node(*children)
            else:
                raise _parse_error(text, at, f"{char!r} is none of '.', '(' and ')'")
            stack[-1].append(done)
            if len(stack) > 1 and len(stack[-1]) > 2:
                raise _parse_error(text, at, "a node has 2 children, this has more")
        if opened:
            raise _parse_error(text, opened[-1], "this '(' is never closed")
        if not stack[0]:
            raise _parse_error(text, 0, "it is empty")
        return stack[0][0]

    @classmethod
    def enumerate(cls, leaves: int) -> Iterator[TreeShape]:
        """Every shape with that many leaves, once each, the most balanced first.

        Their number is the Wedderburn-Etherington number of ``leaves``.

        Parameters
        ----------
        leaves : int
            Number of leaves, at least 1.

        Raises
        ------
        ValueError
            If ``leaves`` is not an int of at least 1.

        Examples
        --------
        >>> [str(shape) for shape in TreeShape.enumerate(3)]
        ['((..).)']
        """
        return iter(_all_shapes(as_int("leaves", "", leaves, 1)))

    @property
    def nodes(self) -> int:
        """Number of inner nodes, one less than leaves."""
        return self.leaves - 1

    @property
    def is_leaf(self) -> bool:
        """Return True if this is the shape of a single leaf."""
        return self.left is None

    def subshapes(self) -> list[TreeShape]:
        """The distinct shapes in this one, children before parents, itself last.

        Examples
        --------
        >>> [str(shape) for shape in TreeShape.parse("((..)(..))").subshapes()]
        ['.', '(..)', '((..)(..))']
        """
        seen: set[int] = set()
        result: list[TreeShape] = []
        stack: list[tuple[TreeShape, bool]] = [(self, False)]
        while stack:
            shape, ready = stack.pop()
            if id(shape) in seen:
                continue
            if ready or shape.left is None or shape.right is None:
                seen.add(id(shape))
                result.append(shape)
            else:
                stack += [(shape, True), (shape.right, False), (shape.left, False)]
        return result

    def __str__(self) -> str:
        text = self._text
        if text is None:
            # A stack, not recursion: a chain of any depth can be written.
            parts: list[str] = []
            stack: list[TreeShape | str] = [self]
            while stack:
                part = stack.pop()
                if isinstance(part, str):
                    parts.append(part)
                elif part.left is None or part.right is None:
                    parts.append(".")
                else:
                    stack += [")", part.right, part.left, "("]
            text = "".join(parts)
            set_fields(self, _text=text)  # a cache
        return text

    def __repr__(self) -> str:
        return f"TreeShape.parse({str(self)!r})"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return TreeShape.parse, (str(self),)


def children(shape: TreeShape) -> tuple[TreeShape, TreeShape]:
    """Both subtrees of a shape that is not a leaf."""
    left, right = shape.left, shape.right
    if left is None or right is None:
        raise ValueError("A leaf has no children.")
    return left, right


def _comes_first(first: TreeShape, second: TreeShape) -> bool:
    """Return True if ``first`` is the left child of the canonical form."""
    if first.leaves != second.leaves:
        return first.leaves > second.leaves
    if first.depth != second.depth:
        return first.depth > second.depth
    return str(first) < str(second)


def _parse_error(text: str, at: int, why: str) -> ValueError:
    return ValueError(f"Not a tree shape: {text!r}, at character {at + 1}: {why}.")


@cache
def _all_shapes(leaves: int) -> tuple[TreeShape, ...]:
    if leaves == 1:
        return (TreeShape.leaf(),)
    result = []
    for small in range(leaves // 2, 0, -1):
        for i, left in enumerate(_all_shapes(leaves - small)):
            partners = _all_shapes(small)
            if small == leaves - small:
                partners = partners[i:]
            result += [TreeShape.node(left, right) for right in partners]
    return tuple(result)
