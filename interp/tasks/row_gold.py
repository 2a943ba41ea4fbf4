"""Reads the gold of a row: which option it names, or whether it is a number; in doubt it is refused."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from interp.tasks.numerals import CURRENCY
from interp.tasks.read_text import normalize
from interp.tasks.row_options import Options

Way = Literal["label", "text", "labelled", "index"]
"""How a gold names an option: B, its text, "B. text", or its place."""

_INDEX = re.compile(r"0|[1-9][0-9]?")
_BARE = re.compile(r"\(?(?P<label>[^\W_]{1,3})[.):]?")
_LABELLED = re.compile(
    r"(?:\((?P<inner>[^\W_]{1,3})\)\s*|(?P<outer>[^\W_]{1,3})(?:[.:]\s+|\)\s*))(?P<text>\S.*)", re.DOTALL
)
_HASHES = re.compile(r"(?:.*\n)?[ \t]*#{4}[ \t]*(?P<gold>[^\s#][^\n]*?)\s*", re.DOTALL)
_AMOUNT = (
    r"[+\-\u2212]?(\d{1,3}([ ,\u00a0\u2009\u202f]\d{3})+|\d+)?(\.\d+)?([eE][+\-\u2212]?\d+|\s*/\s*\d+)?\s?%?"
)
_NUMERAL = re.compile(rf"[+\-\u2212]?[{re.escape(CURRENCY)}]?{_AMOUNT}")
_TOUCHING = (  # units that may touch their number
    r"(?:[mcdk]?m|[mµk]?g|[mcd]?[lL]|[kMGT]B|[kM]?Hz|[kM]W|[kM]J|[kMh]?Pa|mV|ms|min|h|hrs?|mph|lbs?|oz|ft"
    r"|°\s?[CF]?|Ω)"
)
_APART = rf"(?:[a-z]+|{_TOUCHING}|[A-Z]{{3}}|[BWJVKNCF])"
_UNIT = rf"(?:{_TOUCHING}|\s{_APART})(?:(?:\s|/|\s/\s|-){_APART}){{0,2}}"
_SIGNED = rf"[+\-\u2212]?[{re.escape(CURRENCY)}]?\s?{_AMOUNT}"
_WITH_UNIT = re.compile(rf"(?:(?:[A-Z]{{3}}|Rs\.?)\s)?{_SIGNED}(?:{_UNIT})?\.?")
_NO_UNIT = re.compile(r"\d\s*(?:st|nd|rd|th|am|pm|a\.m|p\.m)\b|\bo['’]clock\b", re.IGNORECASE)


@dataclass(frozen=True)
class IndexHabit:
    """How the golds of a file that are whole numbers are to be understood, from all of its rows.

    Attributes:
        zero: Line of a gold 0 that is no option's text; None if there is none.
        top: Line of a gold equal to its number of options that is no option's text.
        n_index: How many golds can only be an index.
        n_text: How many can only be an option's text.
        n_either: How many can be both.
    """

    zero: int | None = None
    top: int | None = None
    n_index: int = 0
    n_text: int = 0
    n_either: int = 0

    @property
    def base(self) -> int | None:
        """What the first option is counted as, 0 or 1; None if the rows do not tell, or disagree."""
        if (self.zero is None) == (self.top is None):
            return None
        return 0 if self.top is None else 1

    @property
    def is_text(self) -> bool:
        """Whether a gold that can be both is an option's text."""
        return self.n_text > 0 and self.n_index == 0

    @property
    def is_index(self) -> bool:
        """Whether a gold that can be both is an index: were it a text, most golds would name no option."""
        return self.n_text == 0 and self.n_index > self.n_either

    def describe(self) -> str:
        """What the file shows of its base, in words."""
        if self.zero is not None and self.top is not None:
            return f"line {self.zero} has a 0 and line {self.top} the number of its options"
        if self.zero is not None:
            return f"line {self.zero} has a 0"
        if self.top is not None:
            return f"line {self.top} has the number of its options"
        return "no row of the file has a 0 or the number of its options"


def find_index_habit(golds: Iterable[tuple[int, str, Options]]) -> IndexHabit:
    """How whole numbers are used as golds, from lines, golds and options of all choice rows of a file."""
    counts = {"n_index": 0, "n_text": 0, "n_either": 0}
    seen: dict[str, int] = {}
    for line, gold, options in golds:
        if not is_index(gold, options):
            continue
        place, n = int(gold), len(options.texts)
        if gold in options.texts:
            counts["n_either" if place <= n else "n_text"] += 1
        elif place <= n:
            counts["n_index"] += 1
            if place in (0, n):
                seen.setdefault("zero" if place == 0 else "top", line)
    return IndexHabit(**seen, **counts)


def is_index(gold: str, options: Options) -> bool:
    """Whether a gold may be the place of an option: a whole number, where the labels are no numbers."""
    return _INDEX.fullmatch(gold.strip()) is not None and not any(map(str.isdigit, options.labels))


def find_gold(gold: str, options: Options, habit: IndexHabit, base: int | None) -> tuple[str, Way]:
    """The label of the option that a gold names, and how it names it.

    Args:
        gold: What stands in the row.
        options: The row's options.
        habit: How the file uses whole numbers.
        base: The row's own gold_index_base, if it has one.

    Raises:
        ValueError: It names none, or it could name two; the message says which and what to write.
    """
    gold = gold.strip()
    if base is not None and _INDEX.fullmatch(gold):
        return _by_index(gold, options, base), "index"
    if gold in options.labels and options.named:
        return gold, "label"
    if is_index(gold, options):
        return _index_or_text(gold, options, habit)
    found: dict[str, Way] = {}
    for label in _by_text(gold, options):
        found[label] = "text"
    label = _label_like(gold, options)
    if label is not None:
        found[label] = "label"
    if not found:
        found = _by_labelled_text(gold, options)
    if len(found) > 1:
        could = " and ".join(f"{label} ({_text_of(label, options)!r})" for label in sorted(found))
        example = f"{min(found)}. {_text_of(min(found), options)}"
        raise ValueError(f"{_short(gold)} may be {could}; write for instance {example!r}")
    if not found:
        shown = ", ".join(options.labels)
        raise ValueError(
            f'expected one of the labels {shown}, an option\'s text or "B. text", got {_short(gold)}'
        )
    return next(iter(found.items()))


def after_hashes(gold: str) -> str | None:
    """What a worked answer gives after `####` at its end, as GSM8K writes its golds; None if nothing."""
    match = _HASHES.fullmatch(gold) if "####" in gold else None
    return match["gold"] if match else None


def is_number(gold: str) -> bool:
    """Whether a gold is written as a number and nothing else ("007", "1e5", "3/4", "$18", "50%")."""
    gold = gold.strip()
    return re.search(r"\d", gold) is not None and _NUMERAL.fullmatch(gold) is not None


def is_quantity(gold: str) -> bool:
    """Whether a gold may be a number with its unit ("18 apples", "USD 18", "5 km/h"), or a number."""
    gold = gold.strip()
    return (
        re.match(r"\D{0,8}\d", gold) is not None
        and _WITH_UNIT.fullmatch(gold) is not None
        and _NO_UNIT.search(gold) is None
    )


def _by_index(gold: str, options: Options, base: int) -> str:
    place = int(gold) - base
    if not 0 <= place < len(options.texts):
        last = len(options.texts) - 1 + base
        raise ValueError(f"expected an index from {base} to {last}, got {gold}")
    return options.labels[place]


def _index_or_text(gold: str, options: Options, habit: IndexHabit) -> tuple[str, Way]:
    """A whole number that is no label: an option's text, or its place."""
    texts = [label for label, text in zip(options.labels, options.texts, strict=True) if text.strip() == gold]
    if not texts and int(gold) > len(options.texts):
        shown = ", ".join(options.labels)
        raise ValueError(f"expected one of the labels {shown}, or an option's text or index, got {gold}")
    if len(texts) == 1 and (int(gold) > len(options.texts) or habit.is_text):
        return texts[0], "text"
    if not texts or habit.is_index:
        if habit.base is None:
            raise ValueError(
                f"{gold} may count the options from 0 or from 1 ({habit.describe()}); "
                "add the field gold_index_base, 0 or 1, or write the label"
            )
        return _by_index(gold, options, habit.base), "index"
    raise ValueError(f"{gold} may be the text or the index of an option; write its label")


def _by_text(gold: str, options: Options) -> list[str]:
    """Labels of the options with this text: letter by letter, else as the grader compares texts."""
    pairs = [*zip(options.labels, options.texts, strict=True)]
    same = [label for label, text in pairs if text.strip() == gold]
    folded = normalize(gold)
    return same or [label for label, text in pairs if folded and normalize(text) == folded]


def _label_like(gold: str, options: Options) -> str | None:
    """The label that "b", "(B)", "B." or "B)" is."""
    bare = _BARE.fullmatch(gold)
    written = bare["label"] if bare else gold
    if written in options.labels:
        return written
    return next((label for label in options.labels if label.casefold() == written.casefold()), None)


def _by_labelled_text(gold: str, options: Options) -> dict[str, Way]:
    """The label of "B. text", once the text has been found to be that of B."""
    match = _LABELLED.fullmatch(gold)
    label = _label_like(match["inner"] or match["outer"], options) if match else None
    if match is None or label is None:
        return {}
    text = _text_of(label, options)
    if normalize(text) != normalize(match["text"]):
        raise ValueError(f"{_short(gold)} names {label}, but the text of {label} is {_short(text)}")
    return {label: "labelled"}


def _text_of(label: str, options: Options) -> str:
    return options.texts[options.labels.index(label)]


def _short(value: str) -> str:
    return repr(value if len(value) <= 40 else f"{value[:37]}...")
