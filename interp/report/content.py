"""What a page is made of: plain frozen records, so that the page knows nothing about how they came to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import plotly.graph_objects as go
import polars as pl


@dataclass(frozen=True)
class Control:
    """One number that a repair must be compared with.

    Attributes:
        label: Its name.
        value: The number in words ("0.61", "p = 0.0003").
        explanation: One line that says what it is.
    """

    label: str
    value: str
    explanation: str


@dataclass(frozen=True)
class Measure:
    """A number as a reader sees it.

    Attributes:
        text: The number ("0.48", "+0.27").
        interval: Its interval ("[0.36, 0.61]"), or nothing.
    """

    text: str
    interval: str = ""


@dataclass(frozen=True)
class Compared:
    """One row of the comparison at the top of the page: a block, or what a block is compared with.

    Attributes:
        label: What was measured ("MLP 14").
        role: What it is there for ("gains most").
        mark: "most" for the block that repairs most, "gains" for the highest net gain, or nothing.
        repair: Failures now right.
        retention: Successes still right.
        net_gain: Change of accuracy over all questions.
        accuracy: Accuracy over all questions.
    """

    label: str
    role: str
    mark: str
    repair: Measure
    retention: Measure
    net_gain: Measure
    accuracy: str


@dataclass(frozen=True)
class BlockAnswer:
    """What the model answers with one block silenced.

    Attributes:
        block: Label of the block ("MLP 14 silenced").
        text: The answer as the model wrote it.
        outcome: Verdict: right, wrong or unreadable.
    """

    block: str
    text: str
    outcome: str


@dataclass(frozen=True)
class Example:
    """One question with its deployed answer and the answers with blocks silenced.

    Attributes:
        heading: The column it stands in ("Repaired by silencing MLP 14: 3 of 21").
        id: Question id.
        question: Its text.
        gold: The accepted answer.
        deployed: The deployed answer as the model wrote it.
        deployed_outcome: Its verdict: right, wrong or unreadable.
        answers: One row a silenced block.
    """

    heading: str
    id: str
    question: str
    gold: str
    deployed: str
    deployed_outcome: str
    answers: tuple[BlockAnswer, ...]


@dataclass(frozen=True)
class NumberTable:
    """A table as the page sets it.

    Attributes:
        heading: Its heading.
        about: One line on it.
        columns: Headings of its columns.
        rows: Cells in words; the first names the row.
    """

    heading: str
    about: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class QuestionsContent:
    """Everything that the page of an audit, or of a comparison, shows.

    Attributes:
        title: Title of the page.
        model: Name of the model, or of both.
        task: Name of the task.
        description: One line on the task.
        command: The command that makes it again.
        headline: What was found in one sentence.
        sentences: What was found in words; the headline may stand first and is not repeated.
        facts: Label and value of the key numbers.
        figures_heading: Heading of the figures.
        figures: Figures by name.
        left: Names of those in the left column.
        tables: Tables of numbers.
        questions_about: One line on the questions.
        questions: One JSON object a question; see `interp.report.question_rows`.
        filters: The labels by which questions can be filtered, in order.
        warnings: What a reader must know before believing the page.
        plan: The plan, or both.
        environment: The environment, or both.
        files: Name and description of the files beside the page.
    """

    template: ClassVar[str] = "questions.html"

    title: str
    model: str
    task: str
    description: str
    command: str
    headline: str
    sentences: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    figures_heading: str
    figures: Mapping[str, go.Figure]
    left: tuple[str, ...]
    tables: tuple[NumberTable, ...]
    questions_about: str
    questions: tuple[Mapping[str, Any], ...]
    filters: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    plan: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class PageContent:
    """Everything that a page shows.

    Attributes:
        title: Title of the page.
        model: Name of the model.
        task: Name of the task.
        description: One line on the task.
        command: The command that makes the run again.
        headline: The verdict in one sentence.
        sentences: The verdict in words; the headline may stand first and is not repeated.
        facts: Label and value of the key numbers under the headline.
        compared: The marked blocks beside what they must be compared with.
        controls: The nulls and controls.
        repair: The repair table, one row a block.
        figures: Figures by name; a name is a file name made of small letters, digits and `_`.
        examples: Questions that were repaired or broken; one column a heading, in order of appearance.
        failure_set: Label and value of what is known of the failure set.
        warnings: What a reader must know before believing the page.
        plan: The run's plan.
        environment: The run's environment.
        files: Name and description of the files beside the page.
    """

    template: ClassVar[str] = "page.html"
    left: ClassVar[tuple[str, ...]] = ("repair_against_retention", "block_ranking")

    title: str
    model: str
    task: str
    description: str
    command: str
    headline: str
    sentences: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    controls: tuple[Control, ...]
    repair: pl.DataFrame
    figures: Mapping[str, go.Figure]
    compared: tuple[Compared, ...] = ()
    examples: tuple[Example, ...] = ()
    failure_set: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    plan: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[tuple[str, str], ...] = ()
