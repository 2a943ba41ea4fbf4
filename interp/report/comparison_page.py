"""What the page of a comparison says."""

from __future__ import annotations

import shlex
from pathlib import Path

from interp.compared import ComparedRuns
from interp.figures import theme
from interp.readings.changed_words import changed_headline, changed_sentences
from interp.readings.comparison import Comparison
from interp.readings.states import State
from interp.report.content import NumberTable, QuestionsContent
from interp.report.page import write_page
from interp.report.question_rows import comparison_rows

FILES = (
    ("questions.csv", "one row a question: both answers, both states, what changed"),
    ("flow.csv", "questions by state before and after"),
    ("reach.csv", "one row a run, probe and k"),
    ("comparison.json", "every number"),
)


def write_comparison_page(folder: Path, pair: ComparedRuns, found: Comparison) -> Path:
    """Writes the page of a comparison into a folder, and gives its path."""
    return write_page(folder, comparison_content(folder, pair, found))


def comparison_content(folder: Path, pair: ComparedRuns, found: Comparison) -> QuestionsContent:
    """Everything that the page of a comparison shows."""
    plans = {"before": pair.before.run.plan, "after": pair.after.run.plan}
    names = [f"{plan['model']['name']}{_edits(plan['procedure'])}" for plan in plans.values()]
    task = plans["before"]["task"]
    allowed = dict.fromkeys(mismatch.name for mismatch in pair.allowed)
    words = ["interp", "compare", found.before, found.after, "--out", str(folder)]
    for name in allowed:
        words += ["--allow", name]
    return QuestionsContent(
        title=f"{names[0]} and {names[1]} on {task['name']}",
        model=f"{names[0]} → {names[1]}",
        task=task["name"],
        description=task["description"],
        command=shlex.join(words),
        headline=changed_headline(found),
        sentences=tuple(changed_sentences(found)),
        facts=(
            ("Questions", str(found.n_questions)),
            ("Gained", str(found.deployed.gained)),
            ("Lost", str(found.deployed.lost)),
            ("Changed", str(found.n_changed)),
            ("Support preserved", str(found.preserved)),
            ("Expanded", str(found.expanded)),
            ("Shrunk", str(found.shrunk)),
        ),
        figures_heading="What changed, and where the gain came from",
        figures=pair.figures.all(),
        left=("arrow_plot", "reach_curve"),
        tables=(_change_table(found), _flow_table(pair)),
        questions_about="One row a question, with its deployed answers before and after.",
        questions=tuple(comparison_rows(pair.pairs, pair.before, pair.after)),
        filters=(*State, "gained", "lost", "changed"),
        warnings=(*(f"Not matched, and allowed: {m}." for m in pair.allowed), *_warnings(pair)),
        plan=plans,
        environment={"before": pair.before.run.environment, "after": pair.after.run.environment},
        files=FILES,
    )


def _warnings(pair: ComparedRuns) -> list[str]:
    return list(dict.fromkeys((*pair.before.warnings, *pair.after.warnings)))


def _edits(procedure: dict[str, object]) -> str:
    edits = procedure.get("interventions")
    return f" with {', '.join(map(str, edits))}" if isinstance(edits, list) and edits else ""


def _change_table(found: Comparison) -> NumberTable:
    columns = (
        *("Share", "k", "Before", "After", "Difference", "95%", "Gained", "Lost", "p", "p (Holm)"),
        "Detectable",
    )
    rows = [
        (
            tested.name,
            str(tested.k) if tested.k else "–",
            theme.fraction(tested.before),
            theme.fraction(tested.after),
            theme.signed(tested.difference),
            f"[{theme.signed(tested.interval[0])}, {theme.signed(tested.interval[1])}]",
            str(tested.gained),
            str(tested.lost),
            f"{tested.p:.4f}",
            f"{tested.p_holm:.4f}",
            theme.fraction(tested.detectable),
        )
        for tested in found.changes
    ]
    about = (
        "Paired on the same questions: exact McNemar tests, bootstrap intervals. Detectable: the smallest "
        "difference that this sample would have shown in four of five cases."
    )
    return NumberTable("Deployed score and reachable ceiling", about, columns, tuple(rows))


def _flow_table(pair: ComparedRuns) -> NumberTable:
    counts = {(before, after): n for before, after, n in pair.flow.iter_rows()}
    rows = [(a.value, *(str(counts[a.value, b.value]) for b in State)) for a in State]
    columns = ("Before \\ after", *(state.value for state in State))
    return NumberTable("Questions by state", "Rows before, columns after.", columns, tuple(rows))
