import itertools
import re
import time

import polars as pl
import pytest
import synthetic_audit as tables

from interp.errors import BadInput
from interp.figures import theme
from interp.figures.question_map import question_map, question_map_pair

LABEL_PIXELS = 17


def cells(figure, index=0):
    """The heat map of a figure, its cells in reading order without the empty ones at the end."""
    heat = [t for t in figure.data if t.type == "heatmap"][index]
    flat = list(zip(itertools.chain(*heat.z), itertools.chain(*heat.customdata), strict=True))
    return heat, [(z, note) for z, note in flat if z is not None]


def state_labels(figure, axis="y domain"):
    """Text of each state's label, and its place in pixels from the top of its map."""
    shown = [a for a in figure.layout.annotations if a.yref == axis and "<b>" in a.text and a.y < 1]
    return [(a.text, (1 - a.y) * map_height(figure)) for a in shown]


def map_height(figure):
    domain = figure.layout.yaxis.domain or (0, 1)
    margin = figure.layout.margin
    return (domain[1] - domain[0]) * (figure.layout.height - margin.t - margin.b)


def colour_of(heat, z):
    """The colour of the nearer end of the stretch that a value falls into."""
    stretch = int(z)
    (_, pale), (_, full) = heat.colorscale[2 * stretch : 2 * stretch + 2]
    assert (heat.zmin, heat.zmax) == (0, len(heat.colorscale) / 2)
    assert min(z - stretch, stretch + 1 - z) < 0.05
    return full if z - stretch > 0.5 else pale


def by_id(table):
    return {row["id"]: row for row in table.iter_rows(named=True)}


@pytest.mark.parametrize("n", [1, 2, 40, 500])
def test_every_question_has_one_cell_in_the_order_of_state_and_rate(n):
    table = tables.question_table(n)
    _, drawn = cells(question_map(table, probe="sampling"))
    ids = [note[0].split(" ")[0] for _, note in drawn]
    assert sorted(ids) == sorted(table["id"])
    rows = [by_id(table)[i] for i in ids]
    order = [(tables.STATES.index(r["state"]), r["rate"] is None, -(r["rate"] or 0)) for r in rows]
    assert order == sorted(order)


def test_a_cell_has_the_colour_of_its_state_paler_with_few_right_attempts():
    states = [s for s in tables.STATES for _ in range(3)]
    table = tables.question_table(12).with_columns(
        state=pl.Series(states), rate=pl.Series([1.0, 0.0, None] * 4, dtype=pl.Float64)
    )
    heat, drawn = cells(question_map(table, probe="sampling"))
    found = [colour_of(heat, z) for z, _ in drawn]
    assert found == [c for full, pale, _ in theme.STATES.values() for c in (full, pale, pale)]


def test_the_pointer_shows_question_gold_answer_and_rate():
    table = tables.question_table(60)
    row = table.row(3, named=True)
    _, drawn = cells(question_map(table, probe="sampling"))
    note = next(note for _, note in drawn if note[0].startswith("q3 "))
    assert note[0] == "q3 (smaller)"
    assert note[1] == row["state"]
    assert note[2].endswith("…")
    assert len(note[2]) == 80
    assert row["text"].startswith(note[2][:-1])
    assert tuple(note[3:5]) == (row["gold"], row["deployed_answer"] or "–")
    assert note[5] == f"{row['rate']:.2f}"
    unknown = next(note for _, note in drawn if note[0].startswith("q49"))
    assert unknown[5] == "–"


@pytest.mark.parametrize("weights", [(0.5, 0.3, 0.15, 0.05), (1, 1, 1, 997), (997, 1, 1, 1), (1, 0, 0, 0)])
@pytest.mark.parametrize("n", [1, 30, 1000])
def test_counts_stand_beside_the_map_and_apart(n, weights):
    table = tables.question_table(n, weights=weights)
    labels = state_labels(question_map(table, probe="sampling"))
    counts = {state: table.filter(pl.col("state") == state).height for state in tables.STATES}
    assert [text for text, _ in labels] == [f"{s} <b>{c}</b>" for s, c in counts.items() if c]
    assert all(b - a >= LABEL_PIXELS for (_, a), (_, b) in itertools.pairwise(labels))


def test_a_label_stands_at_the_middle_of_its_cells():
    table = tables.question_table(1000, weights=(0.5, 0.5, 0, 0))
    figure = question_map(table, probe="sampling")
    n = table.filter(pl.col("state") == "realized").height
    (_, first), _ = state_labels(figure)
    assert first == pytest.approx(n / 2 / 1000 * map_height(figure), abs=10)


def test_cells_are_square_on_a_page_and_none_is_lost():
    for n in (1, 7, 40, 500, 3000, 10000):
        figure = question_map(tables.question_table(n), probe="sampling")
        x, y = figure.layout.xaxis.range, figure.layout.yaxis.range
        assert 490 / (x[1] - x[0]) == pytest.approx(map_height(figure) / (y[0] - y[1]), rel=0.01)
        heat, drawn = cells(figure)
        assert len(drawn) == n
        assert len(heat.z[0]) <= x[1] + 0.51
        assert len(heat.z) <= y[0] + 0.51


def test_the_title_counts():
    states = pl.Series(["realized", "reachable only", "reachable only", "never"])
    figure = question_map(tables.question_table(4).with_columns(state=states), probe="<b>sampling</b>")
    assert figure.layout.title.text == "1 of 4 questions is realized, 2 more only reachable"
    assert "of &lt;b&gt;sampling&lt;/b&gt; are right" in figure.layout.title.subtitle.text


def test_ten_thousand_questions_are_drawn_fast_and_as_one_trace():
    table = tables.question_table(10000)
    start = time.perf_counter()
    figure = question_map(table, probe="sampling")
    figure.to_json()
    assert time.perf_counter() - start < 8
    assert len(figure.data) == 1


def test_hostile_questions_are_shown_as_they_are():
    columns = ("id", "text", "gold", "subject", "deployed_answer")
    table = tables.question_table(2).with_columns(pl.lit(tables.HOSTILE).alias(name) for name in columns)
    figure = question_map(table, probe=tables.HOSTILE)
    _, drawn = cells(figure)
    assert drawn[0][1][2] == theme.label(tables.HOSTILE)
    assert "<script" not in figure.to_json().replace("\\u003c", "<")


def test_a_state_that_there_is_not_is_refused():
    table = tables.question_table(2).with_columns(state=pl.lit("lost"))
    with pytest.raises(BadInput, match=r"no state 'lost'\. Use one of: realized"):
        question_map(table, probe="sampling")


def pair(n=300):
    before = tables.question_table(n)
    after = tables.question_table(n, weights=(0.7, 0.2, 0.08, 0.02))
    return before, after


def test_both_maps_hold_the_same_question_at_the_same_place():
    before, after = pair()
    figure = question_map_pair(before, after.sample(fraction=1.0, shuffle=True, seed=2))
    shown = [[note for _, note in cells(figure, i)[1]] for i in (0, 1)]
    ids = [[note[0] for note in notes] for notes in shown]
    assert ids[0] == ids[1]
    states = [[tables.STATES.index(note[1]) for note in notes] for notes in shown]
    pairs = list(zip(*states, strict=True))
    assert pairs == sorted(pairs)
    assert states[1] != sorted(states[1])
    for table, notes in zip((before, after), shown, strict=True):
        assert [note[1] for note in notes] == [by_id(table)[i.split(" ")[0]]["state"] for i in ids[0]]


def test_the_pair_says_how_many_changed_and_counts_both_runs():
    before, after = pair()
    figure = question_map_pair(before, after)
    moved = (before["state"] != after["state"]).sum()
    assert figure.layout.title.text == f"{moved} of 300 questions change state"
    for table, axis in ((before, "y domain"), (after, "y2 domain")):
        labels = state_labels(figure, axis)
        assert [int(re.search(r"<b>(\d+)</b>", text)[1]) for text, _ in labels] == [
            table.filter(pl.col("state") == s).height for s in tables.STATES
        ]
        assert all(b - a >= LABEL_PIXELS for (_, a), (_, b) in itertools.pairwise(labels))


def test_lines_part_the_states_before_in_both_maps():
    before, after = pair()
    figure = question_map_pair(before, after)
    heat, _ = cells(figure)
    width = len(heat.z[0])
    ends = list(itertools.accumulate(before.filter(pl.col("state") == s).height for s in tables.STATES))[:-1]
    for axis in ("y", "y2"):
        lines = [s for s in figure.layout.shapes if s.yref == axis]
        assert len(lines) == len(ends)
        for line, end in zip(lines, ends, strict=True):
            corners = [
                tuple(map(float, corner.split(","))) for corner in re.findall(r"[-\d.]+,[-\d.]+", line.path)
            ]
            row, column = divmod(end, width)
            assert (width - 0.5, row - 0.5) in corners
            assert (column - 0.5, row - 0.5) in corners or column == 0


def test_maps_of_different_questions_are_refused():
    before, after = pair(20)
    with pytest.raises(BadInput, match="before has 20, after 19, and 19 are in both"):
        question_map_pair(before, after.head(19))
    with pytest.raises(BadInput, match="each once"):
        question_map_pair(before, pl.concat([after.head(19), after.head(1)]))
    with pytest.raises(BadInput, match="questions after has no row"):
        question_map_pair(before, after.clear())
