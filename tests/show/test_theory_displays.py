"""The theorists' pictures: what is drawn, where, and in which colour."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from treebound import Landscape, TreeShape
from treebound.bounds.growth import log_growth
from treebound.bounds.stumps import ordinal_attribution
from treebound.show import FerrersDisplay, GrowthDisplay

pyplot = pytest.importorskip("matplotlib.pyplot")
PAPER = (6, 6, 6, 6, 5, 5, 5, 2, 2)


@pytest.fixture(autouse=True)
def close_figures():
    with pyplot.rc_context({"backend": "agg"}):
        yield
    pyplot.close("all")


def test_ferrers_diagram_has_a_cell_for_each_threshold():
    display = FerrersDisplay.from_landscape(6, PAPER)
    assert len(display.cells_) == sum(o - 1 for o in PAPER)
    places = {tuple(cell.center) for cell in display.cells_}
    assert places == {(j, i) for i, o in enumerate(PAPER) for j in range(o - 1)}


def test_cells_of_one_size_share_a_colour_and_no_other_has_it():
    attribution = ordinal_attribution(6, PAPER)
    display = FerrersDisplay(attribution).plot()
    colours = {}
    owners = [size for row in attribution.cells for size in row]
    for size, cell in zip(owners, display.cells_, strict=True):
        colours.setdefault(size, set()).add(cell.get_facecolor())
    assert all(len(used) == 1 for used in colours.values())
    assert len(set.union(*colours.values())) == len(colours) == 4  # sizes 1, 2, 3 and unused


def test_legend_and_margins_states_the_numbers_of_the_paper():
    display = FerrersDisplay.from_landscape(6, PAPER)
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["part of 1: 6 of 6", "part of 2: 15 of 15", "part of 3: 8 of 10", "not used"]
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["9", "7", "7", "7", "4"]
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == [str(o) for o in PAPER]
    assert "bound 29" in display.ax_.get_title(loc="left")


def test_landscape_gives_its_ordinal_features():
    display = FerrersDisplay.from_landscape(6, Landscape(real=2, ordinal=(3, 2), nominal=(9,)))
    assert len(display.cells_) == 3


@pytest.mark.parametrize("ordinal", [(), (1,), (2,), (40, 40)])
def test_any_diagram_can_be_rendered(ordinal, tmp_path):
    display = FerrersDisplay.from_landscape(7, ordinal)
    display.figure_.savefig(tmp_path / "diagram.png")
    assert (tmp_path / "diagram.png").stat().st_size > 1000


def test_displays_draw_in_given_axes():
    figure, (left, right) = pyplot.subplots(1, 2)
    ferrers = FerrersDisplay.from_landscape(6, PAPER, ax=left)
    growth = GrowthDisplay.from_shape(
        TreeShape.parse("(..)"), 2, Landscape(real=2), examples=[4, 8], forms=["closed"], ax=right
    )
    assert (ferrers.ax_, growth.ax_) == (left, right)
    assert ferrers.figure_ is growth.figure_ is figure


def test_growth_lines_are_the_forms():
    shape, landscape = TreeShape.parse("((..).)"), Landscape(real=3, nominal=(4,))
    display = GrowthDisplay.from_shape(shape, 3, landscape, examples=[5, 50, 500])
    assert set(display.lines_) == {"fast", "tight", "closed", "chain", "best"}
    for form, line in display.lines_.items():
        expected = [log_growth(shape, m, 3, landscape, form=form) for m in (5, 50, 500)]
        assert np.array_equal(line.get_xdata(), [5, 50, 500])
        assert np.array_equal(line.get_ydata(), expected)
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["fast", "tight", "closed", "chain", "best", "m ln n"]
    assert "((..).), 3 classes, 3 real + 1 nominal features" in display.ax_.get_title()


def test_every_form_stays_in_the_picture():
    display = GrowthDisplay.from_shape(TreeShape.parse("((..).)"), 2, Landscape(real=3))
    low, high = display.ax_.get_ylim()
    for values in display.log_growth.values():
        assert low <= values.min() <= values.max() <= high


def test_without_matplotlib_the_hint_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs matplotlib.*pip install 'matplotlib>="):
        FerrersDisplay.from_landscape(6, PAPER)
