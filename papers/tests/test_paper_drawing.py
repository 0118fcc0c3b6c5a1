"""What a reader sees of a picture: nothing stands on something else."""

from __future__ import annotations

from itertools import pairwise

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from backwater_papers.drawing import LABELS
from backwater_papers.file_measures import SOURCES
from backwater_papers.panel_style import from_zero, separate

NAMES = ["bfc, authors' code", "hpcc-no-pfc", "dcqcn", "dctcp", "expresspass", "ideal-fq"]
SIZES = [1e3, 2e3, 4e3, 8e3, 16e3, 64e3, 256e3, 1.02e6, 4.1e6]


def picture(scale: str) -> tuple[Picture, Axes]:
    picture = Picture(figsize=(3, 3))
    axes = picture.add_subplot()
    axes.set_xscale(scale)
    return picture, axes


def rows(axes: Axes) -> list[list[tuple[float, float]]]:
    """Return where the labels below an axis begin and end, by their height."""
    found: dict[int, list[tuple[float, float]]] = {}
    for label in axes.get_xticklabels():
        if label.get_visible() and label.get_text():
            lines = label.get_text().count("\n")
            extent = label.get_window_extent()
            found.setdefault(lines, []).append((extent.x0, extent.x1))
    return list(found.values())


def overlap(axes: Axes) -> bool:
    return any(b[0] < a[1] for row in rows(axes) for a, b in pairwise(row))


def test_names_that_touch_stand_in_two_rows() -> None:
    drawn, axes = picture("linear")
    axes.set_xticks(range(len(NAMES)), NAMES)
    drawn.draw_without_rendering()
    assert overlap(axes)
    separate(drawn)
    drawn.draw_without_rendering()
    assert [len(row) for row in rows(axes)] == [3, 3]
    assert [label.get_text().strip() for label in axes.get_xticklabels()] == NAMES


def test_sizes_that_touch_are_left_out() -> None:
    drawn, axes = picture("log")
    axes.minorticks_off()
    axes.plot(SIZES, SIZES)
    axes.set_xticks(SIZES, [f"{size / 1e3:g} KB" for size in SIZES])
    drawn.draw_without_rendering()
    assert overlap(axes)
    separate(drawn)
    drawn.draw_without_rendering()
    assert not overlap(axes)
    assert 3 <= sum(len(row) for row in rows(axes)) < len(SIZES)


@pytest.mark.parametrize("names", [["a", "b"], []])
def test_what_has_room_stays(names: list[str]) -> None:
    drawn, axes = picture("linear")
    axes.set_xticks(range(len(names)), names)
    separate(drawn)
    assert [label.get_text() for label in axes.get_xticklabels()] == names


def test_lines_far_from_zero_have_room_above_them() -> None:
    _, axes = picture("linear")
    axes.plot([1, 2], [9.38, 9.54])
    from_zero(axes)
    low, high = axes.get_ylim()
    assert (low, high) == (0, pytest.approx(1.05 * 9.54))


def test_nothing_but_zeros_has_an_axis() -> None:
    _, axes = picture("linear")
    axes.plot([1, 2], [0, 0])
    from_zero(axes)
    assert axes.get_ylim()[1] > 0


def test_every_kind_of_data_has_a_label() -> None:
    assert set(LABELS) == set(SOURCES)
