"""Which failures to repair, and which successes to keep beside them: chosen before any block is tried."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from interp.errors import BadFailureSet, BadInput, UnknownName
from interp.question import Attempt, FailureSet, Outcome, Question, seeded_order

Rule = Literal["wrong", "unreadable", "not-right"]

RULES: dict[str, frozenset[Outcome]] = {
    "wrong": frozenset({Outcome.WRONG}),
    "unreadable": frozenset({Outcome.UNREADABLE}),
    "not-right": frozenset({Outcome.WRONG, Outcome.UNREADABLE}),
}
"""Which outcomes count as a failure, by the name of the rule."""


def choose_failures(
    attempts: Sequence[Attempt],
    questions: Sequence[Question],
    *,
    rule: Rule | Sequence[str] = "wrong",
    seed: int = 0,
    max_failures: int | None = None,
    max_successes: int | None = None,
) -> FailureSet:
    """Chooses failures by a rule, and as many successes, matched by subject where there are enough.

    Both come in the order of a seeded hash of the id, so a smaller cap gives a part of a larger one's
    failures. Successes of a subject that lacks them are filled up from the other subjects.

    Args:
        attempts: The deployed procedure's rows, one a question.
        questions: Every question of the task; their subjects are matched.
        rule: Which outcomes are failures, or the ids of the failures themselves.
        seed: Seed of the order, and of the halves.
        max_failures: Most failures to take, at least 2; all of them if None.
        max_successes: Most successes to take, at least 1; as many as failures if None.

    Raises:
        BadFailureSet: There are fewer than two failures or no success, or an id of the rule was not
            asked or was answered right.
        BadInput: A cap is too small.
        UnknownName: There is no such rule.
    """
    if max_failures is not None and max_failures < 2:
        raise BadInput(f"Two halves need at least 2 failures, got max_failures={max_failures}.")
    if max_successes is not None and max_successes < 1:
        raise BadInput(f"At least 1 success must be kept in view, got max_successes={max_successes}.")
    outcomes = {row.question: row.outcome for row in attempts}
    if len(outcomes) != len(attempts):
        raise ValueError("choose_failures reads one row a question, of the deployed procedure")
    failures = _failures(outcomes, rule)
    successes = [i for i, outcome in outcomes.items() if outcome is Outcome.RIGHT]
    _check_numbers(failures, successes, outcomes, rule)
    chosen = seeded_order(failures, seed)[:max_failures]
    n_matched = min(len(chosen) if max_successes is None else max_successes, len(successes))
    subjects = {question.id: question.subject for question in questions}
    matched = _match(chosen, seeded_order(successes, seed), subjects, n_matched)
    return FailureSet(
        rule=rule if isinstance(rule, str) else "file",
        seed=seed,
        failures=tuple(sorted(chosen)),
        successes=tuple(sorted(matched)),
        n_failures=len(failures),
        n_successes=len(successes),
        n_questions=len(outcomes),
    )


def read_failure_file(path: str | Path) -> list[str]:
    """Reads ids of failures: one a line, a JSON list, JSON lines with "id", or a run's `failure_set.json`.

    Raises:
        BadFailureSet: The file cannot be read, holds no id, or a row without one; names file and line.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadFailureSet(
            f"{path} cannot be read ({error}). Give a text file with one id a line."
        ) from None
    ids = _whole(path, text) if text.startswith(("[", "{")) else None
    if ids is None:
        ids = [
            _id(line.strip(), f"{path}, line {number}")
            for number, line in enumerate(text.split("\n"), 1)
            if line.strip()
        ]
    if not ids:
        raise BadFailureSet(f"{path} holds no id. Write one question id a line.")
    return list(dict.fromkeys(ids))


def _failures(outcomes: dict[str, Outcome], rule: str | Sequence[str]) -> list[str]:
    """Ids of all failures by a rule, or the ids given, once each."""
    if isinstance(rule, str):
        if rule not in RULES:
            raise UnknownName("failure rule", rule, RULES)
        return [i for i, outcome in outcomes.items() if outcome in RULES[rule]]
    ids = list(dict.fromkeys(rule))
    if unknown := [i for i in ids if i not in outcomes]:
        raise BadFailureSet(
            f"These ids were not asked: {_named(unknown)}. Give ids of this task's questions; "
            "questions.jsonl of the run lists them."
        )
    if right := [i for i in ids if outcomes[i] is Outcome.RIGHT]:
        raise BadFailureSet(
            f"These questions are answered right, so there is nothing to repair: {_named(right)}. "
            "Leave them out; the successes are chosen beside the failures."
        )
    return ids


def _check_numbers(
    failures: Sequence[str], successes: Sequence[str], outcomes: dict[str, Outcome], rule: str | Sequence[str]
) -> None:
    named = f"by the rule {rule!r}" if isinstance(rule, str) else "in the ids given"
    counts = Counter(outcomes.values())
    shares = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome)
    if len(failures) < 2:
        problem = "There is no failure" if not failures else f"There is one failure ({failures[0]!r})"
        raise BadFailureSet(
            f"{problem} {named} among {len(outcomes)} questions ({shares}). The block is chosen on one half "
            "and measured on the other, so at least 2 are needed: ask more or harder questions, or use "
            "another rule (wrong, unreadable, not-right), each into another directory."
        )
    if not successes:
        raise BadFailureSet(
            f"None of {len(outcomes)} questions is answered right ({shares}), so it cannot be seen what a "
            "silenced block costs. Ask easier questions as well, or look at the answers for a wrong prompt."
        )


def _match(
    failures: Sequence[str], successes: Sequence[str], subjects: dict[str, str], n_matched: int
) -> list[str]:
    """Successes in order: one of a failure's subject for each failure, then any others."""
    wanted = Counter(subjects[i] for i in failures)
    matched: list[str] = []
    others: list[str] = []
    for i in successes:
        if wanted[subjects[i]] > 0:
            wanted[subjects[i]] -= 1
            matched.append(i)
        else:
            others.append(i)
    return [*matched, *others][:n_matched]


def _whole(path: Path, text: str) -> list[str] | None:
    """The ids of a file that is one JSON value; None if it must be read line by line."""
    try:
        value = json.loads(text)
    except ValueError as error:
        if text.startswith("["):
            raise BadFailureSet(f"{path} begins a JSON list that does not parse ({error}).") from None
        return None
    if isinstance(value, dict):
        value = value.get("failures", [value])
    if not isinstance(value, list):
        raise BadFailureSet(f"{path} holds no list of failures. Write one question id a line.")
    return [_id_of(item, f"{path}, item {number}") for number, item in enumerate(value, 1)]


def _id(line: str, where: str) -> str:
    if not line.startswith("{"):
        return line
    try:
        return _id_of(json.loads(line), where)
    except ValueError:
        raise BadFailureSet(f"{where}: not a JSON object. Write one with an 'id', or the id alone.") from None


def _id_of(item: Any, where: str) -> str:
    """The id that an item of JSON names: itself, or its field `id`."""
    value = item.get("id") if isinstance(item, dict) else item
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise BadFailureSet(f"{where}: no question id. Write the id, or an object with an 'id'.")
    return str(value)


def _named(ids: Sequence[str]) -> str:
    shown = ", ".join(map(repr, ids[:5]))
    return shown if len(ids) <= 5 else f"{shown} and {len(ids) - 5} more"
