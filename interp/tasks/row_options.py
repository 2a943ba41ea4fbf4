"""The options of a choice question, in every shape in which files hold them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase
from typing import Any, cast

from interp.tasks.row import Numeral, type_name
from interp.tasks.row_fields import Fields, RowError

SHAPES = '["3", "8"], {"text": [...], "label": [...]}, {"A": "3", "B": "8"} or "A. 3\\nB. 8"'
"""How options may be written, for messages."""

_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_LABELLED = re.compile(
    r"\s*(?P<open>\()?(?P<label>[A-Za-z]|[1-9][0-9]?)(?P<close>[.):])(?:\s+|(?<=\))(?=\S))(?P<text>\S.*)",
    re.DOTALL,
)
_LABEL = re.compile(r"[^\W_]{1,3}")


@dataclass(frozen=True)
class Options:
    """The options of a question.

    Attributes:
        texts: What each says.
        labels: What each is called; A, B, C, ... unless the row says otherwise.
        named: Whether the row says otherwise: a gold that is one of these labels is then that label.
    """

    texts: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    named: bool = False

    def __bool__(self) -> bool:
        """Whether there are options at all."""
        return bool(self.texts)


def read_options(fields: Fields) -> Options:
    """The options of a row; none if it has no such field and no such columns.

    Raises:
        RowError: They are in no known shape, or their labels are not.
    """
    value = _parsed(fields.values.get("choices"))
    named = _given_labels(fields)
    options = _from_columns(fields) if "choices" not in fields.values else _from_value(fields, value)
    if named and options.named and named != options.labels:
        message = f"expected the labels of the choices ({', '.join(options.labels)}), got {', '.join(named)}"
        raise RowError((fields.name("labels"), "labels", message))
    if named:
        options = Options(options.texts, named, named=True)
    if not options.labels:
        options = Options(options.texts, tuple(ascii_uppercase[: len(options.texts)]))
    return options


def split_labelled(pieces: Sequence[str]) -> Options | None:
    """Options from texts that begin with their labels: "A. red", "(B) blue"; None unless all of them do.

    The labels must run on from A, a or 1, all written alike. A piece without a label goes on with the option
    before it; one with a label out of turn spoils all.
    """
    style, labels, texts = None, list[str](), list[str]()
    for piece in pieces:
        match = _LABELLED.fullmatch(piece)
        found = match and (match["open"], match["close"])
        if match is None or (style is not None and found != style):
            if not texts:
                return None
            texts[-1] += f"\n{piece.strip()}"
        else:
            style = found
            labels.append(match["label"])
            texts.append(match["text"].strip())
    n = len(labels)
    sequences = ([*ascii_uppercase[:n]], [*ascii_lowercase[:n]], [str(i + 1) for i in range(n)])
    is_whole = n > 1 and labels in sequences and (style is None or (style[0] is None or style[1] == ")"))
    return Options(tuple(texts), tuple(labels), named=True) if is_whole else None


def _parsed(value: Any) -> Any:
    """The field; text that is a JSON list or object, as in a CSV file, is read as one."""
    if not isinstance(value, str) or not value.strip().startswith(("[", "{")):
        return value
    try:
        parsed = json.loads(value, parse_int=Numeral, parse_float=Numeral)
    except (ValueError, RecursionError):
        return value
    return parsed if isinstance(parsed, list | dict) else value


def _from_value(fields: Fields, value: Any) -> Options:
    name = fields.name("choices")
    if value is None or value in ([], {}):
        return Options()
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return _from_objects(name, cast("list[Any]", value))
    if isinstance(value, list):
        texts = _texts(name, cast("list[Any]", value))
        labelled = split_labelled(texts)
        return labelled if labelled and len(labelled.texts) == len(texts) else Options(texts)
    if isinstance(value, dict):
        return _from_object(name, cast("dict[str, Any]", value))
    lines = [line for line in _LINE_BREAK.split(value) if line.strip()] if isinstance(value, str) else []
    labelled = split_labelled(lines)
    if labelled is not None and not isinstance(value, Numeral):
        return labelled
    got = f"{type_name(value)} that is none of these" if isinstance(value, str) else type_name(value)
    lined = "; as one text, each option begins a line with its label, from A on" if lines else ""
    raise RowError((name, "type of choices", f"expected a list such as {SHAPES}, got {got}{lined}"))


def _from_object(name: str, value: Mapping[str, Any]) -> Options:
    """`{"text": [...], "label": [...]}`, or a text for each label."""
    texts, labels = value.get("text"), value.get("label")
    if {*value} == {"text", "label"} and isinstance(texts, list) and isinstance(labels, list):
        return _named(name, _texts(name, cast("list[Any]", labels)), _texts(name, cast("list[Any]", texts)))
    shown = dict(value)
    while shown and shown[next(reversed(shown))] is None:
        shown.popitem()  # a Parquet file gives every question as many labels as the longest one has
    return _named(name, tuple(shown), _texts(name, [*shown.values()]))


def _from_objects(name: str, items: Sequence[Any]) -> Options:
    for item in items:
        if not isinstance(item, dict) or {*cast("dict[str, Any]", item)} != {"label", "text"}:
            message = 'expected {"label": "A", "text": "..."} for each option'
            raise RowError((name, "type of choices", message))
    labels, texts = ([item[key] for item in items] for key in ("label", "text"))
    return _named(name, _texts(name, labels), _texts(name, texts))


def _from_columns(fields: Fields) -> Options:
    """One column an option; empty cells at the end are options that this question does not have."""
    columns = [*fields.columns]
    while columns and columns[-1][1] is None:
        columns.pop()
    missing = [name for name, value in columns if value is None]
    if missing:
        message = f"is empty, and the option {columns[-1][0]} after it is not; expected text"
        raise RowError((missing[0], "missing option", message))
    texts = tuple(text for name, value in columns for text in _texts(name, [value]))
    return Options(texts, tuple(ascii_uppercase[: len(texts)]), named=fields.lettered and bool(texts))


def _given_labels(fields: Fields) -> tuple[str, ...]:
    value, name = _parsed(fields.values.get("labels")), fields.name("labels")
    if value is None or value == []:
        return ()
    if not isinstance(value, list):
        expected = 'expected a list such as ["A", "B"]'
        raise RowError((name, "type of labels", f"{expected}, got {type_name(value)}"))
    return tuple(label.strip() for label in _texts(name, cast("list[Any]", value)))


def _named(name: str, labels: tuple[str, ...], texts: tuple[str, ...]) -> Options:
    if len(labels) != len(texts):
        message = f"expected as many labels as texts, got {len(labels)} and {len(texts)}"
        raise RowError((name, "labels", message))
    labels = tuple(label.strip() for label in labels)
    odd = [label for label in labels if not _LABEL.fullmatch(label)]
    if odd:
        message = f"expected a letter or a number as each option's label, got {odd[0][:40]!r}"
        raise RowError((name, "labels", message))
    return Options(texts, labels, named=True)


def _texts(name: str, items: Sequence[Any]) -> tuple[str, ...]:
    for item in items:
        if not isinstance(item, str):
            message = f"expected text or a number, got {type_name(item)} in the list"
            raise RowError((name, f"type of {name}", message))
        if not item.strip():
            raise RowError((name, f"missing {name}", "holds an empty text; expected text"))
        if any("\ud800" <= character <= "\udfff" for character in item):
            raise RowError((name, "unicode", "holds half of a surrogate pair, which is not valid Unicode"))
    return tuple(str(item) for item in items)
