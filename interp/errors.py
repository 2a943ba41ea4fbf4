"""Every error the package raises on purpose.

```
InterpError                    the caller can act on it: the CLI prints one line and exits with code 2
├── BadInput                   what was passed in cannot be used
│   ├── BadWord                a line that does not parse ("L7.mlp", "2*x")
│   ├── UnknownName            no such model, task, probe; lists the known ones
│   ├── BadQuestions           a question file with unusable rows; names file and line
│   ├── BadFailureSet          nothing to repair, or nothing to compare with
│   └── QuestionTooLong        prompt and answer do not fit into the context
├── ModelError                 a model cannot be used
│   ├── LoadRefused            a load check failed, with the numbers
│   ├── Unsupported            this backend or architecture cannot do it; says what can
│   ├── BadLogits              NaN or infinite logits
│   ├── OutOfMemory            one request alone does not fit
│   └── EditMisfired           an edit fired more or less often than its block was visited
└── RunError                   a run directory cannot be used
    ├── RunMismatch            made by another model, task or plan; names what differs
    ├── RunLocked              another process is writing to it
    ├── RunDamaged             a file in it cannot be read back
    └── RunUnwritable          disk full or no permission; what was written stays
```

Each message says what was asked, why it cannot be, and what to write instead.
Anything else that escapes is a bug and keeps its traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InterpError(Exception):
    """Root of every error that the package raises on purpose."""


class BadInput(InterpError):
    """What was passed in cannot be used."""


class BadWord(BadInput):
    """A line that does not parse as the word it should be."""


class UnknownName(BadInput):
    """No such model, task or probe; the message lists the known ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        """Builds the message from the kind of thing, the name asked for and the known names."""
        known = sorted(known)
        near = difflib.get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        super().__init__(f"There is no {kind} {name!r}.{hint} Known: {', '.join(known)}.")


class BadQuestions(BadInput):
    """A question file with rows that cannot be used."""


class BadFailureSet(BadInput):
    """The failure set is empty or too small, or there is no success to compare with."""


class QuestionTooLong(BadInput):
    """A rendered prompt and its answer do not fit into the model's context."""


class ModelError(InterpError):
    """A model cannot be used."""


class LoadRefused(ModelError):
    """A model failed a check at load; the message gives the numbers."""


class Unsupported(ModelError):
    """This backend or architecture cannot do what was asked; the message says what can."""


class BadLogits(ModelError):
    """The model gave NaN or infinite logits."""


class OutOfMemory(ModelError):
    """One request alone takes more memory than there is."""


class EditMisfired(ModelError):
    """An edit fired more or less often than the forward pass should have visited its block."""


class RunError(InterpError):
    """A run directory cannot be used."""


class RunMismatch(RunError):
    """The run directory was made by another model, task or plan."""


class RunLocked(RunError):
    """Another process is writing to the run directory."""


class RunDamaged(RunError):
    """A file of the run directory cannot be read back."""


class RunUnwritable(RunError):
    """A file of the run directory cannot be written (disk full, no permission)."""
