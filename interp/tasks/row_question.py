"""Turns one row of a question file into a `Question`, or says what is wrong with its fields.

In two steps, since a row alone cannot always be understood: `draft_row` reads the fields, `finish` decides
what the gold means once the whole file has been seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from interp.question import Kind, Question
from interp.tasks.grading import check_gold
from interp.tasks.row import Row
from interp.tasks.row_fields import Fields, RowError, name_fields
from interp.tasks.row_gold import (
    IndexHabit,
    Way,
    after_hashes,
    find_gold,
    find_index_habit,
    is_number,
    is_quantity,
)
from interp.tasks.row_options import Options, read_options
from interp.tasks.row_reader import Reader

_SHORTEST = 40


@dataclass(frozen=True)
class Draft:
    """The fields of a row, read but not yet understood.

    Attributes:
        line: Where the row begins.
        fields: Its fields, and what the file calls them.
        text: The question; whole if `is_whole`, else without its options.
        is_whole: Whether the text shows the options itself.
        kind: The kind that the row gives; None if it gives none.
        gold: Its golds, as they stand.
        hashed: Whether a gold was taken from behind the `####` of a worked answer.
        options: Its options.
        base: What it says its first option is counted as.
        candidates: The answers that it says the question names.
        id: Its id; empty if it has none.
        subject: Its subject.
        template: What it says it was made from.
    """

    line: int
    fields: Fields
    text: str
    is_whole: bool
    kind: Kind | None
    gold: tuple[str, ...]
    hashed: bool
    options: Options
    base: int | None
    candidates: tuple[str, ...]
    id: str
    subject: str
    template: str

    @property
    def is_choice(self) -> bool:
        """Whether it is a choice question."""
        return self.kind is Kind.CHOICE or (self.kind is None and bool(self.options))

    @property
    def is_open(self) -> bool:
        """Whether its kind is to be inferred from its gold."""
        return self.kind is None and not self.options


@dataclass(frozen=True)
class Habits:
    """What all rows of a file together say about how golds are written.

    Attributes:
        index: How whole numbers name options.
        quantities: Whether every gold of the rows without kind and options is a number, with or without unit.
    """

    index: IndexHabit
    quantities: bool


@dataclass(frozen=True)
class Finished:
    """A question, and how its row was understood.

    Attributes:
        draft: The row.
        question: What came of it.
        ways: How its golds name their options; "unit" for a number with a unit, "hashes" for a gold that
            stood behind `####`.
    """

    draft: Draft
    question: Question
    ways: frozenset[Way | str]

    @property
    def line(self) -> int:
        """Where the row begins."""
        return self.draft.line


def draft_row(row: Row) -> Draft:
    """Reads the fields of a row.

    Raises:
        RowError: Fields are missing, of the wrong type, or contradict each other.
    """
    fields = name_fields(row.values)
    reader = Reader(fields)
    whole = fields.values.get("question") is None and fields.values.get("text") is not None
    if not whole and fields.values.get("text") is not None:
        reader.refuse("text", "question and text", "expected either question or text, not both")
    text = reader.text("text" if whole else "question", required=True)
    gold = reader.texts("gold", required=True, may_be_list=row.has_cells)
    hashed = [after_hashes(answer) for answer in gold]
    try:
        options = read_options(fields)
    except RowError as error:
        options = Options()
        reader.problems += error.problems
    draft = Draft(
        row.line,
        fields,
        text,
        whole,
        reader.kind(),
        tuple(short or answer for short, answer in zip(hashed, gold, strict=True)),
        any(hashed),
        options,
        reader.base(),
        reader.texts("candidates", may_be_list=True),
        *map(reader.text, ("id", "subject", "template")),
    )
    if not reader.problems:
        _check_options(draft, reader)
    if reader.problems:
        raise RowError(*reader.problems)
    return draft


def question_from_row(values: Mapping[str, Any]) -> Question:
    """The question of a row that stands alone; its id is empty if the row has none.

    Raises:
        RowError: Fields are missing, of the wrong type, or contradict each other; or the gold could mean two
            things, which other rows might have told.
    """
    draft = draft_row(Row(1, values))
    return finish(draft, find_habits([draft])).question


def find_habits(drafts: Sequence[Draft]) -> Habits:
    """What the rows of a file together say about how golds are written."""
    chosen = (
        (draft.line, gold.strip(), draft.options)
        for draft in drafts
        if draft.is_choice and draft.base is None
        for gold in draft.gold
    )
    quantities = all(is_quantity(gold) for draft in drafts if draft.is_open for gold in draft.gold)
    return Habits(find_index_habit(chosen), quantities)


def finish(draft: Draft, habits: Habits) -> Finished:
    """The question of a row; its id is empty if the row has none.

    Without a kind, a row with choices is a choice, one whose every gold is written as a number is a number,
    and any other is text. A number with a unit is a number where all golds of the file are; elsewhere it is
    refused, since it may be a name. The candidates of a choice are its labels unless the row says otherwise.

    Raises:
        RowError: The gold cannot be read under the question's kind, or could mean two things.
    """
    kind, ways = _kind(draft, habits)
    gold, labels, texts = draft.gold, draft.options.labels, draft.options.texts
    if kind is Kind.CHOICE:
        found = [_label(draft, answer, habits) for answer in gold]
        gold = tuple(dict.fromkeys(label for label, _ in found))
        ways = frozenset(way for _, way in found)
    text, candidates = draft.text, draft.candidates
    if texts and not draft.is_whole:
        candidates = candidates or labels
        text += "".join(f"\n{label}. {choice}" for label, choice in zip(labels, texts, strict=True))
    question = Question(draft.id, text, kind, gold, texts, labels, candidates, draft.subject, draft.template)
    for answer in gold:
        why = _unreadable(kind, answer, texts, labels)
        if why is not None:
            raise _gold_error(draft, "unreadable gold", f"{_short(answer)} cannot be read as {kind}: {why}")
    return Finished(draft, question, ways | {"hashes"} if draft.hashed else ways)


def _check_options(draft: Draft, reader: Reader) -> None:
    """Refuses options without labels to match, and options where none belong."""
    n_texts, labels = len(draft.options.texts), draft.options.labels
    if not draft.is_choice:
        if draft.options or draft.fields.values.get("labels") is not None:
            kind = draft.kind or "text or number"
            reader.refuse("choices", "choices", f"belong to a question of kind choice, this one is {kind}")
    elif n_texts < 2:
        reader.refuse("choices", "choices", f"expected at least two options, got {n_texts}")
    elif len(labels) != n_texts:
        reader.refuse("labels", "labels", f"expected {n_texts}, one an option, got {len(labels)}")
    elif len({label.casefold() for label in labels}) < n_texts:
        reader.refuse("labels", "labels", f"expected different labels, got {', '.join(labels)}")


def _kind(draft: Draft, habits: Habits) -> tuple[Kind, frozenset[Way | str]]:
    """The kind of a row; for a number, "unit" if a unit stands beside it."""
    nothing: frozenset[Way | str] = frozenset()
    if draft.kind is not None:
        return draft.kind, nothing
    if draft.options:
        return Kind.CHOICE, nothing
    plain = [is_number(gold) for gold in draft.gold]
    readable = not any(_unreadable(Kind.NUMBER, gold) for gold in draft.gold)
    if readable and all(plain):
        return Kind.NUMBER, nothing
    if readable and all(map(is_quantity, draft.gold)):
        if habits.quantities:
            return Kind.NUMBER, frozenset({"unit"})
        gold = next(gold for gold, is_plain in zip(draft.gold, plain, strict=True) if not is_plain)
        message = f"{_short(gold)} may be a number with a unit or a text; add the field kind, number or text"
        raise _gold_error(draft, "number or text", message)
    return Kind.TEXT, nothing


def _label(draft: Draft, gold: str, habits: Habits) -> tuple[str, Way]:
    try:
        return find_gold(gold, draft.options, habits.index, draft.base)
    except ValueError as error:
        raise _gold_error(draft, "gold names no one option", str(error)) from None


def _gold_error(draft: Draft, rule: str, message: str) -> RowError:
    return RowError((draft.fields.name("gold"), rule, message))


@lru_cache(4096)
def _unreadable(
    kind: Kind, gold: str, choices: tuple[str, ...] = (), labels: tuple[str, ...] = ()
) -> str | None:
    """Why the grader cannot read a gold; None if it can."""
    return check_gold(Question("", "", kind, (gold,), choices, labels))


def _short(value: str) -> str:
    return repr(value if len(value) <= _SHORTEST else f"{value[: _SHORTEST - 3]}...")
