"""What a probe's line is read with: the setting that it is made for, and its options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from interp.errors import BadInput
from interp.probes.menu import Log
from interp.procedure import Procedure


@dataclass(frozen=True)
class Setting:
    """What a probe is made for.

    Attributes:
        procedure: The deployed procedure.
        n_layers: Number of MLP blocks of the model.
        questions: Ids of the questions, in order.
        seed: Seed of the run.
        log: What a probe of the run has found so far, by its name; None where there is no run.
        budgets: Draws a question of the probes that were named before, or that the run has.
    """

    procedure: Procedure
    n_layers: int
    questions: tuple[str, ...]
    seed: int = 0
    log: Callable[[str], Log] | None = None
    budgets: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Line:
    """A probe's line, taken apart.

    Attributes:
        text: The line.
        name: Name of the probe.
        given: What it sets, by name; the number of draws is "n".
    """

    text: str
    name: str
    given: Mapping[str, str]

    @classmethod
    def parse(cls, text: str) -> Line:
        """Reads "cola:32,c=1.4": a name, then after a colon the number of draws and what else is set.

        Raises:
            BadInput: Something is set twice.
        """
        name, _, rest = text.strip().partition(":")
        given: dict[str, str] = {}
        for word in (word.strip() for word in rest.split(",") if word.strip()):
            key, equals, value = (part.strip() for part in word.partition("="))
            key, value = (key, value) if equals else ("n", key)
            if key in given:
                raise BadInput(f"Probe {text.strip()!r}: {key} is given twice.")
            given[key] = value
        return cls(text.strip(), name, given)

    def refuse_unknown(self, known: Sequence[str]) -> None:
        """Refuses what a probe has no option for.

        Raises:
            BadInput: Something else is set; names what can be.
        """
        for key, value in self.given.items():
            if key not in known:
                shown = ", ".join("a number of draws" if k == "n" else k for k in known)
                raise BadInput(
                    f"Probe {self.text!r}: {value if key == 'n' else key!r} is not one of: {shown}."
                )

    def number(self, key: str, kind: Callable[[str], float], default: float | None = None) -> float:
        """A number that the line sets, or its default.

        Raises:
            BadInput: It is no such number, or it is missing and has no default.
        """
        value = self.given.get(key, "")
        if not value and default is not None:
            return default
        try:
            return kind(value)
        except ValueError:
            example = f"draws, for instance {self.name}:32" if key == "n" else f"{key}, for instance {key}=1"
            raise BadInput(f"Probe {self.text!r}: {value!r} is no number of {example}.") from None

    def one_of(self, key: str, known: Sequence[str], default: str) -> str:
        """A word that the line sets, or its default.

        Raises:
            BadInput: It is none of those that are known.
        """
        value = self.given.get(key, default)
        if value not in known:
            raise BadInput(f"Probe {self.text!r}: {key} is one of {', '.join(known)}, not {value!r}.")
        return value

    def named(self, keys: Sequence[str]) -> str:
        """The name of the probe in a run: its own, and what of these the line sets."""
        changed = [f"{key}={self.given[key]}" for key in keys if key in self.given]
        return self.name + (f":{','.join(changed)}" if changed else "")
