"""The pages of audits and comparisons: what they list, and how they behave in a real browser."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from interp.audited import AuditRun
from interp.compared import ComparedRuns
from interp.intervention import silence
from interp.jobs.auditing import AuditPlan, audit
from interp.jobs.comparing import compare
from interp.models.scripted import Scripted
from interp.procedure import Decoding, Prompt
from interp.question import Kind, Question
from interp.readings.states import State
from interp.report import question_rows
from interp.report.audit_page import audit_content
from interp.report.question_rows import audit_rows, comparison_rows
from interp.tasks.task import Task

ATTACK = "<script>document.title='stolen'</script><img src=x onerror=\"alert('stolen')\"> {{7*7}} </p>"
QUESTIONS = tuple(
    Question(f"q{i} {ATTACK}" if i == 3 else f"q{i:02}", f"{i} + 1? {ATTACK}", Kind.NUMBER, (str(i + 1),))
    for i in range(70)
)
TASK = Task(f"sums {ATTACK}", QUESTIONS, Prompt(), Decoding(max_new_tokens=300), ATTACK)


def answer(text: str, procedure, seed: int) -> str:
    """By number: realized, reachable only, never, unreadable; a silenced block 1 repairs every fifth."""
    number = int(text.split(maxsplit=1)[0])
    greedy = procedure.decoding.is_greedy
    if number % 5 == 0 and silence(1) in procedure.interventions:
        return f"The answer is {number + 1}. {ATTACK}"
    right, wrong = f"🙂 The answer is {number + 1}. {ATTACK}", f"The answer is {number + 9}! {ATTACK}"
    kind = number % 4
    if kind == 3:
        return "no idea"
    if kind == 0 or (kind == 1 and not greedy and seed % 3 == 0):
        return right
    return wrong


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> tuple[AuditRun, AuditRun]:
    folder = tmp_path_factory.mktemp("runs with spaces & signs")
    model = Scripted(answer, name=f"scripted {ATTACK}", n_layers=2)
    plans = (AuditPlan(("sampling:9",)), AuditPlan(("sampling:9",), interventions=(silence(1),)))
    return tuple(audit(model, TASK, out=folder / str(i), plan=plan) for i, plan in enumerate(plans))


@pytest.fixture(scope="module")
def comparison(runs, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("comparison")
    compare(runs[0], [runs[1]], out=folder)
    return folder


def driven(page: Path, script: str) -> Path:
    """A copy of a page beside it that runs a script at its end, with what it found in `data-seen`."""
    (page.parent / "drive.js").write_text(script, encoding="utf-8")
    copy = page.with_name("driven.html")
    text = page.read_text(encoding="utf-8")
    copy.write_text(text.replace("</body>", "<script src='drive.js'></script></body>"), encoding="utf-8")
    return copy


def seen(dom: str) -> list:
    return json.loads(html.unescape(re.search(r'data-seen="([^"]*)"', dom)[1]))


CLICKS = """
const entries = () => [...document.querySelectorAll("article.entry")];
const buttons = [...document.querySelectorAll("#filters button")];
const button = (name) => buttons.find((b) => b.textContent.startsWith(name));
const found = [["all", entries().length, document.getElementById("shown").textContent]];
document.getElementById("more").click();
found.push(["more", entries().length, String(document.getElementById("more").hidden)]);
for (const name of FILTERS) {
  button(name).click();
  found.push([name, entries().length, button(name).getAttribute("aria-pressed"), location.hash]);
}
button("all").click();
const search = document.getElementById("search");
search.value = "ANSWER IS 13.";
search.dispatchEvent(new Event("input"));
found.push(["search", entries().length, entries()[0].querySelector("mark").textContent]);
search.value = "";
location.hash = "#q=q69";
window.dispatchEvent(new HashChangeEvent("hashchange"));
found.push(["link", document.querySelector("article.target").id]);
document.body.dataset.seen = JSON.stringify(found);
"""


def test_questions_can_be_filtered_searched_and_linked(runs, visit):
    names = [str(state) for state in State]
    script = CLICKS.replace("FILTERS", json.dumps(names))
    dom, console = visit(driven(runs[0].page, script))
    assert console == []
    found = seen(dom)
    counts = runs[0].audit.states
    assert found[0] == ["all", 50, "70 of 70 questions"]
    assert found[1] == ["more", 70, "true"]
    for entry, name in zip(found[2:6], names, strict=True):
        assert entry == [name, min(50, counts[name]), "true", f"#show={name.replace(' ', '%20')}"]
    assert found[6][0::2] == ["search", "13"]
    assert found[7] == ["link", "q-q69"]
    assert "<title>stolen</title>" not in dom
    assert dom.count('data-drawn="yes"') == 3


def test_gained_and_lost_questions_can_be_filtered(runs, comparison, visit):
    script = CLICKS.replace("FILTERS", '["gained", "lost", "changed"]').replace(
        '"ANSWER IS 13."', '"ANSWER IS 13."'
    )
    dom, console = visit(driven(comparison / "index.html", script))
    assert console == []
    found = {entry[0]: entry for entry in seen(dom)}
    changes = ComparedRuns(*runs).pairs["change"]
    for name in ("gained", "lost", "changed"):
        assert found[name][1] == int((changes == name).sum())
    assert found["gained"][1] > 0
    assert dom.count('data-drawn="yes"') == 4


def test_a_read_span_is_marked_where_it_stands_also_behind_an_emoji(runs):
    rows = {row["id"]: row for row in audit_rows(runs[0])}
    for row in rows.values():
        for shown in row["answers"]:
            if "span" in shown:
                begin, end = shown["span"]
                assert shown["text"][begin:end].isdigit()
    assert rows["q07"]["labels"] == ["unreadable"]
    assert rows["q07"]["answers"][0] == {
        "by": "deployed", "text": "no idea", "outcome": "unreadable", "reason": "no_answer"
    }  # fmt: skip
    reached = [a for a in rows["q01"]["answers"] if a["by"] == "sampling"]
    assert sum(a["n"] for a in reached) == 9
    assert {a["of"] for a in reached} == {9}


def test_answers_of_a_large_audit_are_cut_and_spans_behind_the_cut_are_not_marked(runs, monkeypatch):
    monkeypatch.setattr(question_rows, "MOST_CHARACTERS", 1)
    monkeypatch.setattr(question_rows, "SHORTEST", 7)
    for row in audit_rows(runs[0]):
        for shown in row["answers"]:
            assert len(shown["text"]) <= 8
            assert "span" not in shown or shown["span"][1] <= 7


def test_the_page_names_command_warnings_and_every_number(runs):
    content = audit_content(runs[0])
    assert content.command.startswith("interp audit ")
    assert "--probe sampling:9" in content.command
    again = audit_content(runs[1])
    assert "--edit 'L1.mlp_out*0'" in again.command
    table = {row[0]: row for row in content.tables[0].rows}
    assert [*table] == ["sampling (draws at temperature 0.6, top_p 0.95)"]
    assert len(content.tables[1].rows) == runs[0].selectors().height
    rows = comparison_rows(ComparedRuns(*runs).pairs, *runs)
    assert {label for row in rows for label in row["labels"]} <= {
        *map(str, State),
        "gained",
        "lost",
        "changed",
    }


def test_hostile_text_is_text_on_both_pages(runs, comparison):
    for page in (runs[0].page, comparison / "index.html"):
        text = page.read_text(encoding="utf-8")
        assert "<script>document.title" not in text
        assert "<img" not in text
        assert html.escape(ATTACK, quote=False).split(" {{")[0][:20] in text
