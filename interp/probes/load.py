"""Probes by their line: "sampling:32", "sampling:32,temperature=1", "silencing:scope=decode"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from interp.errors import UnknownName
from interp.intervention import Scope
from interp.probes.load_routes import ROUTE_PROBES
from interp.probes.probe import Probe, Probed
from interp.probes.sampling import Sampling
from interp.probes.setting import Line, Setting
from interp.probes.silencing import Silencing
from interp.procedure import Decoding

PUBLISHED = Decoding(temperature=0.6, top_p=0.95)
"""How a sampling probe draws unless the deployed procedure samples itself, or the line says otherwise.

Reference:
    Y. Yue et al., "Does reinforcement learning really incentivize reasoning capacity in LLMs beyond the base
    model?", arXiv 2504.13837 (2025).
"""


def load_probe(line: str, setting: Setting) -> tuple[Probe, Probed]:
    """The probe that a line asks for, and how a run notes it.

    Args:
        line: Its name, then a colon, the number of draws and any settings ("sampling:32,temperature=1").
        setting: What it is made for.

    Raises:
        UnknownName: There is no such probe.
        BadInput: A setting is unknown or given twice, or its value is no use.
    """
    parsed = Line.parse(line)
    if parsed.name not in PROBES:
        raise UnknownName("probe", parsed.name, PROBES)
    return PROBES[parsed.name](parsed, setting)


def _sampling(line: Line, setting: Setting) -> tuple[Probe, Probed]:
    known = {"temperature": float, "top_p": float, "top_k": int, "min_p": float}
    line.refuse_unknown(("n", *known))
    n = int(line.number("n", int))
    deployed = setting.procedure.decoding
    usual = PUBLISHED if deployed.is_greedy else deployed
    drawn = {key: line.number(key, kind, getattr(usual, key)) for key, kind in known.items()}
    changed = [f"{key}={drawn[key]:g}" for key in known if drawn[key] != getattr(usual, key)]
    name = "sampling" + (f":{','.join(changed)}" if changed else "")
    probe = Sampling(replace(setting.procedure, decoding=replace(deployed, **drawn)), n, name)
    about = ", ".join(f"{key} {value:g}" for key, value in drawn.items() if value != getattr(Decoding(), key))
    return probe, Probed(name, line.text, f"draws at {about}", probe.n_draws)


def _silencing(line: Line, setting: Setting) -> tuple[Probe, Probed]:
    line.refuse_unknown(("scope",))
    scope = line.one_of("scope", [*Scope], Scope.BOTH.value)
    name = "silencing" + (f":scope={scope}" if scope != Scope.BOTH else "")
    probe = Silencing(setting.procedure, setting.n_layers, setting.questions, scope=Scope(scope), name=name)
    where = "" if scope == Scope.BOTH else f", at positions of the {scope} only"
    about = f"each of {setting.n_layers} MLP blocks silenced once{where}"
    return probe, Probed(name, line.text, about, setting.n_layers + 1, n_controls=1, exchangeable=False)


PROBES: Mapping[str, Callable[[Line, Setting], tuple[Probe, Probed]]] = MappingProxyType(
    {"sampling": _sampling, "silencing": _silencing, **ROUTE_PROBES}
)
"""Every probe that a line can name."""
