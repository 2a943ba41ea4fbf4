"""The probes of an audit: read from their lines, checked before anything runs, and noted in the run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from interp.audited import PROBES
from interp.probes.load import load_probe
from interp.probes.menu import Log
from interp.probes.probe import Probed
from interp.probes.setting import Setting
from interp.question import Outcome
from interp.route import Route
from interp.run import Run
from interp.tasks.task import Task

if TYPE_CHECKING:
    from interp.models.model import Model


def checked_probes(
    model: Model, task: Task, lines: Sequence[str], setting: Setting, *, earlier: Path
) -> list[Probed]:
    """The notes of the probes that lines ask for, refused before anything runs if one could not be run.

    Args:
        model: The model.
        task: The questions.
        lines: One line a probe.
        setting: What they are made for.
        earlier: The run directory; its probes may be named by others.

    Raises:
        BadInput: A line cannot be read, or names a probe that comes neither before it nor in the run.
        UnknownName: There is no such probe.
        Unsupported: The model cannot do what a probe asks.
    """
    known = {note.name: note.n_draws for note in _earlier(earlier)}
    made_up = {question: ((Route((0,)), False),) for question in setting.questions}

    def log(name: str) -> Log:
        return made_up if name in known else {}

    notes: list[Probed] = []
    for line in lines:
        probe, note = load_probe(line, replace(setting, log=log, budgets=known))
        for draw in probe.propose(task.questions, ())[:1]:
            model.check_procedure([task.questions[0].text], draw.procedure)
        notes.append(note)
        known[note.name] = max(note.n_draws, known.get(note.name, 0))
    return notes


def noted_probes(run: Run, asked: Sequence[Probed]) -> list[Probed]:
    """Every probe that the run has had so far or is asked for now, at its largest budget, and notes them."""
    known = {note.name: note for note in _earlier(run.path)}
    for note in asked:
        if note.name not in known:
            known[note.name] = note
        elif known[note.name].n_draws < note.n_draws:
            known[note.name] = replace(note, n_followed=known[note.name].n_followed)
    run.write_json(PROBES, [asdict(note) for note in known.values()])
    return [*known.values()]


def routes_of(run: Run, name: str, *, most: int = 0) -> Log:
    """The routes that a probe has asked so far, in order, each with whether it was right.

    Args:
        run: The run.
        name: The probe.
        most: So many draws a question, from the first; 0 is all.
    """
    found: dict[str, list[tuple[Route, bool]]] = {}
    for row in sorted(run.attempts, key=lambda row: row.draw):
        if row.probe == name and row.route is not None and (not most or row.draw < most):
            right = row.outcome is Outcome.RIGHT
            found.setdefault(row.question, []).append((Route.parse(row.route), right))
    return found


def _earlier(path: Path) -> list[Probed]:
    """The probes that a run has had so far."""
    file = path / PROBES
    return [Probed.from_json(note) for note in json.loads(file.read_text())] if file.exists() else []
