"""Probes over routes by their line: "random_routes:32", "cola:32,reward=constant", "menu:8,from=NAME"."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, get_args

from interp.errors import BadInput
from interp.probes.beam import beam
from interp.probes.cola import cola
from interp.probes.dr_llm_walk import dr_llm_walk
from interp.probes.exhaustive import Exhaustive
from interp.probes.greedy import Greedy, n_search
from interp.probes.hill_climb import hill_climb
from interp.probes.menu import Log, Menu
from interp.probes.probe import Probe, Probed
from interp.probes.random_routes import RandomRoutes
from interp.probes.re_polar import re_polar
from interp.probes.search import Reward, Search, Searching
from interp.probes.setting import Line, Setting

POLICIES: Mapping[str, tuple[Callable[..., Search], str]] = MappingProxyType(
    {
        "cola": (cola, "Monte Carlo tree search over layer paths (CoLa)"),
        "re_polar": (re_polar, "tree search over sets of edits (RE-PoLar)"),
        "dr_llm_walk": (dr_llm_walk, "a random walk over what layers do (Dr.LLM)"),
        "hill_climb": (hill_climb, "hill climbing by single edits"),
        "beam": (beam, "repeated blocks, then a beam"),
    }
)
"""Every search that runs question by question, and what it is."""


def _searching(line: Line, setting: Setting) -> tuple[Probe, Probed]:
    policy, about = POLICIES[line.name]
    options = {
        k: p.default for k, p in inspect.signature(policy).parameters.items() if p.kind is p.KEYWORD_ONLY
    }
    keys = ("reward", "rate", *options)
    line.refuse_unknown(("n", *keys))
    reward: Any = line.one_of("reward", get_args(Reward), "verdict")
    if "rate" in line.given and reward != "random":
        raise BadInput(f"Probe {line.text!r}: a rate goes with reward=random.")
    given = {key: _option(line, key, default) for key, default in options.items() if key in line.given}

    def start(n_layers: int, seed: int) -> Search:
        return policy(n_layers, seed, **given)

    probe = Searching(
        replace(setting.procedure, route=None),
        setting.n_layers,
        int(line.number("n", int)),
        start,
        line.named(keys),
        setting.seed,
        reward,
        _rate(line, setting),
    )
    told = {
        "verdict": "sees the verdicts",
        "constant": "told that every route is wrong",
        "random": f"told by chance that {_rate_in_words(line)} of the routes are right",
    }[reward]
    note = _noted(probe.name, line, f"{about}; {told}", probe.n_draws, sees_verdicts=reward == "verdict")
    return probe, replace(note, n_followed=setting.budgets.get(line.given.get("rate", ""), 0))


def _rate(line: Line, setting: Setting) -> float:
    """How often a random reward says right: a number, or the name of a probe of the run whose rate it is."""
    given = line.given.get("rate", "0.5")
    if given.replace(".", "", 1).isdecimal():
        return float(given)
    verdicts = [right for rows in _log(line, given, setting).values() for _, right in rows]
    return sum(verdicts) / len(verdicts)


def _rate_in_words(line: Line) -> str:
    """The rate as the line gives it: that of another probe is known only once this one has run."""
    given = line.given.get("rate", "0.5")
    return given if given.replace(".", "", 1).isdecimal() else f"the same share as for {given}"


def _option(line: Line, key: str, default: object) -> object:
    if isinstance(default, bool):
        return line.one_of(key, ("yes", "no"), "no") == "yes"
    return line.number(key, int if isinstance(default, int) else float)


def _random(line: Line, setting: Setting) -> tuple[Probe, Probed]:
    keys = ("like", "shared", "most_edits", "most")
    line.refuse_unknown(("n", *keys))
    like = line.given.get("like")
    n_like = setting.budgets.get(like or "", 0)
    if like and n_like and line.number("n", int) > n_like:
        raise BadInput(
            f"Probe {line.text!r} needs as many routes of {like!r} as it has draws; that one has {n_like}."
        )
    matched = like and {i: [route for route, _ in rows] for i, rows in _log(line, like, setting).items()}
    probe = RandomRoutes(
        replace(setting.procedure, route=None),
        setting.n_layers,
        int(line.number("n", int)),
        most_edits=int(line.number("most_edits", int, 2)),
        most=int(line.number("most", int, 4)),
        shared=line.one_of("shared", ("yes", "no"), "no") == "yes",
        matched=matched or None,
        seed=setting.seed,
        name=line.named(keys),
    )
    about = f"random skips and repeats, {probe.most_edits} edits at most"
    about += f", as long and with as many jumps as those of {like}" if like else ""
    about += ", the same for all questions" if probe.shared else ""
    return probe, _noted(probe.name, line, about, probe.n_draws, ordered=False)


def _exhaustive(line: Line, setting: Setting) -> tuple[Probe, Probed]:
    line.refuse_unknown(("n", "most"))
    n = int(line.number("n", int, 0)) or None
    most, name = int(line.number("most", int, 4)), line.named(("most",))
    procedure = replace(setting.procedure, route=None)
    probe = Exhaustive(procedure, setting.n_layers, n, most=most, name=name)
    about = "every single skip, then every single repeat and repeated block"
    return probe, _noted(name, line, about, len(probe.routes), ordered=False)


def _greedy(line: Line, setting: Setting) -> tuple[Probe, Probed]:
    keys = ("share", "stops")
    line.refuse_unknown(("n", *keys))
    probe = Greedy(
        replace(setting.procedure, route=None),
        setting.n_layers,
        int(line.number("n", int)),
        share=line.number("share", float, 0.25),
        stops=line.one_of("stops", ("yes", "no"), "yes") == "yes",
        seed=setting.seed,
        name=line.named(keys),
    )
    about = f"greedy deletion, which sees verdicts on {probe.share:g} of the questions; its chain for all"
    first = n_search(setting.n_layers)
    note = _noted(probe.name, line, about, first + probe.n_deletions, sees_verdicts=True)
    return probe, replace(note, n_controls=first)


def _menu(line: Line, setting: Setting) -> tuple[Probe, Probed]:
    line.refuse_unknown(("n", "from"))
    source = line.given.get("from")
    if source is None:
        raise BadInput(f"Probe {line.text!r}: say whose routes, for instance menu:8,from=exhaustive.")
    log = _log(line, source, setting)
    probe = Menu(
        replace(setting.procedure, route=None), int(line.number("n", int)), log, name=line.named(("from",))
    )
    about = f"the routes of {source} that were right on most other questions, whose verdicts it sees"
    note = _noted(probe.name, line, about, probe.n_draws, sees_verdicts=True)
    return probe, replace(note, n_followed=setting.budgets.get(source, 0))


def _log(line: Line, name: str, setting: Setting) -> Log:
    """What another probe of the run has found."""
    found = {} if setting.log is None else setting.log(name)
    if not found:
        raise BadInput(
            f"Probe {line.text!r} needs the routes of {name!r}, which this run has not asked. Name that "
            "probe first, on the same command line or an earlier one."
        )
    return found


def _noted(
    name: str, line: Line, about: str, n_draws: int, *, sees_verdicts: bool = False, ordered: bool = True
) -> Probed:
    return Probed(
        name, line.text, about, n_draws, sees_verdicts=sees_verdicts, exchangeable=False, ordered=ordered
    )


ROUTE_PROBES: Mapping[str, Callable[[Line, Setting], tuple[Probe, Probed]]] = MappingProxyType(
    {
        "random_routes": _random,
        "exhaustive": _exhaustive,
        "greedy": _greedy,
        "menu": _menu,
        **dict.fromkeys(POLICIES, _searching),
    }
)
"""Every probe over routes that a line can name."""
