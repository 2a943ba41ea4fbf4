"""Which questions belong together, so that an interval draws them together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from interp.errors import BadInput
from interp.question import Question

MIN_SUBJECTS = 10
"""Subjects below which they are no clusters: an interval from a few clusters is too short."""

By = Literal["auto", "template", "subject", "none"]


@dataclass(frozen=True)
class Clusters:
    """The cluster of each question.

    Attributes:
        labels: One label a question, in order.
        about: What the clusters are, in words.
    """

    labels: tuple[str, ...]
    about: str


def clusters_of(questions: Sequence[Question], by: By = "auto") -> Clusters:
    """Clusters of questions; each question alone where nothing puts it with others.

    Args:
        questions: The questions, in order.
        by: "template" draws questions of one template or passage together, "subject" those of one subject,
            "none" each alone. "auto" takes templates where questions have some, else subjects where there
            are at least ten, else none.

    Reference:
        E. Miller, "Adding error bars to evals", arXiv 2411.00640 (2024), for clusters in evaluations.

    Raises:
        BadInput: There is no such way, or no question has what it goes by.
    """
    templates = [question.template for question in questions]
    subjects = [question.subject for question in questions]
    if by == "auto":
        by = "none"
        if any(templates):
            by = "template"
        elif len(set(subjects)) >= MIN_SUBJECTS and max(Counter(subjects).values()) > 1:
            by = "subject"
    if by == "none":
        return Clusters(tuple(question.id for question in questions), "each question alone")
    if by not in ("template", "subject"):
        raise BadInput(f"There are no clusters by {by!r}. Use one of: auto, template, subject, none.")
    names = templates if by == "template" else subjects
    if not any(names):
        raise BadInput(f"No question has a {by}. Give the field {by!r}, or cluster by none.")
    labels = tuple(f"{by} {n}" if n else f"id {q.id}" for n, q in zip(names, questions, strict=True))
    return Clusters(labels, f"{len(set(labels))} {by}s drawn whole")
