"""What attribution says: the map, the agreement with measured repair, the lens trace."""

import math

import polars as pl
import pytest
import synthetic_tables as tables

from interp.errors import BadInput
from interp.figures import theme
from interp.figures.agreement import agreement
from interp.figures.attribution_map import attribution_map
from interp.figures.lens_trace import lens_trace, overtaking_depth


def trace(figure, name):
    return next(t for t in figure.data if t.name == name)


def texts(figure):
    return [a.text for a in figure.layout.annotations]


def test_the_maps_show_what_silencing_is_expected_to_do():
    attribution = tables.attribution_blocks()
    figure = attribution_map(attribution)
    for method, sign in (("direct", -1), ("patching", 1)):
        heat = trace(figure, method)
        assert list(heat.x) == list(range(30))
        for name, point in (("Attention", "attn_out"), ("MLP", "mlp_out")):
            expected = attribution.filter(pl.col("point") == point).sort("layer")[method] * sign
            assert list(heat.z[list(heat.y).index(name)]) == expected.to_list()


def test_the_colours_are_centred_on_zero_and_the_bar_says_where_they_end():
    for heat in attribution_map(tables.attribution_blocks()).data:
        assert heat.zmin == -heat.zmax < 0
        assert heat.zmid == 0
        cut = max(abs(value) for row in heat.z for value in row) > heat.zmax
        low, high = ("≤ ", "≥ ") if cut else ("", "")
        assert heat.colorbar.ticktext == (low + theme.signed(heat.zmin), "0", high + theme.signed(heat.zmax))


def test_one_extreme_block_does_not_wash_out_the_others():
    attribution = tables.attribution_blocks().with_columns(
        patching=pl.when((pl.col("layer") == 0) & (pl.col("point") == "mlp_out"))
        .then(1000.0)
        .otherwise(pl.col("patching"))
    )
    heat = trace(attribution_map(attribution), "patching")
    assert heat.zmax < 5
    assert heat.colorbar.ticktext[0].startswith("≤ −")
    assert heat.colorbar.ticktext[2].startswith("≥ +")
    assert max(max(row) for row in heat.z) == 1000


def test_attributions_of_nothing_are_drawn():
    attribution = tables.attribution_blocks().with_columns(direct=pl.lit(0.0))
    assert trace(attribution_map(attribution), "direct").zmax == 1


def test_a_missing_attention_block_is_left_empty():
    attribution = tables.attribution_blocks().filter((pl.col("point") == "mlp_out") | (pl.col("layer") != 3))
    heat = trace(attribution_map(attribution), "direct")
    assert heat.z[list(heat.y).index("Attention")][3] is None
    assert heat.z[list(heat.y).index("MLP")][3] is not None


def test_the_measured_repair_stands_above_with_the_same_layers():
    repair = tables.repair_table()
    figure = attribution_map(tables.attribution_blocks(), repair=repair)
    bars = trace(figure, "repair")
    assert dict(zip(bars.x, bars.y, strict=True)) == dict(zip(repair["layer"], repair["repair"], strict=True))
    assert (bars.marker.color[2], bars.marker.color[14]) == (theme.REPAIRS_MOST, theme.GAINS_MOST)
    assert {"<b>2</b>", "<b>14</b>"} <= set(texts(figure))
    frames = {(s.x0, s.x1, s.y0, s.y1, s.line.color) for s in figure.layout.shapes}
    assert frames == {(1.5, 2.5, 0.5, 1.5, theme.REPAIRS_MOST), (13.5, 14.5, 0.5, 1.5, theme.GAINS_MOST)}


def test_agreement_shows_repair_over_each_estimate():
    blocks = tables.blocks_table()
    figure = agreement(blocks, tables.agreement_table())
    for method in ("direct", "patching"):
        dots = trace(figure, method)
        found = {c[0]: (x, y) for c, x, y in zip(dots.customdata, dots.x, dots.y, strict=True)}
        assert found == {r["layer"]: (r[method], r["repair"]) for r in blocks.iter_rows(named=True)}
        assert [t for t in dots.text if t] == ["<b>2</b>", "<b>14</b>"]
    assert any("Spearman +0.58<br>top 1, 3, 5: 0.00, 0.67, 0.80" in t for t in texts(figure))
    assert figure.layout.title.text == "Attribution patching agrees most with repair: Spearman +0.58"


def test_agreement_needs_a_column_for_each_method():
    with pytest.raises(BadInput, match="no column patching"):
        agreement(tables.blocks_table().drop("patching"), tables.agreement_table())


def test_agreement_says_so_when_ranks_cannot_be_compared():
    table = tables.agreement_table().with_columns(spearman=pl.lit(math.nan)).drop("overlap_5")
    figure = agreement(tables.blocks_table(), table)
    assert figure.layout.title.text == "Attribution and measured repair cannot be compared"
    assert sum("Spearman –" in text for text in texts(figure)) == 2
    assert sum("top 1, 3: " in text for text in texts(figure)) == 2


def test_a_hostile_method_name_is_shown_as_it_is():
    name = "<img src=x>"
    blocks = tables.blocks_table().rename({"direct": name})
    table = tables.agreement_table().with_columns(pl.col("method").replace("direct", name))
    figure = agreement(blocks, table)
    assert any("&lt;img src=x&gt;" in text for text in texts(figure))
    assert "<img" not in figure.to_json().replace("\\u003c", "<")


def test_the_lens_shows_medians_bands_as_probabilities_and_the_share():
    lens = tables.lens_layers()
    figure = lens_trace(lens.sort("layer", descending=True))
    for name in ("gold", "given"):
        assert list(trace(figure, f"{name} answer").y) == pytest.approx(
            lens[f"{name}_median"].exp().to_list()
        )
        band = trace(figure, f"{name} answer, band")
        assert list(band.y[:31]) == pytest.approx(lens[f"{name}_high"].exp().to_list())
        assert list(band.y[31:]) == pytest.approx(lens[f"{name}_low"].exp().to_list()[::-1])
    assert list(trace(figure, "gold leads in").y) == lens["gold_first"].to_list()
    assert {"<b>gold</b>", "<b>given</b>"} <= set(texts(figure))


def test_the_depth_is_named_from_which_the_given_answer_leads():
    figure = lens_trace(tables.lens_layers())
    assert "given leads<br>from depth 22" in texts(figure)
    assert figure.layout.title.text == "The given answer takes the lead at depth 22"
    assert [s.x0 for s in figure.layout.shapes] == [22]


@pytest.mark.parametrize(
    ("gold", "given", "depth"),
    [
        ([-3, -2, -1], [-4, -1, -2], None),
        ([-3, -2, -1], [-2, -3, -0.5], 2),
        ([-3, -3, -3], [-2, -2, -2], 0),
        ([-3, -1, -2], [-3, -1, -2], None),
        ([-3, -2, None], [-2, -1, None], None),
    ],
)
def test_a_lead_counts_only_if_it_lasts(gold, given, depth):
    lens = pl.DataFrame({"layer": [0, 1, 2], "gold_median": gold, "given_median": given}, strict=False)
    assert overtaking_depth(lens) == depth


def test_a_lens_that_ends_on_gold_says_so():
    lens = tables.lens_layers()
    swapped = lens.rename({"gold_median": "given_median", "given_median": "gold_median"})
    figure = lens_trace(swapped)
    assert figure.layout.title.text == "The lens puts the gold answer first at the end"
    assert not figure.layout.shapes
