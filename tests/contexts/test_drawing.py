"""Pictures: what is drawn, not how pretty it is."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from contexts import notebook
from contexts.hypergraphs import drawing, layout, library
from contexts.logic import satisfiability


def test_every_context_is_a_line_through_its_atoms_and_shared_atoms_have_rings():
    h = library.load("specker_bug")
    figure = drawing.greechie(h)
    axes = figure.axes[0]
    curves = [line for line in axes.lines if len(line.get_xdata()) > 1]
    circles = [line for line in axes.lines if len(line.get_xdata()) == 1]
    assert len(curves) == 7
    assert len(circles) == 13 + len(h.intertwining)
    assert {t.get_text() for t in axes.texts} == set(h.vertices)
    place = layout.layout(h)
    for context in h.contexts:  # some curve passes through all atoms of the context
        points = [np.array(place[v]) for v in context]
        gaps = [max(np.linalg.norm(c.get_xydata() - p, axis=1).min() for p in points) for c in curves]
        assert min(gaps) < 0.1


def test_a_state_fills_exactly_its_true_atoms():
    h = library.load("pentagon")
    state = satisfiability.find_state(h)
    axes = drawing.greechie(h, state).axes[0]
    filled = [m for m in axes.lines if len(m.get_xdata()) == 1 and m.get_markerfacecolor() == "black"]
    assert len(filled) == state.bit_count()


def test_the_star_of_figure_1_is_three_straight_spokes():
    place = layout.layout(library.load("bank"))
    assert place["bank"] == (0.0, 0.0)
    for sense in ("economy", "river", "seat"):
        a, b = np.array(place[sense]), np.array(place[f"{sense}'"])
        assert abs(a[0] * b[1] - a[1] * b[0]) < 1e-12  # in line with the centre


def test_atoms_are_apart():
    for name in ("cabello_18_9", "peres_57_40", "bugs_3"):
        points = np.array(list(layout.layout(library.load(name)).values()))
        gaps = np.linalg.norm(points[:, None] - points[None], axis=-1) + 9 * np.eye(len(points))
        assert gaps.min() > 1e-3 * np.ptp(points)


@pytest.mark.parametrize(
    "name", ["bank", "cabello", "hexagon", "tits", "yu_oh_25", "pentagon", "peres24_critical_20_11_a", "cycle_6"]
)
def test_no_atom_lies_near_a_foreign_line(name):
    """Six points and more from centre to line, measured on the finished picture."""
    h = library.load(name)
    figure = drawing.greechie(h)
    figure.draw_without_rendering()
    to_points = figure.axes[0].transData.transform
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata()) > 1][: len(h.contexts)]
    centres = [to_points(line.get_xydata()[0]) for line in figure.axes[0].lines if line.get_markersize() == 7]
    assert len(centres) == len(h.vertices)
    for context, line in zip(h.contexts, lines, strict=True):
        fine = to_points(np.repeat(line.get_xydata(), 2, axis=0))
        start, step = fine[:-1], np.diff(fine, axis=0)
        for vertex, centre in zip(h.vertices, centres, strict=True):
            if vertex in context:
                continue
            along = np.clip(np.sum((centre - start) * step, axis=1) / np.maximum(np.sum(step**2, axis=1), 1e-9), 0, 1)
            gap = np.linalg.norm(centre - start - along[:, None] * step, axis=1).min()
            assert gap * 72 / figure.dpi >= 6


def test_contexts_break_at_their_corners():
    """The sides of a ring are straight, so that two contexts meet at an angle in the atom that they share."""
    h = library.load("cycle_6")
    place = {v: np.array(p) for v, p in layout.layout(h).items()}
    for context in h.contexts:
        a, b, c = (place[v] for v in layout.line_order(context, place))
        assert abs(np.cross(np.append(b - a, 0), np.append(c - a, 0))[2]) < 1e-9
    shared = h.intertwining
    for v in shared:
        ends = [w for context in h.contexts if v in context for w in context if w in shared and w != v]
        one, two = (place[w] - place[v] for w in ends)
        assert abs(one @ two) < 0.9 * np.linalg.norm(one) * np.linalg.norm(two)


def test_no_two_contexts_are_drawn_alike():
    lines = drawing.greechie(library.load("peres24_critical_20_11_a")).axes[0].lines[:11]
    assert len({(line.get_color(), str(line._dash_pattern)) for line in lines}) == 11


def test_tikz(tmp_path):
    """A path per context, a circle per atom and per ring; a name with a special character is escaped."""
    h = library.load("pentagon")
    notebook.draw(h, tmp_path / "x.tex", "any")
    text = (tmp_path / "x.tex").read_text()
    assert text.count("very thick") == len(h.contexts)
    assert text.count("circle (2.8pt)") == len(h.vertices)
    assert text.count("circle (4.5pt)") == len(h.intertwining)
    assert text.count("fill=black") == satisfiability.find_state(h).bit_count()
    notebook.draw(h.relabel([f"v_{k}" for k in range(len(h.vertices))]), tmp_path / "y.tex")
    assert r"{v\_0}" in (tmp_path / "y.tex").read_text()


def test_svg_is_the_same_every_time(tmp_path):
    for name in ("a.svg", "b.svg"):
        notebook.draw("pentagon", tmp_path / name, "any")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_heat_map_shows_the_table():
    table = np.array([[0, 1.5], [1.5, 0]])
    axes = drawing.heat_map(table, ["A", "B"]).axes[0]
    assert np.array_equal(axes.images[0].get_array(), table)
    assert {t.get_text() for t in axes.texts} == {"0", "1.5"}


@pytest.mark.parametrize(
    ("state", "words"),
    [("a1,zz", "'zz', which is not an atom"), ("a1,a2", "not the true atoms"), ("any", "no two-valued state")],
)
def test_states_that_cannot_be_drawn(tmp_path, state, words):
    name = "cabello" if state == "any" else "pentagon"
    with pytest.raises(ValueError, match=words):
        notebook.draw(name, tmp_path / "x.svg", state)


def test_unknown_picture_format(tmp_path):
    with pytest.raises(ValueError, match="ending must be one of"):
        notebook.draw("bank", tmp_path / "x.xyz")


@pytest.mark.parametrize("name", ["pentagon", "bank", "specker_bug", "cabello", "cycle_8", "kcbs"])
def test_no_name_touches_its_own_atom_or_ring(name):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = drawing.greechie(library.load(name))
    FigureCanvasAgg(figure).draw()
    axes = figure.axes[0]
    for text in axes.texts:
        centre = axes.transData.transform(text.xy)
        box = text.get_window_extent()
        gap = [max(box.x0 - centre[0], 0, centre[0] - box.x1), max(box.y0 - centre[1], 0, centre[1] - box.y1)]
        assert np.hypot(*gap) > 6 * figure.dpi / 72  # a ring of 11 points across, and its line


@pytest.mark.parametrize("name", ["mermin", "witting"])
def test_no_label_of_the_heat_map_is_cut(name):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    result = notebook.commute(name)
    figure = drawing.heat_map(result["norms"], result["labels"], "‖[A, B]‖")
    FigureCanvasAgg(figure).draw()
    axes = figure.axes[0]
    for ticks in (axes.get_xticklabels(), axes.get_yticklabels()):
        if name == "mermin":
            assert [" ".join(t.get_text().split()) for t in ticks] == result["labels"]
        assert not any("…" in t.get_text() for t in ticks)
        boxes = [t.get_window_extent() for t in ticks]
        assert all(b.x0 >= 0 and b.y0 >= 0 and b.x1 <= figure.bbox.x1 and b.y1 <= figure.bbox.y1 for b in boxes)
        assert not any(a.overlaps(b) for a, b in pairwise(boxes))
