"""lm-eval tasks in which options are weighed by log-likelihood: the model writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from string import ascii_uppercase
from typing import Any

from interp.errors import BadInput
from interp.imports.foreign import Repeat, judge, question_of
from interp.imports.imported import Asked
from interp.imports.lm_eval_rows import Row, Rule, plain_prompt, warn_of_texts
from interp.question import Outcome

_WEIGHTS: dict[str, Callable[[str], int]] = {
    "acc": lambda _: 1,
    "acc_norm": len,
    "acc_bytes": lambda option: len(option.encode()),
}
"""By which a metric divides an option's log-likelihood before it takes the largest."""


def read_options(
    rows: Sequence[Row], rule: Rule, *, prefix: str, subject: str
) -> tuple[list[Asked], list[str]]:
    """The questions of a log-likelihood task: one attempt each, the option that the metric picks.

    Arguments as in `read_texts`.

    Raises:
        BadInput: A row is not as lm-eval writes it, the metric is not one of acc, acc_norm and acc_bytes, or
            the option it picks contradicts its value.
    """
    metric = rule.choose_metric(rows)
    if metric not in _WEIGHTS:
        raise BadInput(
            f"{rows[0].place}: metric {metric!r} picks no option. Choose one of: {', '.join(_WEIGHTS)}."
        )
    grader = rule.grader(rows, metric)
    asked = [_asked(row, metric, grader, prefix=prefix, subject=subject) for row in rows]
    prompts = [plain_prompt(row.requests[0][0]) for row in rows]
    return asked, warn_of_texts([each.question for each in asked], prompts)


def _asked(row: Row, metric: str, grader: str, *, prefix: str, subject: str) -> Asked:
    options, weights = _weighed(row)
    divided = [
        weight / max(_WEIGHTS[metric](option), 1) for option, weight in zip(options, weights, strict=True)
    ]
    picked = divided.index(max(divided))
    right = judge(row.value[metric], None, place=row.place, name=metric)
    labels = _labels(len(options))
    gold = _gold(row, options, picked, right=right)
    if (picked in gold) != right:
        raise BadInput(
            f"{row.place}: {metric} is {row.value[metric]}, but the most probable option is "
            f"{labels[picked]} ({options[picked]!r}) and the target {row.get('target')!r}. "
            "Choose another metric."
        )
    question = question_of(
        {
            "id": f"{prefix}{row.document}",
            "text": row.text(),
            "gold": [labels[i] for i in gold],
            "choices": options,
            "labels": labels,
            "candidates": labels,
            "subject": row.subject or subject,
        }
    )
    outcome = Outcome.RIGHT if right else Outcome.WRONG
    twin = options.count(options[picked]) > 1
    repeat = Repeat(options[picked], outcome, None, labels[picked] if twin else options[picked], grader)
    return Asked(question, [list(request) for request in row.requests], (repeat,))


def _weighed(row: Row) -> tuple[list[str], list[float]]:
    """Options and their log-likelihoods; the contexts, where only they differ."""
    requests, found = row.requests, row.answers()
    if "acc_mutual_info" in row.value:
        requests, found = requests[: len(requests) // 2], found[: len(found) // 2]
    prompts, texts = [str(prompt) for prompt, _ in requests], [str(text) for _, text in requests]
    options = [text.strip() for text in (prompts if len(set(texts)) == 1 else texts)]
    if len(options) < 2 or len(set(options)) == 1:
        raise BadInput(
            f"{row.place}: one continuation was weighed, so no answer was given. Import a task that has "
            "options, or one in which the model writes."
        )
    if len(found) != len(options):
        raise BadInput(f"{row.place}: {len(options)} options, but {len(found)} log-likelihoods in 'resps'.")
    try:
        return options, [_log_likelihood(each[0]) for each in found]
    except (TypeError, ValueError, IndexError):
        raise BadInput(
            f"{row.place}: 'resps' holds no log-likelihoods; expected one pair [number, is_greedy] an option."
        ) from None


def _log_likelihood(pair: Any) -> float:
    return float(pair[0] if isinstance(pair, list) else pair)


def _labels(n: int) -> list[str]:
    return list(ascii_uppercase[:n]) if n <= len(ascii_uppercase) else [str(i + 1) for i in range(n)]


def _gold(row: Row, options: Sequence[str], picked: int, *, right: bool) -> list[int]:
    """Numbers of the right options: the target is such a number, or an option's text, or a list of either.

    Where each option is a context of its own the target is what follows them all; of two options the
    verdict then tells which is right.
    """
    found: list[int] = []
    for target in row.targets:
        if target.strip() in options:
            found.append(options.index(target.strip()))
        elif target.strip().isdecimal() and int(target) < len(options):
            found.append(int(target))
    if not found and len(options) == 2:
        return [picked if right else 1 - picked]
    if not found:
        raise BadInput(
            f"{row.place}: the target {row.get('target')!r} is no option's number or text, so the right one "
            "is unknown. Import a task whose log names it."
        )
    return found
