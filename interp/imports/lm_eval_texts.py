"""lm-eval tasks in which the model writes: one verdict a document, one or more responses."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from interp.errors import BadInput
from interp.imports.foreign import Repeat, judge, question_of
from interp.imports.imported import Asked
from interp.imports.lm_eval_rows import INVALID, Row, Rule, plain_prompt, warn_of_texts
from interp.question import Outcome, Question, Reason
from interp.tasks.grading import GRADER_VERSION, canonical, check_gold, grade

_BARE = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class _Document:
    """One row, taken apart."""

    row: Row
    question: Question
    texts: tuple[str, ...]
    extracted: tuple[str, ...]
    score: object

    @property
    def targets(self) -> list[str]:
        return [*self.row.targets, *self.question.gold]


def read_texts(
    rows: Sequence[Row], rule: Rule, *, prefix: str, subject: str
) -> tuple[list[Asked], list[str]]:
    """The questions of a task in which the model writes, and what must be said of them.

    Args:
        rows: The rows of one filter.
        rule: Metric and threshold.
        prefix: What stands before each document's number in its id.
        subject: The subject of documents that name none.

    Raises:
        BadInput: A row is not as lm-eval writes it, a score is neither right nor wrong, or repeats without
            a verdict cannot be read by this package's grader either.
    """
    metric = rule.choose_metric(rows)
    documents = [_document(row, metric, prefix, subject) for row in rows]
    name = rule.grader(rows, metric)
    rights = _verdicts(documents, rule, metric)
    if rights is None:
        asked, warnings = _read_again(documents, name)
    else:
        warnings: list[str] = []
        asked = [
            _asked(document, [_repeat(document, i, right, name) for i, right in enumerate(each)])
            for document, each in zip(documents, rights, strict=True)
        ]
    prompts = [plain_prompt(row.requests[0][0]) for row in rows]
    return asked, [*warnings, *warn_of_texts([d.question for d in documents], prompts)]


def _document(row: Row, metric: str, prefix: str, subject: str) -> _Document:
    responses = row.answers()
    if len(responses) != 1 or not all(isinstance(text, str) for text in responses[0]):
        raise BadInput(
            f"{row.place}: 'resps' holds {len(responses)} requests, or no text; expected one list of texts."
        )
    kept = row.get("filtered_resps")
    first = kept[0] if isinstance(kept, list) and kept else kept
    extracted = first if isinstance(first, list) else [first]
    gold = [target.rpartition("####")[2].strip() for target in row.targets]
    question = question_of(
        {
            "id": f"{prefix}{row.document}",
            "text": row.text(),
            "gold": gold,
            "subject": row.subject or subject,
        }
    )
    return _Document(row, question, tuple(responses[0]), tuple(map(str, extracted)), row.value[metric])


def _verdicts(documents: Sequence[_Document], rule: Rule, metric: str) -> list[list[bool]] | None:
    """Right or wrong for each repeat of each document; None if the log does not say it for all."""
    for spelled in _SPELLINGS:
        rights = [_rights(document, rule, metric, spelled) for document in documents]
        found = [right for right in rights if right is not None]
        if len(found) == len(rights):
            return found
    return None


def _rights(
    document: _Document, rule: Rule, metric: str, spelled: Callable[[Question, str], str | None]
) -> list[bool] | None:
    """Right or wrong for each repeat.

    A score of its own for each; or, where each repeat was extracted and the score is the share that
    matches, whether it does, if under this spelling as many do.
    """
    score, n = document.score, len(document.texts)
    if isinstance(score, list) and len(score) == n:
        return [judge(each, rule.threshold, place=document.row.place, name=metric) for each in score]
    if n == 1:
        return [judge(score, rule.threshold, place=document.row.place, name=metric)]
    if len(document.extracted) != n or not isinstance(score, int | float):
        return None
    accepted = {spelled(document.question, target) for target in document.targets} - {None}
    rights = [
        answer != INVALID and spelled(document.question, answer) in accepted for answer in document.extracted
    ]
    return rights if abs(sum(rights) - score * n) < 1e-6 * n else None


_SPELLINGS: tuple[Callable[[Question, str], str | None], ...] = (
    lambda _, answer: answer,
    lambda _, answer: answer.lower(),
    lambda _, answer: answer.lower().translate(_BARE),
    canonical,
)
"""How exact_match may compare: as written, without case, without punctuation, by value."""


def _repeat(document: _Document, i: int, right: bool, grader: str) -> Repeat:
    text = document.texts[i]
    extracted = document.extracted[i] if len(document.extracted) == len(document.texts) else None
    reason = None
    if not right and extracted == INVALID:
        reason = Reason.NO_ANSWER
    elif not right and not text.strip():
        reason = Reason.EMPTY
    outcome = Outcome.UNREADABLE if reason else Outcome.RIGHT if right else Outcome.WRONG
    return Repeat(text, outcome, reason, extracted, grader)


def _read_again(documents: Sequence[_Document], theirs: str) -> tuple[list[Asked], list[str]]:
    """Every repeat read by this package's grader, with its agreement with the verdicts that the log has."""
    asked: list[Asked] = []
    n_agree = n_known = n_right = 0
    for document in documents:
        if flaw := check_gold(document.question):
            raise BadInput(
                f"{document.row.place}: {theirs} judges one of {len(document.texts)} repeats, and this "
                f"package cannot read the others ({flaw}). Choose a filter that keeps every repeat."
            )
        verdicts = [grade(document.question, text) for text in document.texts]
        repeats = [
            Repeat(text, verdict.outcome, verdict.reason, verdict.answer, GRADER_VERSION)
            for text, verdict in zip(document.texts, verdicts, strict=True)
        ]
        asked.append(_asked(document, repeats))
        if document.score in (0, 1):
            n_known += 1
            n_right += document.score == 1
            n_agree += verdicts[0].right == (document.score == 1)
    n_ours = sum(each.repeats[0].outcome is Outcome.RIGHT for each in asked)
    return asked, [
        f"{theirs} judges one answer a question, not each repeat: all repeats are read by this package's "
        f"grader, version {GRADER_VERSION}. On the first repeat the two agree on {n_agree} of {n_known} "
        f"questions ({n_right} right by lm-eval, {n_ours} by ours)."
    ]


def _asked(document: _Document, repeats: Sequence[Repeat]) -> Asked:
    return Asked(document.question, document.row.requests[0][0], tuple(repeats))
