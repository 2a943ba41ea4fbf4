"""Where in a text the answer stands: after the last cue, outside of thinking.

Every function keeps offsets: what must not be read is blanked, never cut out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from interp.question import Reason


@dataclass(frozen=True)
class Region:
    """The part of a text in which the answer is looked for.

    Attributes:
        text: The whole text with what must not be read blanked out; offsets are those of the original.
        start: Where the region starts.
        ends: Where it may end, first the nearest: the ends of the sentences after a cue in prose, one
            end after a cue with its own bounds.
        cued: Whether a cue stands before it; without one the region is the whole text.
        closed: Whether its end is written out (a brace, a tag, a line break), so that it cannot go on.
    """

    text: str
    start: int
    ends: tuple[int, ...]
    cued: bool
    closed: bool = False

    @property
    def end(self) -> int:
        """The nearest end."""
        return self.ends[0]


@dataclass(frozen=True)
class Reading:
    """What a reader found: an answer in canonical spelling, or the reason why there is none.

    Attributes:
        answer: The answer; None if there is a reason.
        reason: Why nothing could be read; None if there is an answer.
        span: Start and end in the text of what was read or refused.
    """

    answer: str | None = None
    reason: Reason | None = None
    span: tuple[int, int] | None = None


NO_ANSWER = Reading(reason=Reason.NO_ANSWER)

_THINK = re.compile(r"<(?P<close>/)?think(?:ing)?>", re.IGNORECASE)
_FONT = re.compile(
    r"\\(?:text(?:bf|it|rm|tt|sf|normal)?|math(?:rm|bf|it|sf|tt)|mbox|emph|left|right)(?![A-Za-z])"
)
_CUE = re.compile(
    r"""\\(?:boxed|fbox)\b[ ]?(?P<brace>\{)?
    | (?P<tag><answer>)
    | (?P<hashes>(?<!\#)\#{4}(?!\#))(?![ ]*(?:step|part|case|method|solution)\b)
    | (?<![^\W_])answer[\s*_"'`$)\]}]{0,8}(?:is(?=n['’]t|[\W_]|$)|[:：])""",
    re.IGNORECASE | re.VERBOSE,
)
_SKIP = re.compile(r"""(?:[\s*_:：$"'`>]|\\[\[(])*+""")
_END = re.compile(
    r"""(?P<line>(?<!:)\n|</answer|<\|)
    | (?<![.!?])[.!?]++["'”’)\]}*_$]*+(?=\s|$)""",
    re.IGNORECASE | re.VERBOSE,
)
_CLOSING_TAG = re.compile("</answer", re.IGNORECASE)
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_ABBREVIATION = re.compile(
    r"(?<![^\W_])(?:approx|ca|cca|circa|no|nr|rs|est|st|mt|mr|mrs|ms|dr|vs|e\.g|i\.e)$", re.IGNORECASE
)
MAX_ENDS = 8


def blank_thinking(text: str) -> str | None:
    """Blanks what stands inside `<think>...</think>`; None if the last `<think>` is never closed.

    A closing tag without an opening one closes a thought that began in the prompt.
    """
    tags = list(_THINK.finditer(text))
    if not tags:
        return text
    if not tags[-1]["close"]:
        return None
    pieces: list[str] = []
    depth, shown = 0, 0
    for i, tag in enumerate(tags):
        if not tag["close"]:
            if depth == 0:
                pieces.append(text[shown : tag.start()])
                shown = tag.start()
            depth += 1
        elif depth > 0 or i == 0:
            depth = max(depth - 1, 0)
        else:
            pieces.append(text[shown : tag.start()])
            shown = tag.start()
        if depth == 0 or i == len(tags) - 1:
            pieces.append(" " * (tag.end() - shown))
            shown, depth = tag.end(), 0
    return "".join(pieces) + text[shown:]


def find_region(visible: str) -> Region:
    """The region after the last cue, or the whole text if there is none.

    Args:
        visible: The text after `blank_thinking`.
    """
    text = _FONT.sub(lambda command: " " * len(command[0]), visible)
    cue = None
    for cue in _CUE.finditer(text):  # noqa: B007  the last one counts
        pass
    if cue is None:
        start = len(text) - len(text.lstrip())
        return Region(text, start, (max(start, len(text.rstrip())),), cued=False)
    if cue["brace"]:
        end = _closing_brace(text, cue.end())
        return _bounded(text, cue.end(), end if end is not None else _line_end(text, cue.end()))
    if cue["tag"]:
        closing = _CLOSING_TAG.search(text, cue.end())
        return _bounded(text, cue.end(), closing.start() if closing else len(text))
    if cue["hashes"]:
        return _bounded(text, cue.end(), _line_end(text, cue.end()))
    start = _skip(text, cue.end())
    ends = tuple(_sentence_ends(text, start))
    return Region(text, start, ends, cued=True, closed=ends[0] < len(text))


def is_twin(region: Region) -> bool:
    r"""Whether another boxed answer is joined to this one: `\boxed{5} or \boxed{7}`."""
    before = region.text[max(0, region.start - 64) : region.start]
    return re.search(r"\}[\s${}]*(?:or|and)[\s${}]*\\(?:boxed|fbox) ?\{\s*$", before) is not None


def _bounded(text: str, start: int, end: int) -> Region:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    return Region(text, start, (max(start, start + len(piece.strip())),), cued=True, closed=end < len(text))


def _skip(text: str, start: int) -> int:
    skipped = _SKIP.match(text, start)
    return skipped.end() if skipped else start


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return end if end >= 0 else len(text)


def _closing_brace(text: str, start: int) -> int | None:
    depth = 1
    for brace in _BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0:
            return brace.start()
    return None


def _sentence_ends(text: str, start: int) -> Iterator[int]:
    """Ends of the first sentences from `start`, then the end of the line."""
    n_ends = 0
    for end in _END.finditer(text, start):
        if end["line"] is not None:
            yield max(start, end.start())
            return
        if end[0] == "." and _ABBREVIATION.search(text[max(start, end.start() - 8) : end.start()]):
            continue
        yield end.start()
        n_ends += 1
        if n_ends == MAX_ENDS:
            return
    yield len(text)
