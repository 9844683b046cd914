"""Tree shapes: one object per shape, in canonical form, however it was made."""

from __future__ import annotations

import copy
import gc
import pickle
from concurrent.futures import ThreadPoolExecutor
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory_support import LEAF, balanced, chain, shapes

from treebound import TreeShape
from treebound.bounds.counting import wedderburn_etherington

texts = st.recursive(
    st.just("."), lambda inner: st.builds("({}{})".format, inner, inner), max_leaves=12
)


def nested(shape: TreeShape) -> tuple | None:
    """The slow twin of a shape: tuples, unordered."""
    if shape.left is None or shape.right is None:
        return None
    return (nested(shape.left), nested(shape.right))


def measure(tree: tuple | None) -> tuple[int, int, int]:
    """Leaves, depth and symmetries by their definitions."""
    if tree is None:
        return 1, 0, 0
    (a, h, s), (b, g, t) = measure(tree[0]), measure(tree[1])
    return a + b, 1 + max(h, g), s + t + equal(*tree)


def equal(one: tuple | None, other: tuple | None) -> bool:
    if one is None or other is None:
        return one is other
    return (equal(one[0], other[0]) and equal(one[1], other[1])) or (
        equal(one[0], other[1]) and equal(one[1], other[0])
    )


def swapped(text: str) -> str:
    """The same tree with every pair of children exchanged: the text read backwards."""
    return text[::-1].translate(str.maketrans("()", ")("))


@given(texts)
def test_swapping_children_gives_the_same_object(text):
    shape = TreeShape.parse(text)
    assert TreeShape.parse(swapped(text)) is shape
    assert TreeShape.parse(str(shape)) is shape


@given(texts)
def test_counts_follow_their_definitions(text):
    shape = TreeShape.parse(text)
    assert (shape.leaves, shape.depth, shape.symmetries) == measure(nested(shape))
    assert shape.nodes == shape.leaves - 1 == text.count("(")
    assert shape.is_leaf == (text == ".")


@given(texts)
def test_canonical_form_has_the_larger_child_left(text):
    for shape in TreeShape.parse(text).subshapes():
        if shape.left is None or shape.right is None:
            continue
        left, right = shape.left, shape.right
        assert (-left.leaves, -left.depth, str(left)) <= (-right.leaves, -right.depth, str(right))


@given(texts, texts)
def test_equal_means_the_same_object(one, other):
    a, b = TreeShape.parse(one), TreeShape.parse(other)
    assert (a == b) == equal(nested(a), nested(b)) == (a is b)
    assert (hash(a) == hash(b)) or a != b


def test_symmetries_count_nodes_with_equal_children():
    assert balanced(2).symmetries == 3
    assert TreeShape.parse("((..).)").symmetries == 1
    assert LEAF.symmetries == 0


@pytest.mark.parametrize("leaves", range(1, 11))
def test_enumeration_has_every_shape_once(leaves):
    computed = list(TreeShape.enumerate(leaves=leaves))
    assert len(set(computed)) == len(computed) == wedderburn_etherington(leaves)
    assert all(shape.leaves == leaves for shape in computed)
    # Each unordered shape stands for 2^(nodes - symmetries) ordered ones.
    assert (
        sum(2 ** (shape.nodes - shape.symmetries) for shape in computed)
        == comb(2 * leaves - 2, leaves - 1) // leaves
    )


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "3", None])
def test_enumeration_refuses_what_is_no_count(bad):
    with pytest.raises(ValueError, match="'leaves' parameter must be an int >= 1"):
        TreeShape.enumerate(leaves=bad)


@pytest.mark.parametrize(
    ("text", "position", "why"),
    [
        ("", 1, "it is empty"),
        ("   ", 1, "it is empty"),
        ("(..", 1, "this '\\(' is never closed"),
        ("((..)", 1, "this '\\(' is never closed"),
        ("(.)", 3, "a node has 2 children, this has 1"),
        ("()", 2, "a node has 2 children, this has 0"),
        ("(...)", 4, "a node has 2 children, this has more"),
        ("..", 2, "nothing may follow"),
        ("(..).", 5, "nothing may follow"),
        (")", 1, "closes nothing"),
        ("(.x)", 3, "'x' is none of"),
        (". .", 3, "nothing may follow"),
    ],
)
def test_a_wrong_text_is_refused_with_the_position(text, position, why):
    with pytest.raises(ValueError, match=f"at character {position}: .*{why}"):
        TreeShape.parse(text)


@given(st.text(alphabet="().x ", max_size=12))
def test_any_text_is_a_shape_or_a_value_error(text):
    message = ""
    try:
        written = str(TreeShape.parse(text))
    except ValueError as error:
        message = str(error)
    if message:
        assert f"Not a tree shape: {text!r}, at character " in message
    else:
        assert len(written) == len("".join(text.split()))


def test_blanks_are_ignored():
    assert TreeShape.parse(" ( ( . . ) \n . ) ") is TreeShape.parse("((..).)")


@pytest.mark.parametrize("bad", [None, 3, b"(..)"])
def test_only_text_is_parsed(bad):
    with pytest.raises(TypeError, match="parsed from a string"):
        TreeShape.parse(bad)


def test_only_shapes_become_children():
    with pytest.raises(TypeError, match="'right' child must be a TreeShape"):
        TreeShape.node(LEAF, "(..)")


@given(shapes(8))
def test_copies_and_pickles_are_the_same_object(shape):
    assert pickle.loads(pickle.dumps(shape)) is shape
    assert copy.copy(shape) is shape
    assert copy.deepcopy([shape])[0] is shape
    assert eval(repr(shape), {"TreeShape": TreeShape}) is shape


def test_shapes_do_not_change():
    with pytest.raises(AttributeError, match="immutable"):
        balanced(2).leaves = 7
    with pytest.raises(TypeError, match="Use TreeShape"):
        TreeShape()


def test_a_chain_of_a_hundred_thousand_nodes():
    shape = chain(100_001)
    text = str(shape)
    assert shape.nodes == shape.depth == 100_000
    assert shape.symmetries == 1
    assert TreeShape.parse(text) is shape
    assert pickle.loads(pickle.dumps(shape)) is shape
    assert len(shape.subshapes()) == 100_001
    del shape
    gc.collect()


@given(shapes(9))
def test_subshapes_come_children_first_and_once(shape):
    computed = shape.subshapes()
    assert computed[-1] is shape
    assert len(set(computed)) == len(computed)
    place = {part: i for i, part in enumerate(computed)}
    for part in computed:
        if part.left is not None and part.right is not None:
            assert max(place[part.left], place[part.right]) < place[part]


def test_threads_make_the_same_objects():
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: chain(200), range(32)))
    assert len({id(shape) for shape in made}) == 1
