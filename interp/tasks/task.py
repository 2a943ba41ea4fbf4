"""The noun of this folder: a `Task`, questions together with the way they are asked by default."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from interp.errors import BadQuestions
from interp.procedure import Decoding, Procedure, Prompt, content_key
from interp.question import Question, Verdict
from interp.tasks.grading import GRADER_VERSION, grade

ASKED = Prompt(system="You answer questions.", answer_prefix="The answer is ")
"""The prompt of a task that says nothing else: a short system text, the answer begun for the model."""

ONE_LINE = Decoding(max_new_tokens=8, stop=("\n",))
"""The decoding of a task that says nothing else: one short line."""
LONG_LINE = Decoding(max_new_tokens=32, stop=("\n",))
"""The decoding of a question file that says nothing else: room for an answer of any kind on one line."""

ONE_NAME = Decoding(max_new_tokens=12, stop=("\n", ".", ","))
"""The decoding of a task whose answer is a name: what the model goes on to say of it is not read."""


@dataclass(frozen=True)
class Task:
    """Questions, and the procedure under which they are asked unless the caller says otherwise.

    A plain record: `dataclasses.replace` changes any part of it.

    Attributes:
        name: The line it was loaded by, in canonical form ("comparison:ask=smaller,digits=1").
        questions: The questions, in the order they are asked.
        prompt: What stands around a question.
        decoding: How the answer is read off the model.
        description: One line for a reader.
        binary: Whether every answer is one of two fixed options. A block that turns each "No" into "Yes"
            then repairs half of all failures, and two tries reach every answer.
        warnings: What a reader of its results must know: the rows that were left out of a file, and why.
    """

    name: str
    questions: tuple[Question, ...]
    prompt: Prompt = ASKED
    decoding: Decoding = ONE_LINE
    description: str = ""
    binary: bool = False
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuses a task without questions or with an id that stands twice.

        Raises:
            BadQuestions: There is no question, or two have the same id.
        """
        if not self.questions:
            raise BadQuestions(f"Task {self.name!r} has no questions.")
        twice = [i for i, count in Counter(q.id for q in self.questions).items() if count > 1]
        if twice:
            raise BadQuestions(
                f"Task {self.name!r} has the id {twice[0]!r} more than once; ids must be unique."
            )

    @property
    def hash(self) -> str:
        """Content key of the questions, ids and order included: 16 hexadecimal digits."""
        return content_key([question.to_json() for question in self.questions])

    @property
    def procedure(self) -> Procedure:
        """The deployed procedure: prompt and decoding, no intervention."""
        return Procedure(self.prompt, self.decoding)

    @property
    def grader(self) -> str:
        """Version of the grader that `grade` uses."""
        return GRADER_VERSION

    def with_prompt(self, prompt: Prompt) -> Task:
        """The same task asked with another prompt.

        Without an answer prefix a model may begin with a line of its own, so no stop string then ends the
        answer.
        """
        stop = self.decoding.stop if prompt.answer_prefix else ()
        return replace(self, prompt=prompt, decoding=replace(self.decoding, stop=stop))

    def grade(
        self, question: Question, completion_text: str, finish: Literal["stop", "length"] = "stop"
    ) -> Verdict:
        """Reads a completion as the answer to a question; the prompt's answer prefix is part of it.

        In "The answer is" and "3, since 8 is more." the cue stands in the prefix. The span counts in the
        completion.
        """
        return grade(question, completion_text, finish, prefix=self.prompt.answer_prefix)


def is_binary(questions: Sequence[Question]) -> bool:
    """Whether every answer comes from two fixed options.

    So it is when each question has exactly two choices, or when ten questions or more share at most two
    golds.
    """
    if all(len(question.choices) == 2 for question in questions):
        return True
    return len(questions) >= 10 and len({question.gold for question in questions}) <= 2
