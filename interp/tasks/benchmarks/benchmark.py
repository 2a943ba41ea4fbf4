"""The noun of this folder: a `Benchmark`, a published set of questions that is read from its own files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path

from interp.errors import BadInput, BadQuestions, UnknownName
from interp.procedure import Decoding, Prompt
from interp.question import Question
from interp.tasks.benchmarks.row import BenchmarkRow
from interp.tasks.benchmarks.table import Dataset, read_columns
from interp.tasks.check import summary
from interp.tasks.family import Knobs
from interp.tasks.row_fields import RowError
from interp.tasks.rows import Problem
from interp.tasks.sample import seeded_sample
from interp.tasks.task import Task, is_binary

ALL = "all"
HUB = "hub"

BY_LETTER = Prompt(
    system="Answer each question with the letter of the right option.", answer_prefix="The answer is "
)
"""The prompt of a multiple-choice benchmark: the answer is begun, and one letter is missing."""
BY_REASONING = Prompt(
    system='Solve the problem step by step. End with the words "The answer is" and the number.'
)
"""The prompt of word problems: the model reasons first and ends with a cue that the grader knows."""
BOXED = Prompt(system="Solve the problem step by step. Put the final answer in \\boxed{}.")
"""The prompt of competition problems: the model reasons first and boxes its answer."""
RUN_ON = ("\nQuestion:",)
"""Where a model that goes on to ask itself the next question is cut."""


@dataclass(frozen=True)
class Benchmark:
    """A row of the table of benchmarks: where its files are, how a row is read, how it is asked.

    Attributes:
        name: Its name in the table.
        description: One line for a reader.
        repo: The dataset's id on the hub.
        revision: The commit of the dataset that is read; the newest where it is None.
        asked: Files of the split that is asked. A knob in braces ("{level}/test.parquet") is replaced.
        shown: Files of the split that gives the few-shot examples; empty where there is none.
        columns: Columns that the rows must have.
        question: Makes the question of a row; None leaves it out.
        answer: The answer that an example shows, without the answer prefix; its gold unless given.
        n: How many questions it has; with `is_sampled`, how many of them are asked by default.
        is_sampled: Whether only a sample is asked unless the caller says how many.
        prompt: What stands around a question.
        decoding: How the answer is read off the model.
        own_knobs: Knobs beside `shots`, `subject` and `dir`, with their values, the default first.
        folders: What stands in a file's path for a value of a knob, where that is not the value itself.
        by_subject: Whether one subject can be asked alone.
        distinct: The column of which each value is one question, where rows repeat questions.
        kept: What is said of the questions that knobs keep, where they leave others out.
        binary: Whether the answers come from two fixed options.
    """

    name: str
    description: str
    repo: str
    revision: str | None
    asked: tuple[str, ...]
    columns: tuple[str, ...]
    question: Callable[[BenchmarkRow], Question | None]
    n: int
    prompt: Prompt
    decoding: Decoding
    shown: tuple[str, ...] = ()
    answer: Callable[[BenchmarkRow, Question], str] = lambda _, question: question.gold[0]
    is_sampled: bool = False
    own_knobs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)
    by_subject: bool = False
    distinct: str | None = None
    kept: Callable[[Knobs], str] = lambda _: "that can be asked"
    binary: bool = False

    @property
    def knobs(self) -> Mapping[str, tuple[str, ...]]:
        """Values of each knob, the default first; N, NAME and FOLDER stand for any of their kind."""
        return {
            **self.own_knobs,
            **({"subject": (ALL, "NAME")} if self.by_subject else {}),
            **({"shots": ("0", "N")} if self.shown else {}),
            "dir": (HUB, "FOLDER"),
        }

    def load(
        self, title: str, knobs: Knobs, *, n: int | None = None, seed: int = 0, download: bool = False
    ) -> Task:
        """The benchmark as a task.

        Args:
            title: The task's name: the line it was asked for by.
            knobs: The value of every knob.
            n: How many questions, drawn by the seed; all in the file's order unless given or if n is their
                number.
            seed: Which sample; seeds of different parity share no question while n is at most half.
            download: Whether a file that is not on this machine may be fetched from the hub.

        Raises:
            BadInput: A file is not on this machine, n is above the number of questions, or there are fewer
                examples than shots.
            BadQuestions: A file is damaged, lacks a column, or has rows that cannot be used.
            UnknownName: There is no such subject.
        """
        folder = None if knobs["dir"] == HUB else Path(knobs["dir"]).expanduser()
        dataset = Dataset(self.name, self.repo, self.revision, folder, download)
        made = list(self._made(dataset, self.asked, knobs))
        every = [question for _, question in made if question is not None]
        questions = self._of_subject(every, knobs)
        if not questions:
            raise BadQuestions(
                f"{title}: none of the {len(made)} rows of {self.asked[0]} is a question to ask."
            )
        prompt = self.prompt
        if int(knobs.get("shots", "0")):
            prompt = replace(prompt, examples=self._examples(dataset, knobs, asked=every))
        wanted = min(self.n, len(questions)) if n is None and self.is_sampled else n
        sample = self._sample(questions, wanted, title=title, seed=seed)
        description = self._described(
            knobs, n_rows=len(made), n_kept=len(every), n_here=len(questions), n_asked=len(sample)
        )
        return Task(title, sample, prompt, self.decoding, description, is_binary(sample))

    def _sample(
        self, questions: tuple[Question, ...], n: int | None, *, title: str, seed: int
    ) -> tuple[Question, ...]:
        if n is None or n == len(questions):
            return questions
        if n > len(questions):
            raise BadInput(f"Task {title!r} has only {len(questions)} questions, not {n}; ask for fewer.")
        return seeded_sample(questions, seed)[:n]

    def _made(
        self, dataset: Dataset, paths: tuple[str, ...], knobs: Knobs
    ) -> Iterator[tuple[BenchmarkRow, Question | None]]:
        """Every row of some files with its question; all rows that cannot be used are refused together."""
        problems: list[Problem] = []
        n_rows, seen = 0, set[object]()
        places = {knob: self.folders.get(value, value) for knob, value in knobs.items()}
        for path in (path.format(**places) for path in paths):
            file = dataset.find(path)
            for line, values in read_columns(file, self.columns, distinct=self.distinct):
                if self.distinct is not None and values[self.distinct] in seen:
                    continue
                seen.add(values[self.distinct] if self.distinct is not None else None)
                n_rows += 1
                row = BenchmarkRow(values, knobs=knobs, file=path, number=line - 1)
                try:
                    yield row, self.question(row)
                except RowError as flaw:
                    problems += [Problem("error", str(file), line, *found) for found in flaw.problems]
        if problems:
            listed = summary(problems)
            raise BadQuestions(f"{self.name}: {len(problems)} of {n_rows} rows cannot be used.\n{listed}")

    def _of_subject(self, questions: list[Question], knobs: Knobs) -> tuple[Question, ...]:
        subject = knobs.get("subject", ALL)
        if subject == ALL:
            return tuple(questions)
        known = {question.subject for question in questions}
        if subject not in known:
            raise UnknownName(f"subject of {self.name}", subject, [*known, ALL])
        return tuple(question for question in questions if question.subject == subject)

    def _examples(
        self, dataset: Dataset, knobs: Knobs, *, asked: list[Question]
    ) -> tuple[tuple[str, str], ...]:
        """The first examples of the split that shows them, one of each subject in turn, none of them asked.

        They do not depend on the seed or on the question, so that all prompts share their beginning.
        """
        n_shots = int(knobs["shots"])
        texts = {_plain(question) for question in asked}
        by_subject: dict[str, list[tuple[str, str]]] = {}
        for row, question in self._made(dataset, self.shown, knobs):
            is_of_subject = question is not None and knobs.get("subject", ALL) in (ALL, question.subject)
            if question is not None and is_of_subject and _plain(question) not in texts:
                example = (question.text, self.answer(row, question))
                by_subject.setdefault(question.subject, []).append(example)
        in_turn = [e for each in zip_longest(*by_subject.values()) for e in each if e is not None]
        if len(in_turn) < n_shots:
            raise BadInput(
                f"{self.name}: {self.shown[0]} has only {len(in_turn)} examples, not {n_shots}; ask for "
                "fewer shots."
            )
        return tuple(in_turn[:n_shots])

    def _described(self, knobs: Knobs, *, n_rows: int, n_kept: int, n_here: int, n_asked: int) -> str:
        """The description with what of the benchmark is asked, so that a part is not taken for the whole."""
        parts = [self.description, f"{n_rows:,} questions in all."]
        if n_kept < n_rows:
            parts.append(f"Kept are the {n_kept:,} {self.kept(knobs)}.")
        if n_here < n_kept:
            parts.append(f"{n_here:,} are of the subject {knobs['subject']}.")
        if n_asked < n_here:
            parts.append(f"A sample of {n_asked:,} is asked.")
        return " ".join(parts)


def _plain(question: Question) -> str:
    return " ".join(question.text.split()).casefold()
