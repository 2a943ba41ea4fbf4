"""The card that an exported checkpoint carries: what was done, to which model, by which command."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interp.intervention import Intervention
    from interp.models.checkpoint import Checkpoint
    from interp.route import Route

CARD = """---
library_name: transformers
---

# {title}

{name}, changed by interp and written as an ordinary checkpoint.

| | |
| --- | --- |
| from | {name}, fingerprint {fingerprint} |
| edits | {edits} |
| route | {route} |
| command | {command} |
{note}
Edits multiply what a block adds to the residual stream, at every position; they are folded into its output
weights. A route is the order in which the layers of the original run.

```python
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained(".", dtype="auto")
tokenizer = AutoTokenizer.from_pretrained(".")
```

When it was written it was loaded back, and its logits differed from those of the edited model by at most
{error:.1g} of the largest.
"""


def card_of(
    model: Checkpoint, interventions: Sequence[Intervention], route: Route | None, *, note: str, error: float
) -> str:
    """The card of an exported model: from which model, with which edits, by which command.

    Args:
        model: The model that was edited.
        interventions: Its edits.
        route: Order of its layers; None if it was kept.
        note: Which run this comes from; may be empty.
        error: Largest difference of logits that was found, relative to the largest logit.
    """
    edits = ", ".join(f"`{edit}`" for edit in interventions) or "none"
    return CARD.format(
        title=f"{Path(model.name).name}, edited",
        name=_cell(f"`{model.name}`"),
        fingerprint=f"`{model.fingerprint}`",
        edits=edits,
        route=f"`{route}`" if route else "as it was",
        command=_cell(f"`{_command(model, interventions, route)}`"),
        note=f"| run | {_cell(note)} |\n" if note else "",
        error=error,
    )


def _command(model: Checkpoint, interventions: Sequence[Intervention], route: Route | None) -> str:
    """The command line that writes the same checkpoint."""
    words = ["interp", "export", model.name, "OUT"]
    for edit in interventions:
        words += ["--edit", str(edit)]
    if route is not None:
        words += ["--route", str(route)]
    dtype = model.environment["dtype"]
    return shlex.join([*words, *(() if dtype == "float32" else ("--dtype", dtype))])


def _cell(text: str) -> str:
    """A text that fits into a cell of a table in Markdown."""
    return " ".join(text.split()).replace("|", "\\|")
