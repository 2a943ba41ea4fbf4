r"""MATH-500: 500 problems of the MATH test set, drawn by the authors of "Let's Verify Step by Step".

The only split (test) is asked, so there are no examples. The gold is LaTeX: by default the questions whose
gold is one number are kept, and the task's description says how many; `gold=all` compares the others as text.

Layout: dataset HuggingFaceH4/MATH-500, test.jsonl, fields problem, solution, answer, subject, level (1 to 5)
and unique_id ("test/precalculus/807.json").

Reference:
    Hendrycks et al., "Measuring Mathematical Problem Solving With the MATH Dataset", 2021,
    arXiv 2103.03874; Lightman et al., "Let's Verify Step by Step", 2023, arXiv 2305.20050.
"""

from __future__ import annotations

from interp.procedure import Decoding
from interp.question import Kind, Question
from interp.tasks.benchmarks.benchmark import BOXED, RUN_ON, Benchmark
from interp.tasks.benchmarks.math_answer import KNOBS, kept, math_question
from interp.tasks.benchmarks.row import BenchmarkRow


def _question(row: BenchmarkRow) -> Question | None:
    question = Question(
        id=f"math500/{row.text('unique_id').removeprefix('test/').removesuffix('.json')}",
        text=row.text("problem").strip(),
        kind=Kind.TEXT,
        gold=(row.text("answer").strip(),),
        subject=row.text("subject"),
    )
    return math_question(row, question, gold_column="answer", level=str(row.whole("level")))


MATH500 = Benchmark(
    name="math500",
    description="MATH-500: competition problems; by default those whose gold is one number.",
    repo="HuggingFaceH4/MATH-500",
    revision="6e4ed1a2a79af7d8630a6b768ec859cb5af4d3be",
    asked=("test.jsonl",),
    columns=("problem", "answer", "subject", "level", "unique_id"),
    question=_question,
    n=500,
    prompt=BOXED,
    decoding=Decoding(max_new_tokens=2048, stop=RUN_ON),
    own_knobs=KNOBS,
    by_subject=True,
    kept=kept,
)
"""MATH-500."""
