"""Questions whose options are two lists, texts and labels, and the right one's label (ARC and its kin)."""

from __future__ import annotations

from interp.question import Question
from interp.tasks.benchmarks.row import BenchmarkRow, choice_question


def labelled_question(row: BenchmarkRow, above: Question) -> Question:
    """The question of a row with `choices` (text and label) and `answerKey`; labels become A, B, C, ...

    Args:
        row: The row.
        above: Its id, the text above the options and its subject.

    Raises:
        RowError: The lists differ in length, a label stands twice, or the key is none of them.
    """
    choices = row.inside("choices")
    options, labels = choices.texts("text"), choices.texts("label")
    if len(options) != len(labels):
        choices.refuse("label", "labels", f"has {len(labels)} labels for {len(options)} texts")
    if len(set(labels)) < len(labels):
        choices.refuse("label", "labels", f"names a label twice: {', '.join(labels)}")
    key = row.text("answerKey").strip()
    if key not in labels:
        row.refuse("answerKey", "gold", f"{key!r} is none of the labels {', '.join(labels)}")
    right = labels.index(key)
    return choice_question(row, above, options=options, right=right, gold_column="answerKey")
