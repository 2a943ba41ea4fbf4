"""One row of an lm-eval samples file, and the choice of filter and metric."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interp.errors import BadInput
from interp.imports.foreign import mapping, name_of, subject_of
from interp.question import Question

INVALID = "[invalid]"
"""What lm-eval's filters give where they find no answer."""

_PREFERRED = ("exact_match", "acc")


@dataclass(frozen=True)
class Row:
    """One document under one filter.

    Attributes:
        place: File and line.
        value: The row's fields.
    """

    place: str
    value: Mapping[str, Any]

    def get(self, field: str) -> Any:
        """A field that every row has.

        Raises:
            BadInput: The row lacks it.
        """
        if field not in self.value:
            raise BadInput(
                f"{self.place}: the row has no {field!r}. Give a samples file that lm-eval wrote with "
                "--log_samples."
            )
        return self.value[field]

    @property
    def document(self) -> str:
        """Number of the document.

        Raises:
            BadInput: The row has none.
        """
        return name_of(self.get("doc_id"), place=self.place)

    @property
    def doc(self) -> Mapping[str, Any]:
        """The document as the data set has it; empty if it is no object."""
        return mapping(self.value.get("doc"))

    @property
    def requests(self) -> list[tuple[Any, Any]]:
        """What was asked of the model, one a request: the prompt, and an option's text or settings.

        Raises:
            BadInput: They are not there, or not as lm-eval writes them.
        """
        found = self.get("arguments")
        items = list(found.values()) if isinstance(found, dict) else found
        pairs: list[tuple[Any, Any]] = []
        for item in items if isinstance(items, list) else []:
            parts = list(item.values()) if isinstance(item, dict) else item
            if not isinstance(parts, list) or not parts:
                pairs = []
                break
            pairs.append((parts[0], parts[1] if len(parts) > 1 else None))
        if not pairs:
            raise BadInput(
                f"{self.place}: 'arguments' holds no request. Write the log with lm-eval 0.4.3 on."
            )
        return pairs

    @property
    def is_options(self) -> bool:
        """Whether options were weighed by log-likelihood, so that the model wrote nothing."""
        return isinstance(self.requests[0][1], str)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings of generation; empty for options."""
        return mapping(self.requests[0][1])

    @property
    def subject(self) -> str:
        """The document's subject or category, "" if it names none."""
        return subject_of(self.doc)

    @property
    def targets(self) -> list[str]:
        """The target, or each of several; lm-eval writes a list as Python does."""
        target = str(self.get("target"))
        if target.startswith("[") and target.endswith("]"):
            try:
                found = ast.literal_eval(target)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                return [target]
            if isinstance(found, list) and found:
                return [str(item) for item in found]
        return [target]

    def answers(self) -> list[list[Any]]:
        """Responses, one list a request, first to last repeat.

        Raises:
            BadInput: They are not as lm-eval writes them.
        """
        found = self.get("resps")
        if not isinstance(found, list) or not found or not all(isinstance(x, list) and x for x in found):
            raise BadInput(
                f"{self.place}: 'resps' holds no response; expected a list of lists, one a request."
            )
        return found

    def text(self) -> str:
        """The prompt of this document without examples, where the document's own words show where it begins.

        The longest text of the document that the prompt repeats is sought from the end; what is asked
        begins behind the last empty line before it, as lm-eval parts examples.
        """
        prompt = plain_prompt(self.requests[0][0])
        found = [word for word in self.doc.values() if isinstance(word, str) and word.strip()]
        inside = [word.strip() for word in found if word.strip() in prompt]
        if not inside:
            return prompt.strip()
        start = prompt.rfind(max(inside, key=len))
        return prompt[max(prompt.rfind("\n\n", 0, start), 0) :].strip()


@dataclass(frozen=True)
class Rule:
    """Which of a log's verdicts count; fields as in `read_lm_eval`."""

    filter: str | None = None
    metric: str | None = None
    threshold: float | None = None

    def choose_filter(self, rows: Sequence[Row]) -> list[Row]:
        """The rows of one filter, each document once.

        Raises:
            BadInput: The log has several filters and none is chosen, or not the chosen one, or a document
                twice.
        """
        names = list(dict.fromkeys(str(row.value.get("filter", "none")) for row in rows))
        place = rows[0].place.rpartition(":")[0]
        if self.filter is None and len(names) > 1:
            raise BadInput(
                f"{place} has a row for each of the filters {', '.join(names)}. Choose one of them."
            )
        if self.filter is not None and self.filter not in names:
            raise BadInput(f"{place} has no filter {self.filter!r}. Choose one of: {', '.join(names)}.")
        name = self.filter or names[0]
        seen: dict[str, str] = {}
        chosen: list[Row] = []
        for row in rows:
            if str(row.value.get("filter", "none")) != name:
                continue
            document = row.document
            if document in seen:
                raise BadInput(
                    f"{row.place}: document {document} stands already at {seen[document]}: two runs are in "
                    "one file. Part them."
                )
            seen[document] = row.place
            chosen.append(row)
        return chosen

    def choose_metric(self, rows: Sequence[Row]) -> str:
        """The metric that says right or wrong.

        Raises:
            BadInput: There is none, several fit and none is chosen, or a row lacks the chosen one.
        """
        listed = rows[0].value.get("metrics")
        names = [str(name) for name in listed] if isinstance(listed, list) else []
        names = names or [name for name in _PREFERRED if name in rows[0].value]
        metric = self.metric or (names[0] if len(names) == 1 else None)
        metric = metric or next((name for name in _PREFERRED if name in names), None)
        if metric is None:
            raise BadInput(
                f"{rows[0].place}: choose a metric, one of: {', '.join(names) or 'none is there'}."
            )
        for row in rows:
            if metric not in row.value:
                raise BadInput(
                    f"{row.place}: the row has no metric {metric!r}. Choose one of: {', '.join(names)}."
                )
        return metric

    def grader(self, rows: Sequence[Row], metric: str) -> str:
        """Name of their verdict: metric and filter, as lm-eval's tables write it."""
        name = f"lm-eval/{metric},{rows[0].value.get('filter', 'none')}"
        return name if self.threshold is None else f"{name}>={self.threshold}"


def plain_prompt(prompt: Any) -> str:
    """A prompt as text; of chat messages written as JSON, the last one of the user."""
    if isinstance(prompt, list) and len(prompt) == 1:
        prompt = prompt[0]
    text = prompt if isinstance(prompt, str) else json.dumps(prompt, ensure_ascii=False)
    if not text.startswith('[{"role"'):
        return text
    try:
        messages = json.loads(text)
    except (ValueError, RecursionError):
        return text
    users = [
        m["content"] for m in messages if isinstance(m, dict) and m.get("role") == "user" and "content" in m
    ]
    return users[-1] if users and isinstance(users[-1], str) else text


def warn_of_texts(questions: Sequence[Question], prompts: Sequence[str]) -> list[str]:
    """A warning if all questions begin alike and none was parted from its prompt: examples may be in them."""
    whole = [question.text == prompt.strip() for question, prompt in zip(questions, prompts, strict=True)]
    if not any(whole) or not any("\n\n" in prompt.strip() for prompt in prompts):
        return []
    return [f"{sum(whole)} questions show their whole prompt, in which few-shot examples may stand."]
