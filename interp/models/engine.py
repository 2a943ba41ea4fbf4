"""Which work is shared between requests: switches, each of which leaves every token as it is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Engine:
    """How requests of one call share work. In float32 no switch changes a token (tested).

    Attributes:
        fronts: What all prompts begin with is run once for each different edit, not once a question.
        forks: Below the first layer that edits touch, rows of one prompt run as one.
        drafts: The answer of a row with fewer edits is tried as a draft of the others', and read in one pass
            up to the token where they part. Greedy decoding only.
    """

    fronts: bool = True
    forks: bool = True
    drafts: bool = True


EVERYTHING = Engine()
