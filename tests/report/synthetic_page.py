"""Content of a page as a run makes it, over the synthetic tables."""

from __future__ import annotations

import plotly.graph_objects as go
import synthetic_tables as tables

from interp.figures.agreement import agreement
from interp.figures.attribution_map import attribution_map
from interp.figures.block_ranking import block_ranking
from interp.figures.lens_trace import lens_trace
from interp.figures.repair_against_retention import repair_against_retention
from interp.report.content import BlockAnswer, Compared, Control, Example, Measure, PageContent

HOSTILE = (
    "<script>document.title='stolen'</script>",
    "</script><img src=x onerror=\"document.title='stolen'\">",
    "\"quoted\" 'single' & &lt;b&gt;",
    "{{ 7 * 7 }} {% raw %} %{y}",
    "\u202eright to left\u202c שלום",
    "<!-- <b>bold</b> \u2028 \x00 ]]>",
)


def figures() -> dict[str, go.Figure]:
    repair = tables.repair_table()
    return {
        "repair_against_retention": repair_against_retention(repair, totals=tables.TOTALS),
        "block_ranking": block_ranking(repair),
        "attribution_map": attribution_map(tables.attribution_blocks(), repair=repair),
        "lens_trace": lens_trace(tables.lens_layers()),
        "agreement": agreement(tables.blocks_table(), tables.agreement_table()),
    }


def examples() -> tuple[Example, ...]:
    def example(heading: str, x: int, y: int, deployed: str, with_2: str, with_14: str) -> Example:
        gold = str(min(x, y))

        def outcome(text: str) -> str:
            return "right" if text.strip(".") == gold else "wrong"

        answers = (
            BlockAnswer("block 2 silenced", with_2, outcome(with_2)),
            BlockAnswer("block 14 silenced", with_14, outcome(with_14)),
        )
        question = f"Which number is smaller, {x} or {y}?"
        return Example(heading, f"smaller/{x}-{y}", question, gold, deployed, outcome(deployed), answers)

    return (
        example("Repaired by block 14", 8, 3, "8.", "3.", "3."),
        example("Repaired by block 14", 9, 5, "9.", "5.", "5."),
        example("Repaired by block 14", 71, 24, "71.", "24.", "24."),
        example("Broken by block 2", 3, 8, "3.", "8.", "3."),
        example("Broken by block 2", 2, 7, "2.", "7.", "2."),
        example("Broken by block 2", 14, 61, "14.", "61.", "14."),
    )


def compared(label: str, role: str, mark: str, *numbers: str) -> Compared:
    repair, retention, net_gain = (Measure(*number.split(" ", 1)) for number in numbers)
    return Compared(label, role, mark, repair, retention, net_gain, "0.87")


def page_content() -> PageContent:
    headline = (
        "The block to silence is MLP block 14: on held-out questions it repairs 0.75 [0.63, 0.84] of the "
        "failures and keeps 0.95 [0.86, 0.98] of the successes, accuracy 0.60 → 0.87."
    )
    return PageContent(
        title="smollm2 on comparison: which block silences the answer",
        model="smollm2",
        task="comparison:ask=smaller,digits=both",
        description="Which of two numbers is smaller, one and two digits; 200 questions, read as numbers.",
        command="interp localize smollm2 --task comparison:ask=smaller,digits=both --out runs/demo",
        headline=headline,
        sentences=(
            headline,
            "The block that repairs most is not the block to silence: MLP block 2 repairs 0.97 [0.89, 0.99] "
            "of the failures but keeps 0.37 [0.26, 0.49] of the successes.",
            "Block 2 repairs by shifting the answers to one position: the second number is named in 0.95 "
            "of the questions, 0.22 before.",
        ),
        facts=(
            ("Questions asked", "200"),
            ("Deployed accuracy", "0.60"),
            ("Failures asked", "60 of 80"),
            ("Successes asked", "60 of 120"),
        ),
        compared=(
            compared("MLP 2", "repairs most", "most", "0.97 [0.89, 0.99]", "0.37 [0.26, 0.49]", "+0.01"),
            compared("MLP 14", "gains most", "gains", "0.75 [0.63, 0.84]", "0.95 [0.86, 0.98]", "+0.27"),
            compared("Always the second answer named", "a constant", "", "0.88", "0.12", "−0.11"),
        ),
        controls=(
            Control(
                "Naive maximum", "block 2: 0.97 [0.89, 0.99]", "The largest of 30 blocks: too high by design."
            ),
            Control("Held out", "0.75 [0.63, 0.84]", "Chosen on one half, measured on the other, both ways."),
            Control("Largest repair against chance", "p < 0.0001", "10,000 shuffles of block labels."),
            Control("Constant answer", "0.21", "Repair of a model that always says 1."),
            Control("Constant position", "0.88", "Repair of a model that always names the second number."),
            Control("Random block", "0.14", "Mean repair of a block drawn at random."),
        ),
        repair=tables.repair_table(),
        figures=figures(),
        examples=examples(),
        failure_set=(("Failures are", "wrong"), ("Failures asked", "60 of 80"), ("Hash", "3fa9c1d2e4b5a697")),
        plan={"model": "smollm2", "task": "comparison", "seed": 0, "decoding": {"max_new_tokens": 8}},
        environment={"torch": "2.13.0", "dtype": "float32", "attention": "sdpa"},
        files=(("repair.csv", "every block"), ("attempts.jsonl", "every answer")),
    )
