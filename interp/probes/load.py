"""Probes by their line: "sampling:32", "sampling:32,temperature=1", "silencing:scope=decode"."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from interp.errors import BadInput, UnknownName
from interp.intervention import Scope
from interp.probes.probe import Probe, Probed
from interp.probes.sampling import Sampling
from interp.probes.silencing import Silencing
from interp.procedure import Decoding, Procedure

PUBLISHED = Decoding(temperature=0.6, top_p=0.95)
"""How a sampling probe draws unless the deployed procedure samples itself, or the line says otherwise.

Reference:
    Y. Yue et al., "Does reinforcement learning really incentivize reasoning capacity in LLMs beyond the base
    model?", arXiv 2504.13837 (2025).
"""


@dataclass(frozen=True)
class Setting:
    """What a probe is made for.

    Attributes:
        procedure: The deployed procedure.
        n_layers: Number of MLP blocks of the model.
        questions: Ids of the questions, in order.
    """

    procedure: Procedure
    n_layers: int
    questions: tuple[str, ...]


def load_probe(line: str, setting: Setting) -> tuple[Probe, Probed]:
    """The probe that a line asks for, and how a run notes it.

    Args:
        line: Its name, then a colon, the number of draws and any settings ("sampling:32,temperature=1").
        setting: What it is made for.

    Raises:
        UnknownName: There is no such probe.
        BadInput: A setting is unknown or given twice, or its value is no use.
    """
    name, _, rest = line.strip().partition(":")
    if name not in PROBES:
        raise UnknownName("probe", name, PROBES)
    words = [word.strip() for word in rest.split(",") if word.strip()]
    settings: dict[str, str] = {}
    for word in words:
        key, equals, value = (part.strip() for part in word.partition("="))
        key, value = (key, value) if equals else ("n", key)
        if key in settings:
            raise BadInput(f"Probe {line!r}: {key} is given twice.")
        settings[key] = value
    return PROBES[name](line.strip(), settings, setting)


def _sampling(line: str, settings: Mapping[str, str], setting: Setting) -> tuple[Probe, Probed]:
    known = {"temperature": float, "top_p": float, "top_k": int, "min_p": float}
    _refuse_unknown(line, settings, ("n", *known))
    n = _number(line, "n", settings.get("n", ""), int)
    deployed = setting.procedure.decoding
    usual = PUBLISHED if deployed.is_greedy else deployed
    asked = {key: _number(line, key, settings[key], kind) for key, kind in known.items() if key in settings}
    drawn = {key: asked.get(key, getattr(usual, key)) for key in known}
    changed = [f"{key}={drawn[key]:g}" for key in known if drawn[key] != getattr(usual, key)]
    name = "sampling" + (f":{','.join(changed)}" if changed else "")
    probe = Sampling(replace(setting.procedure, decoding=replace(deployed, **drawn)), int(n), name)
    about = ", ".join(f"{key} {value:g}" for key, value in drawn.items() if value != getattr(Decoding(), key))
    return probe, Probed(name, line, f"draws at {about}", probe.n_draws)


def _silencing(line: str, settings: Mapping[str, str], setting: Setting) -> tuple[Probe, Probed]:
    _refuse_unknown(line, settings, ("scope",))
    scope = settings.get("scope", Scope.BOTH.value)
    if scope not in set(Scope):
        raise BadInput(f"Probe {line!r}: scope is one of {', '.join(Scope)}, not {scope!r}.")
    name = "silencing" + (f":scope={scope}" if scope != Scope.BOTH else "")
    probe = Silencing(setting.procedure, setting.n_layers, setting.questions, scope=Scope(scope), name=name)
    where = "" if scope == Scope.BOTH else f", at positions of the {scope} only"
    about = f"each of {setting.n_layers} MLP blocks silenced once{where}"
    return probe, Probed(name, line, about, setting.n_layers + 1, n_controls=1, exchangeable=False)


PROBES: Mapping[str, Callable[[str, Mapping[str, str], Setting], tuple[Probe, Probed]]] = MappingProxyType(
    {"sampling": _sampling, "silencing": _silencing}
)
"""Every probe that a line can name."""


def _refuse_unknown(line: str, settings: Mapping[str, str], known: Sequence[str]) -> None:
    for key in settings:
        if key not in known:
            shown = ", ".join("a number of draws" if k == "n" else k for k in known)
            raise BadInput(
                f"Probe {line!r}: {settings[key] if key == 'n' else key!r} is not one of: {shown}."
            )


def _number(line: str, key: str, value: str, kind: Callable[[str], float]) -> float:
    try:
        return kind(value)
    except ValueError:
        example = "draws, for instance sampling:32" if key == "n" else f"{key}, for instance {key}=1"
        raise BadInput(f"Probe {line!r}: {value!r} is no number of {example}.") from None
