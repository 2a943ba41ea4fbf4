"""Reads which option of a choice question a text picks: by its label, or by its full text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_uppercase

from interp.question import Question, Reason
from interp.tasks.cue import NO_ANSWER, Reading, Region, is_twin
from interp.tasks.read_text import normalize, trim

_NAMED = r"(?:option|choice|letter|number)"
_FILLER = (
    rf"(?:the|{_NAMED}|correct|clearly|definitely|probably|most|likely|therefore|thus|indeed|actually|simply"
    r"|just|either|both|it|is|it['’]s|i\s(?:think|believe|choose|pick))"
)
_INVISIBLE = r"\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
_DECOR = rf"""[\s*_$"'`‘“(\[{{:<>{_INVISIBLE}]"""
_LEAD = re.compile(
    rf"(?:{_DECOR}|\\[(\[]|[-–•]\s)*+(?P<fillers>(?:{_FILLER}(?![^\W_]){_DECOR}++)*+)", re.IGNORECASE
)
_BARE_LEAD = re.compile(rf"{_DECOR}*+(?P<fillers>)")
_ONLY_NAMED = re.compile(rf"(?:the\W+)?(?:{_NAMED}\W+)?", re.IGNORECASE)
_JOIN = re.compile(
    r"""[\s*_$"'`’”)\]}]*+(?:(?:,|/|&|\||[-–—])\s*+|(?<=[\s*_$"'`’”)\]}])(?:(?:or|and|nor)(?![^\W_])\s*+)?)"""
    rf"(?:(?:or|and|nor)\s++)?(?:(?:either|maybe|{_NAMED})\s++)?",
    re.IGNORECASE,
)
_BOUNDARY = r"(?![^\W_])(?!['’][^\W\d_])(?![-‐‑][^\W_]{2})(?![+#])(?![.,][0-9])"
_GO_ON = re.compile(r"(?:because|since|as|is|which|and|or|nor|but|for|if|due)(?![^\W_])", re.IGNORECASE)
_WORD_NEXT = re.compile(r"""[\s]++(?=[^\W\d_])""")
_TAIL = re.compile(rf"""[\s*_$"'`’”)\]}}\\>.,:;!?…{_INVISIBLE}]*+""")
_AFTER_LABEL = " \t\n.):*_]}-–—"
_POINTED = re.compile(rf"(?:(?<![^\W_]){_NAMED}\s+[(*]{{0,3}}|\()(?=[^\W_]{{1,3}}(?![^\W_]))", re.IGNORECASE)
_NEGATION = re.compile(r"(?<![^\W_])(?:not|neither|nor|none|never|cannot)(?![^\W_])|n['’]t", re.IGNORECASE)
MAX_REST = 2000


@dataclass(frozen=True)
class _Token:
    """A letter or number that stands for an option; `label` is None if no option has it."""

    start: int
    end: int
    label: str | None


def labels_of(question: Question) -> tuple[str, ...]:
    """The labels of a choice question: its own, else A, B, C, ..."""
    return question.labels or tuple(ascii_uppercase[: len(question.choices)])


def find_label(labels: Sequence[str], written: str) -> str | None:
    """The label written so, in any case; None if there is none."""
    if written in labels:
        return written
    return next((label for label in labels if label.casefold() == written.casefold()), None)


def find_option(question: Question, text: str) -> list[str]:
    """Labels of all options with this text, after normalization."""
    return _options(labels_of(question), question.choices).get(normalize(text), [])


@lru_cache(maxsize=1024)
def _options(labels: tuple[str, ...], choices: tuple[str, ...]) -> dict[str, list[str]]:
    options: dict[str, list[str]] = {}
    for label, choice in zip(labels, choices, strict=False):
        options.setdefault(normalize(choice), []).append(label)
    options.pop("", None)
    return options


def canonical_choice(question: Question, answer: str) -> str | None:
    """The label that an answer names by itself or by its option's full text; None if not exactly one."""
    label = find_label(labels_of(question), answer) or find_label(labels_of(question), answer.strip())
    options = find_option(question, answer)
    return label or (options[0] if len(options) == 1 else None)


def read_choice(question: Question, region: Region, *, cut: bool) -> Reading:
    """Reads the option that a region picks.

    Args:
        question: Gives options and labels.
        region: Where to read; without a cue it must be a label or an option's text and nothing else.
        cut: Whether the text was cut at its length limit; a label that begins another one may go on.
    """
    token = _token_at(question, region, region.start, _LEAD)
    by_text = _by_option_text(question, region)
    if by_text is not None:
        is_other = token is not None and token.label not in (None, by_text.answer)
        if is_twin(region) or (is_other and _stands_alone(region, token)):
            return Reading(reason=Reason.AMBIGUOUS, span=by_text.span)
        return by_text
    if token is None:
        return _by_pointer(question, region) if region.cued else NO_ANSWER
    reason = _refusal(question, region, token, cut)
    return Reading(None if reason else token.label, reason, (token.start, token.end))


def _refusal(question: Question, region: Region, token: _Token, cut: bool) -> Reason | None:
    """Why a letter that was found does not count; None if it does."""
    written, at_end = region.text[token.start : token.end], token.end == len(region.text)
    if cut and at_end and any(_begins(written, label) for label in labels_of(question)):
        return Reason.TRUNCATED
    own_text = _rest_options(question, region, token)
    contradicts = bool(own_text) and token.label not in own_text
    if contradicts or is_twin(region) or _second(question, region, token) is not None:
        return Reason.AMBIGUOUS
    if not region.cued and not own_text and not _is_whole(region.text, token, region.end):
        return Reason.NO_ANSWER
    return Reason.NOT_OFFERED if token.label is None else None


def _begins(written: str, label: str) -> bool:
    return len(label) > len(written) and label.casefold().startswith(written.casefold())


def _is_whole(text: str, token: _Token, end: int) -> bool:
    tail = _TAIL.match(text, token.end, end)
    return tail is not None and tail.end() == end


def _stands_alone(region: Region, token: _Token | None) -> bool:
    """Whether a letter is no word of an option's text: nothing follows, or "A" and a mark ("A (blue)")."""
    if token is None:
        return False
    written, rest = region.text[token.start : token.end], region.text[token.end : region.ends[-1]].lstrip()
    return _is_whole(region.text, token, region.ends[-1]) or (written in "aA" and not rest[:1].isalnum())


def _by_option_text(question: Question, region: Region) -> Reading | None:
    longest = 2 * max(map(len, question.choices), default=0) + 80
    for end in region.ends:
        if end - region.start > longest:
            break
        found = find_option(question, region.text[region.start : end])
        if found:
            span = trim(region.text, region.start, end)
            is_one = len(found) == 1
            return Reading(found[0] if is_one else None, None if is_one else Reason.AMBIGUOUS, span)
    return None


def _by_pointer(question: Question, region: Region) -> Reading:
    """An option pointed out within a sentence: "green (B)", "it must be option B"."""
    found: dict[str | None, _Token] = {}
    for pointer in _POINTED.finditer(region.text, region.start, region.end):
        token = _token_at(question, region, pointer.end(), _BARE_LEAD)
        if token is not None:
            found.setdefault(token.label, token)
    if not found or _NEGATION.search(region.text, region.start, region.end):
        return NO_ANSWER
    token = next(iter(found.values()))
    span = token.start, token.end
    if len(found) > 1 or _second(question, region, token) is not None:
        return Reading(reason=Reason.AMBIGUOUS, span=span)
    return Reading(token.label, Reason.NOT_OFFERED if token.label is None else None, span)


def _rest_options(question: Question, region: Region, token: _Token) -> list[str]:
    """Labels of the options whose full text follows the token: "B) green"."""
    for end in region.ends:
        rest = region.text[token.end : min(end, token.end + MAX_REST)].lstrip(_AFTER_LABEL)
        found = find_option(question, rest) if token.end < end <= token.end + MAX_REST else []
        if found:
            return found
    return []


def _second(question: Question, region: Region, first: _Token) -> _Token | None:
    """Another letter joined to the first: "B or C", "B, C"."""
    join = _JOIN.match(region.text, first.end, region.end)
    if join is None or join.end() == first.end:
        return None
    token = _token_at(question, region, join.end(), _BARE_LEAD)
    if token is None or (token.label is None and not region.text[token.start].isalpha()):
        return None
    spaced = not region.text[first.end : join.end()].strip(" \t*_$")
    if spaced and not region.text[token.start].isupper() and not region.text[token.start].isdigit():
        return None
    return token if (token.label or "") != (first.label or "-") else None


def _token_at(question: Question, region: Region, start: int, lead: re.Pattern[str]) -> _Token | None:
    """The label, or what looks like one, that stands at `start` after decoration and filler words."""
    text, end, labels = region.text, region.end, labels_of(question)
    skipped = lead.match(text, start, end)
    if skipped is None:
        return None
    match = _label_pattern(labels).match(text, skipped.end(), end)
    if match is None:
        return None
    written = match[0]
    token = _Token(match.start(), match.end(), find_label(labels, written))
    alone = _is_whole(text, token, end)
    if written.islower() and written not in labels:
        after_filler = _ONLY_NAMED.fullmatch(skipped["fillers"]) is None
        counts = not after_filler and (token.label is not None or alone)
    elif written.isdigit() and token.label is None:
        counts = alone
    else:
        counts = True
    may_be_word = written in {"a", "A", "i", "I"} or written.isdigit()
    return token if counts and not (may_be_word and _is_word(question, region, token)) else None


def _is_word(question: Question, region: Region, token: _Token) -> bool:
    """Whether an "a", "I" or number is an article, a pronoun or a count: a word follows directly."""
    following = _WORD_NEXT.match(region.text, token.end, region.end)
    if following is None or _GO_ON.match(region.text, following.end(), region.end):
        return False
    return token.label is None or token.label not in _rest_options(question, region, token)


@lru_cache(maxsize=256)
def _label_pattern(labels: tuple[str, ...]) -> re.Pattern[str]:
    known = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
    return re.compile(rf"(?:{known + '|' if known else ''}[A-Za-z]|[0-9]{{1,3}}){_BOUNDARY}", re.IGNORECASE)


def choice_flaw(question: Question) -> str | None:
    """Why no answer to a choice question could be read, in one line; None if it can."""
    return next(_choice_flaws(question, labels_of(question)), None)


def _choice_flaws(question: Question, labels: tuple[str, ...]) -> Iterator[str]:
    if len(labels) < 2:
        yield "a choice question needs at least two options"
    if question.choices and len(labels) != len(question.choices):
        hint = "" if question.labels else "; more than 26 options need labels of their own"
        yield f"{len(question.choices)} choices but {len(labels)} labels{hint}"
    if "" in map(str.strip, labels):
        yield "a label is empty"
    if len({label.casefold() for label in labels}) != len(labels):
        yield "two options have the same label"
    for gold in question.gold:
        if gold not in labels:
            yield f"gold {gold!r} is not among the labels {', '.join(labels)}"
