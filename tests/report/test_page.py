import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import plotly.graph_objects as go
import polars as pl
import pytest
import synthetic_page
from synthetic_page import HOSTILE, page_content

from interp.errors import BadInput, RunUnwritable
from interp.figures.block_ranking import block_ranking
from interp.report.content import BlockAnswer, Compared, Control, Example, Measure
from interp.report.page import write_page
from interp.report.rows import HEADINGS, ordinal, repair_rows

VOID = {"meta", "link", "img", "br", "hr", "input"}


class Page(HTMLParser):
    """Elements, attributes and text of a page; fails on a tag that closes what is not open."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.scripts: dict[str, str] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[self.elements[-1][1].get("id") or "script"] = data
        elif self.open and self.open[-1] != "style":
            self.words.append(data)

    def attributes(self, name: str) -> list[str]:
        return [attrs[name] or "" for _, attrs in self.elements if name in attrs]

    def tags(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for found, attrs in self.elements if found == tag]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    assert write_page(folder, page_content()) == folder / "index.html"
    return folder


@pytest.fixture(scope="module")
def page(run):
    return Page((run / "index.html").read_text(encoding="utf-8"))


def hostile_content():
    """Every text that a model, a task or a user can write, as an attack."""
    text = " ".join(HOSTILE)
    answers = tuple(BlockAnswer(text, t, "wrong") for t in HOSTILE)
    raw = go.Figure(go.Scatter(x=[1] * 6, y=[1] * 6, mode="text", text=HOSTILE, hovertext=HOSTILE))
    repair = page_content().repair.with_columns(answer_before=pl.lit(text), answer_after=pl.lit(HOSTILE[0]))
    return replace(
        page_content(),
        title=text,
        model=text,
        task=text,
        description=text,
        command=text,
        headline=text,
        sentences=HOSTILE,
        facts=((text, text),),
        compared=(Compared(text, text, "most", *[Measure(text, text)] * 3, text),),
        controls=(Control(text, text, text),),
        repair=repair,
        figures={"block_ranking": block_ranking(repair, title=text), "raw": raw},
        examples=tuple(Example(text, t, t, t, t, "wrong", answers) for t in HOSTILE),
        failure_set=((text, text),),
        warnings=HOSTILE,
        plan={text: text},
        environment={text: [text]},
        files=((text, text),),
    )


def test_it_stands_on_its_own_files(run):
    names = {p.relative_to(run).as_posix() for p in run.rglob("*") if p.is_file()}
    figures = {f"figures/{name}.html" for name in page_content().figures}
    assert names == {"index.html", "figures/plotly.min.js", *figures}


def test_no_written_file_names_an_address(run):
    for path in run.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"https?:|ftp:|wss?:|['\"(]//\w", text), path.name
        loads = Page(text)
        assert [s["src"] for s in loads.tags("script") if "src" in s] == [
            "figures/plotly.min.js" if path.name == "index.html" else "plotly.min.js"
        ]
        assert not loads.tags("link") + loads.tags("img") + loads.tags("iframe")


def test_every_link_and_reference_has_its_target(run, page):
    ids = page.attributes("id")
    assert len(ids) == len(set(ids))
    assert set(page.attributes("aria-labelledby")) | set(page.attributes("data-figure")) <= set(ids)
    written = {"repair.csv", "attempts.jsonl"}
    for link in page.attributes("href"):
        assert (run / link).is_file() or link in written


def test_the_verdict_stands_first_and_once(page):
    words = [w.strip() for w in page.words if w.strip()]
    content = page_content()
    assert words.count(content.headline) == 1
    first_figure = words.index("MLP 2 repairs most, but MLP 14 gains most")
    assert words.index(content.headline) < words.index(content.sentences[1]) < first_figure
    assert first_figure < words.index("What it must be compared with") < words.index("Every block")


def test_the_marked_blocks_stand_beside_the_verdict_with_what_they_are_compared_with(page):
    words = [w.strip() for w in page.words if w.strip()]
    start = words.index("Silenced")
    assert words[start + 5 : start + 14] == [
        *("MLP 2", "repairs most", "0.97", "[0.89, 0.99]", "0.37", "[0.26, 0.49]", "+0.01", "0.87", "MLP 14"),
    ]
    constant = words.index("Always the second answer named")
    assert words[constant + 1 : constant + 6] == ["a constant", "0.88", "0.12", "−0.11", "0.87"]
    assert start < constant < words.index("MLP 2 repairs most, but MLP 14 gains most")
    assert [tr.get("class") for tr in page.tags("tr") if tr.get("class")] == [
        "most",
        "gains",
        "most",
        "gains",
    ]


def test_each_control_stands_with_its_explanation(page):
    for control in page_content().controls:
        start = page.words.index(control.label)
        cells = [w for w in page.words[start : start + 6] if w.strip()]
        assert cells[:3] == [control.label, control.value, control.explanation]


def test_figures_go_onto_the_page_unchanged_but_for_their_title(page):
    for name, figure in page_content().figures.items():
        shown = json.loads(page.scripts[f"figure-{name}"])
        original = json.loads(figure.to_json())
        assert shown["data"] == original["data"]
        assert "title" not in shown["layout"]
        assert html.unescape(figure.layout.title.text) in page.words
        assert shown["layout"]["xaxis"] == original["layout"]["xaxis"]
        lost = original["layout"]["height"] - shown["layout"]["height"]
        assert (
            lost
            == (original["layout"]["margin"]["t"] if "margin" in original["layout"] else 84)
            - shown["layout"]["margin"]["t"]
        )


def test_the_repair_table_has_every_block_with_its_numbers(page):
    rows = repair_rows(page_content().repair)
    assert [row.layer for row in rows] == page_content().repair["layer"].to_list()
    assert {row.layer: row.mark for row in rows if row.mark} == {2: "most", 14: "gains"}
    assert [len(row.cells) for row in rows] == [len(HEADINGS)] * 30
    first = [f"{cell.text} {cell.note}".strip() for cell in rows[0].cells]
    assert first[:4] == ["0.97 [0.89, 0.99]", "0.37 [0.26, 0.49]", "+0.01", "0.61"]
    assert first[6] == "first → second 0.78 → 0.95"
    assert sum(attrs.get("scope") == "row" and "data-value" in attrs for attrs in page.tags("th")) == 30


def test_what_is_unknown_is_a_dash_and_sorts_nowhere():
    repair = page_content().repair.with_columns(
        retention=pl.lit(float("nan")),
        position_before=pl.lit(None, pl.Int64),
        position_after=pl.lit(None, pl.Int64),
        position_share_before=pl.lit(None, pl.Float64),
        position_share_after=pl.lit(None, pl.Float64),
        answer_after=pl.lit(None, pl.String),
    )
    cells = repair_rows(repair)[0].cells
    assert (cells[1].text, cells[1].value, cells[1].share) == ("–", None, None)
    assert (cells[6].text, cells[6].value) == ("–", None)
    assert cells[5].text == "8 → –"


def test_positions_are_said_in_words():
    assert [ordinal(p) for p in (0, 2, 11, None)] == ["first", "third", "number 12", "–"]


def test_hostile_text_is_shown_and_never_obeyed(tmp_path):
    content = hostile_content()
    write_page(tmp_path, content)
    for path in tmp_path.rglob("*.html"):
        page = Page(path.read_text(encoding="utf-8"))
        assert not page.tags("img") + page.tags("b")
        assert not [name for _, attrs in page.elements for name in attrs if name.startswith("on")]
        assert len([s for s in page.tags("script") if "type" not in s]) == 2
    page = Page((tmp_path / "index.html").read_text(encoding="utf-8"))
    shown = "\n".join(page.words)
    for text in HOSTILE:
        assert shown.count(text.replace("\0", "\ufffd")) > 10
    assert json.loads(page.scripts["figure-raw"])["data"][0]["text"] == list(HOSTILE)


def test_a_second_writing_changes_no_byte_and_leaves_plotly_alone(tmp_path):
    write_page(tmp_path, page_content())
    before = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in tmp_path.rglob("*.*") if p.is_file()}
    write_page(tmp_path, page_content())
    assert {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in before} == before
    assert {p for p in tmp_path.rglob("*") if p.is_file()} == set(before)


def test_a_page_needs_no_figures_and_no_examples(tmp_path):
    bare = replace(page_content(), figures={}, examples=(), controls=(), sentences=(), facts=())
    page = Page(write_page(tmp_path, bare).read_text(encoding="utf-8"))
    assert bare.headline in page.words
    assert not page.tags("figure")


def test_examples_stand_in_columns_by_heading(page):
    words = [w.strip() for w in page.words if w.strip()]
    repaired, broken = words.index("Repaired by block 14"), words.index("Broken by block 2")
    assert words.count("Repaired by block 14") == 1
    assert repaired < words.index("Which number is smaller, 8 or 3?") < broken
    assert words.index("Which number is smaller, 3 or 8?") > broken


def test_a_figure_of_someone_else_may_lack_title_and_size(tmp_path):
    content = replace(page_content(), figures={"my_plot": go.Figure(go.Scatter(y=[1, 2]))})
    page = Page(write_page(tmp_path, content).read_text(encoding="utf-8"))
    assert "My plot" in page.words


@pytest.mark.parametrize("name", ["../escape", "A", "a b", "", "a.html"])
def test_a_figure_name_that_is_no_file_name_is_refused(tmp_path, name):
    content = replace(page_content(), figures={name: synthetic_page.figures()["lens_trace"]})
    with pytest.raises(BadInput, match="figure's name"):
        write_page(tmp_path, content)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "run").write_text("a file")
    with pytest.raises(RunUnwritable, match="run"):
        write_page(tmp_path / "run", page_content())
