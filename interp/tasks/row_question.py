"""Turns one row of a question file into a `Question`, or says what is wrong with its fields."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from string import ascii_uppercase
from typing import Any

from interp.question import Kind, Question
from interp.tasks.grading import check_gold
from interp.tasks.rows import Numeral, type_name

FIELDS = ("id", "question", "text", "kind", "gold", "choices", "labels", "candidates", "subject")
"""Fields that are read: "question" gets its choices below it, "text" is whole as the model sees it."""

_NUMERAL = re.compile(
    r"[+\-\u2212]?[$£€]?[+\-\u2212]?(\d{1,3}([ ,\u00a0\u2009\u202f]\d{3})+|\d+)?(\.\d+)?"
    r"([eE][+\-\u2212]?\d+|\s*/\s*\d+)?\s?%?"
)


class RowError(Exception):
    """The fields of a row that cannot be used; caught where the file is checked.

    Attributes:
        problems: Triples of field, kind of problem, and message.
    """

    def __init__(self, problems: Sequence[tuple[str, str, str]]) -> None:
        """Keeps the problems."""
        super().__init__(problems)
        self.problems = tuple(problems)


def question_from_row(values: Mapping[str, Any]) -> Question:
    """The question of a row; its id is empty if the row has none.

    Without a kind, a row with choices is a choice, one whose every gold is written as a number is a number,
    and any other is text. The candidates of a choice are its labels unless the row says otherwise.

    Raises:
        RowError: Fields are missing, of the wrong type, or contradict each other.
    """
    reader = _Reader(values)
    field = "text" if values.get("question") is None and values.get("text") is not None else "question"
    if "text" in values and field == "question" and values["text"] is not None:
        reader.refuse("text", "question and text", "expected either question or text, not both")
    text = reader.text(field, required=True)
    gold = reader.texts("gold", required=True)
    choices = reader.texts("choices")
    labels = reader.texts("labels") or (tuple(ascii_uppercase[: len(choices)]) if choices else ())
    candidates = reader.texts("candidates")
    identity, subject = reader.text("id"), reader.text("subject")
    kind = reader.kind(gold, choices)
    if reader.problems:
        raise RowError(reader.problems)
    reader.check_choices(kind, choices, labels)
    if kind is Kind.CHOICE and not reader.problems:
        reader.check_labels(gold, choices, labels)
    if reader.problems:
        raise RowError(reader.problems)
    if choices and field == "question":
        candidates = candidates or labels
        text += "".join(f"\n{label}. {choice}" for label, choice in zip(labels, choices, strict=True))
    question = Question(identity, text, kind, gold, choices, labels, candidates, subject)
    return _with_readable_gold(question)


def _with_readable_gold(question: Question) -> Question:
    """The question, once each of its golds has been read by the grader.

    Raises:
        RowError: A gold cannot be read under the question's kind.
    """
    for gold in question.gold:
        why = _unreadable(question.kind, gold, question.choices, question.labels)
        if why is not None:
            message = f"{_short(gold)} cannot be read as {question.kind}: {why}"
            raise RowError([("gold", "unreadable gold", message)])
    return question


@lru_cache(4096)
def _unreadable(
    kind: Kind, gold: str, choices: tuple[str, ...] = (), labels: tuple[str, ...] = ()
) -> str | None:
    """Why the grader cannot read a gold; None if it can."""
    return check_gold(Question("", "", kind, (gold,), choices, labels))


class _Reader:
    """Takes typed fields out of a row and collects what is wrong with them."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self.problems: list[tuple[str, str, str]] = []

    def refuse(self, field: str, rule: str, message: str) -> None:
        self.problems.append((field, rule, message))

    def text(self, field: str, *, required: bool = False) -> str:
        """A text field; "" if it is absent or was refused."""
        value = self.values.get(field)
        if value is None:
            if required:
                found = "is null or empty" if field in self.values else "is missing"
                self.refuse(field, f"missing {field}", f"{found}; expected text")
            return ""
        if not isinstance(value, str) or (field == "question" and isinstance(value, Numeral)):
            self.refuse(field, f"type of {field}", f"expected text, got {type_name(value)}")
            return ""
        return self._clean(field, value)

    def texts(self, field: str, *, required: bool = False) -> tuple[str, ...]:
        """A list of texts or numbers; one alone counts as a list for the gold."""
        value = self._listed(field)
        if value is None or value == []:
            if required:
                found = "is missing" if field not in self.values else "is null or empty"
                self.refuse(field, f"missing {field}", f"{found}; expected an answer")
            return ()
        single = field == "gold" and isinstance(value, str)
        if not isinstance(value, list) and not single:
            expected = "text, a number or a list of these" if field == "gold" else 'a list such as ["3", "8"]'
            self.refuse(field, f"type of {field}", f"expected {expected}, got {type_name(value)}")
            return ()
        items: list[str] = []
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str):
                items.append(self._clean(field, item))
            else:
                self.refuse(
                    field, f"type of {field}", f"expected text or a number, got {type_name(item)} in the list"
                )
        return tuple(items)

    def kind(self, gold: Sequence[str], choices: Sequence[str]) -> Kind:
        """The kind that the row gives, or the one that fits it."""
        given = self.text("kind")
        if given in [*Kind]:
            return Kind(given)
        if given:
            self.refuse("kind", "unknown kind", f"expected {', '.join(Kind)}, got {_short(given)}")
        if choices:
            return Kind.CHOICE
        numbers = all(_NUMERAL.fullmatch(g.strip()) and re.search(r"\d", g) for g in gold)
        if gold and numbers and not any(_unreadable(Kind.NUMBER, g) for g in gold):
            return Kind.NUMBER
        return Kind.TEXT

    def check_choices(self, kind: Kind, choices: Sequence[str], labels: Sequence[str]) -> None:
        """Refuses choices without labels to match, and choices where none belong."""
        if kind is not Kind.CHOICE:
            if choices or self.values.get("labels") is not None:
                self.refuse("choices", "choices", f"belong to a question of kind choice, this one is {kind}")
        elif len(choices) < 2:
            self.refuse("choices", "choices", f"expected at least two options, got {len(choices)}")
        elif len(labels) != len(choices):
            self.refuse("labels", "labels", f"expected {len(choices)}, one an option, got {len(labels)}")
        elif len(set(labels)) < len(labels):
            self.refuse("labels", "labels", f"expected different labels, got {', '.join(labels)}")

    def check_labels(self, gold: Sequence[str], choices: Sequence[str], labels: Sequence[str]) -> None:
        """Refuses a gold that is no label; says which label an option's text has."""
        for answer in gold:
            if answer not in labels:
                hint = f" (that is the text of {labels[choices.index(answer)]})" if answer in choices else ""
                expected = f"expected one of the labels {', '.join(labels)}"
                self.refuse("gold", "gold is no label", f"{expected}, got {_short(answer)}{hint}")

    def _listed(self, field: str) -> Any:
        """The field; text that is a JSON list, as in a CSV file, is read as one."""
        value = self.values.get(field)
        if not isinstance(value, str) or not value.strip().startswith("["):
            return value
        try:
            parsed = json.loads(value, parse_int=Numeral, parse_float=Numeral)
        except (ValueError, RecursionError):
            return value
        return parsed if isinstance(parsed, list) else value

    def _clean(self, field: str, value: str) -> str:
        if not value.strip():
            self.refuse(field, f"missing {field}", "is empty; expected text")
        try:
            value.encode()
        except UnicodeEncodeError:
            self.refuse(field, "unicode", "holds half of a surrogate pair, which is not valid Unicode")
        return str(value)


def _short(value: str) -> str:
    return repr(value if len(value) <= 40 else f"{value[:37]}...")
