"""The page in a real browser, opened from disk."""

import re

import pytest
from synthetic_page import page_content
from test_page import hostile_content

from interp.figures import theme
from interp.report.page import write_page

SORTS = """
const heads = [...document.querySelectorAll("table.sortable thead button")];
const layers = () => [...document.querySelectorAll("table.sortable tbody th")];
const order = () => layers().map((layer) => layer.textContent).join();
const seen = [order()];
for (const column of [0, 0, 3, 3]) { heads[column].click(); seen.push(order()); }
seen.push(heads.map((h) => h.parentElement.getAttribute("aria-sort")).join());
document.body.dataset.sorts = seen.join(";");
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("a run with spaces & signs")
    write_page(folder, page_content())
    return folder


def test_the_figures_are_drawn_and_the_console_is_silent(run, visit):
    dom, console = visit(run / "index.html")
    assert console == []
    assert dom.count('data-drawn="yes"') == len(page_content().figures) == 5
    assert all(text in dom for text in ("MLP 2 repairs most", "MLP 14 gains most", "from depth 22"))
    widths = [float(w) for w in re.findall(r'<svg class="main-svg"[^>]*? width="([\d.]+)"', dom)]
    assert len(widths) >= 5
    assert all(500 < width < 700 for width in widths)


def test_hostile_text_runs_nothing_and_dark_screens_get_dark_figures(tmp_path, visit):
    write_page(tmp_path / "run", hostile_content())
    dom, console = visit(tmp_path / "run" / "index.html", "--blink-settings=preferredColorScheme=0")
    assert console == []
    assert "<title>stolen</title>" not in dom
    assert dom.count('data-drawn="yes"') == 2
    assert "<img" not in dom
    drawn = re.sub(r"<script.*?</script>|<style.*?</style>", "", dom, flags=re.S)
    red, green, blue = (int(theme.DARK[theme.PAPER][i : i + 2], 16) for i in (1, 3, 5))
    assert f"background: rgb({red}, {green}, {blue})" in drawn
    assert "background: rgb(255, 255, 255)" not in drawn


def test_headings_sort_and_what_slips_in_may_neither_run_nor_load(run, visit):
    text = (run / "index.html").read_text(encoding="utf-8")
    attack = "<script>document.title='stolen'</script><img src='http://127.0.0.1:9/x.png'>"
    (run / "sorts.js").write_text(SORTS, encoding="utf-8")
    copy = run / "attacked.html"
    copy.write_text(
        text.replace("</main>", f"{attack}</main>").replace(
            "</body>", "<script src='sorts.js'></script></body>"
        ),
        encoding="utf-8",
    )
    dom, console = visit(copy)
    assert "<title>stolen</title>" not in dom
    assert dom.count('data-drawn="yes"') == 5
    assert len(console) == 2
    assert "inline script" in " ".join(console)
    assert "x.png" in " ".join(console)
    found = re.search(r'data-sorts="([^"]*)"', dom)
    assert found is not None
    start, up, down, best, worst, states = found[1].split(";")
    repair = page_content().repair
    downwards = repair.sort("layer", descending=True)
    by_gain = downwards.sort("net_gain", descending=True, maintain_order=True)["layer"].to_list()
    assert start == ",".join(map(str, repair["layer"]))
    assert up == ",".join(map(str, range(30)))
    assert down == ",".join(map(str, reversed(range(30))))
    assert best == ",".join(map(str, by_gain))
    assert worst.split(",")[0] == str(by_gain[-1])
    assert states.split(",") == ["none", "none", "none", "ascending", *["none"] * 5]


def test_a_figure_opens_alone(run, visit):
    dom, console = visit(run / "figures" / "block_ranking.html")
    assert console == []
    assert dom.count('data-drawn="yes"') == 1
    assert "gains most" in dom
