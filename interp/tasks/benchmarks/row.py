"""One row of a benchmark's file: its columns with their types, and the question that is made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any, NoReturn, cast

from interp.question import Kind, Question
from interp.tasks.grading import check_gold
from interp.tasks.row_fields import RowError
from interp.tasks.rows import Numeral, type_name


class BenchmarkRow:
    """Typed access to the columns of one row; a column that cannot be used is refused by its name.

    Attributes:
        knobs: The values of the benchmark's knobs.
        file: Path of the row's file inside the dataset.
        number: Place of the row in its file, counted from 0.
    """

    def __init__(
        self, values: Mapping[str, Any], *, knobs: Mapping[str, str], file: str = "", number: int = 0
    ) -> None:
        """Keeps the values and where they come from."""
        self._values = values
        self._above = ""
        self.knobs = knobs
        self.file = file
        self.number = number

    def text(self, column: str) -> str:
        """A text that is not blank, as it is written; a number counts as its spelling.

        Raises:
            RowError: The column is missing, blank, of another type, or no valid Unicode.
        """
        text = self._spelled(column, self._value(column))
        if not text.strip():
            self.refuse(column, "missing", "is empty; expected text")
        return text

    def whole(self, column: str) -> int:
        """A whole number.

        Raises:
            RowError: The column is missing or holds something else.
        """
        value = self._value(column)
        if isinstance(value, bool) or not isinstance(value, int | Numeral) or not _is_whole(str(value)):
            self.refuse(column, "type", f"expected a whole number, got {_shown(value)}")
        return int(value)

    def texts(self, column: str) -> tuple[str, ...]:
        """A list of texts, blank ones included.

        Raises:
            RowError: The column is missing, is no list, or an item is no text.
        """
        value = self._value(column)
        if not isinstance(value, list):
            self.refuse(column, "type", f"expected a list, got {_shown(value)}")
        return tuple(self._spelled(column, item) for item in cast("list[Any]", value))

    def inside(self, column: str) -> BenchmarkRow:
        """The columns of a nested object; they are named with it ("choices.text").

        Raises:
            RowError: The column is missing or is no object.
        """
        value = self._value(column)
        if not isinstance(value, dict):
            self.refuse(column, "type", f"expected an object, got {_shown(value)}")
        inner = BenchmarkRow(
            cast("dict[str, Any]", value), knobs=self.knobs, file=self.file, number=self.number
        )
        inner._above = f"{self._above}{column}."
        return inner

    def refuse(self, column: str, rule: str, message: str) -> NoReturn:
        """Refuses the row for what stands in a column.

        Raises:
            RowError: Always.
        """
        name = f"{self._above}{column}"
        raise RowError((name, f"{rule} of {name}", message))

    def _value(self, column: str) -> Any:
        value = self._values.get(column)
        if value is None:
            found = (
                "is null" if column in self._values else f"is missing; the row has {', '.join(self._values)}"
            )
            self.refuse(column, "missing", found)
        return value

    def _spelled(self, column: str, value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, str | int):
            self.refuse(column, "type", f"expected text, got {_shown(value)}")
        text = str(value)
        if any("\ud800" <= character <= "\udfff" for character in text):
            self.refuse(column, "unicode", "holds half of a surrogate pair, which is not valid Unicode")
        return text


def question_of(row: BenchmarkRow, question: Question, *, gold_column: str) -> Question:
    """The question, once the grader has read its gold.

    Args:
        row: Where it comes from.
        question: The question.
        gold_column: The column to name if its gold cannot be read.

    Raises:
        RowError: The gold cannot be read under the question's kind.
    """
    flaw = check_gold(question)
    if flaw is not None:
        row.refuse(gold_column, "unreadable gold", flaw)
    return question


def choice_question(
    row: BenchmarkRow, question: Question, *, options: Sequence[str], right: int, gold_column: str
) -> Question:
    """The question with its options below it, labelled A, B, C, ...

    Args:
        row: Where it comes from.
        question: Its id, the text above the options and its subject; the rest is filled in.
        options: Texts of the options, in order.
        right: Place of the right option, counted from 0.
        gold_column: The column to name if there is no such option.

    Raises:
        RowError: There are fewer than two options or more than 26, or `right` is none of them.
    """
    if not 2 <= len(options) <= len(ascii_uppercase):
        row.refuse(gold_column, "options", f"expected 2 to 26 options, got {len(options)}")
    if not 0 <= right < len(options):
        row.refuse(gold_column, "gold", f"is option {right} counted from 0; there are {len(options)} options")
    labels = tuple(ascii_uppercase[: len(options)])
    lines = [f"{label}. {option}" for label, option in zip(labels, options, strict=True)]
    made = Question(
        id=question.id,
        text="\n".join([question.text, *lines]),
        kind=Kind.CHOICE,
        gold=(labels[right],),
        choices=tuple(options),
        labels=labels,
        candidates=labels,
        subject=question.subject,
    )
    return question_of(row, made, gold_column=gold_column)


def stem(identity: str, text: str, subject: str = "") -> Question:
    """The part of a choice question that stands above its options."""
    return Question(identity, text.strip(), Kind.CHOICE, (), subject=subject)


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdecimal()


def _shown(value: object) -> str:
    return type_name(value) if isinstance(value, dict | list | bool | None) else repr(str(value)[:40])
