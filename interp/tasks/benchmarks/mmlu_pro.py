"""MMLU-Pro: harder multiple-choice questions of 14 subjects, up to ten options, answered with reasoning.

The test split (12,032 questions) is asked; examples come from the validation split, which holds five a
subject, each with a worked answer that ends in "The answer is (X)." Options that are "N/A" only fill a row up
to ten: they are left out, and the letters follow the options that remain. Published with 5 examples of the
question's own subject: `subject=math,shots=5`; `shots=5` alone shows one of each of five subjects.

Layout: dataset TIGER-Lab/MMLU-Pro, data/{test,validation}-00000-of-00001.parquet, columns question_id,
question, options (list of text), answer (letter), answer_index, cot_content, category and src.

Reference:
    Wang et al., "MMLU-Pro: A More Robust and Challenging Multi-Task Language Understanding Benchmark", 2024,
    arXiv 2406.01574.
"""

from __future__ import annotations

from interp.procedure import Decoding, Prompt
from interp.question import Question
from interp.tasks.benchmarks.benchmark import RUN_ON, Benchmark
from interp.tasks.benchmarks.row import BenchmarkRow, choice_question, stem

_FILLER = "N/A"


def _question(row: BenchmarkRow) -> Question:
    options, place = row.texts("options"), row.whole("answer_index")
    if not 0 <= place < len(options) or options[place].strip() == _FILLER:
        row.refuse("answer_index", "gold", f"{place} is none of the {len(options)} options")
    real = [index for index, option in enumerate(options) if option.strip() != _FILLER]
    above = stem(f"mmlu_pro/{row.whole('question_id')}", row.text("question"), row.text("category"))
    kept = [options[index] for index in real]
    right = real.index(place)
    return choice_question(row, above, options=kept, right=right, gold_column="answer_index")


def _answer(row: BenchmarkRow, question: Question) -> str:
    """The worked answer; its last sentence is written anew, in case letters have moved."""
    worked = row.text("cot_content").strip().removeprefix("A:").strip()
    return f"{worked.rpartition('The answer is')[0].strip() or worked} The answer is ({question.gold[0]})."


MMLU_PRO = Benchmark(
    name="mmlu_pro",
    description="MMLU-Pro: 14 subjects, up to ten options, answered with reasoning.",
    repo="TIGER-Lab/MMLU-Pro",
    revision="b189ec765aa7ed75c8acfea42df31fdae71f97be",
    asked=("data/test-00000-of-00001.parquet",),
    shown=("data/validation-00000-of-00001.parquet",),
    columns=("question_id", "question", "options", "answer_index", "cot_content", "category"),
    question=_question,
    answer=_answer,
    n=12032,
    prompt=Prompt(
        system='Think step by step. End with the words "The answer is" and the letter of the right option.'
    ),
    decoding=Decoding(max_new_tokens=2048, stop=RUN_ON),
    by_subject=True,
)
"""MMLU-Pro, the test split."""
