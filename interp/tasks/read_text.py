"""Reads a text answer: equal to the gold after normalization, or wrong; no credit for a part."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from interp.question import Reason
from interp.tasks.cue import NO_ANSWER, Reading, Region

MAX_MARKS = 30
_OUTER = "\"'`*_$()[]{}<>,;:!?“”‘’«»„‚「」『』…。、¡¿|~"
_LEADING = re.compile(rf"\A(?:[{re.escape(_OUTER)}\s]|(?:the|an?)\s+(?=\S)|[-–—•]\s+)*+")


def normalize(text: str) -> str:
    """The spelling in which texts are compared.

    Unicode NFKC, case folded, white space single, format characters out; then outer punctuation and a
    leading article. Signs that carry meaning ("C#", "C++", "-3", ".NET") stay; a text of punctuation
    alone is empty.
    """
    plain = text.lower() if text.isascii() else _fold(text)
    plain = " ".join(plain.split()).rstrip(_OUTER + ". ")
    return _LEADING.sub("", plain, count=1)


def _fold(text: str) -> str:
    """NFKC and case folding; of a run of combining marks the first 30 count, so that it stays linear.

    Reference: Unicode Standard Annex 15, "Stream-Safe Text Format", which sets the 30.
    """
    kept: list[str] = []
    n_marks = 0
    for c in text:
        n_marks = n_marks + 1 if unicodedata.combining(c) else 0
        if n_marks <= MAX_MARKS:
            kept.append(c)
    plain = unicodedata.normalize("NFKC", "".join(kept))
    plain = "".join(c for c in plain if unicodedata.category(c) != "Cf")
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", plain.casefold()).casefold())


def read_text(region: Region, accepted: Collection[str], *, cut: bool) -> Reading:
    """Reads the text that a region gives as its answer.

    After a cue in prose the first sentence is the answer, unless more of the line is an accepted one
    ("St. Louis"); without a cue the whole text is.

    Args:
        region: Where to read.
        accepted: The accepted answers, normalized.
        cut: Whether the text was cut at its length limit.
    """
    longest = 4 * max(map(len, accepted), default=0) + 80
    end = region.end
    for candidate in region.ends:
        if candidate - region.start > longest:
            break
        if normalize(region.text[region.start : candidate]) in accepted:
            end = candidate
            break
    answer = normalize(region.text[region.start : end])
    span = trim(region.text, region.start, end)
    if cut and (not region.cued or end == len(region.text)):
        return Reading(reason=Reason.TRUNCATED, span=span)
    return Reading(answer, span=span) if answer else NO_ANSWER


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Offsets without the outer punctuation and white space."""
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip(_OUTER + " \t\r\n"))
    return start, max(start, start + len(text[start:end].rstrip(_OUTER + ". \t\r\n")))
