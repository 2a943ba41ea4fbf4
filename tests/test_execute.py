"""The loop: one row a draw, the same rows however often it was interrupted."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import scripted_task
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_task import PROCEDURE, QUESTIONS, Sums, UntilRight, answer, open_run, whole_run

from interp.errors import QuestionTooLong, RunError, RunMismatch, Unsupported
from interp.execute import execute
from interp.models.scripted import Scripted
from interp.probes.deployed import Deployed
from interp.probes.probe import Draw
from interp.probes.sampling import Sampling
from interp.probes.silencing import Silencing
from interp.procedure import Decoding, Procedure, draw_seed
from interp.question import Attempt, Outcome, Question, Reason, Verdict
from interp.run import Run


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Attempt], bytes]:
    """The rows and the log of a run that was never interrupted."""
    path = tmp_path_factory.mktemp("whole")
    rows = whole_run(path)
    assert len({row.outcome for row in rows}) == 3
    return rows, log_of(path)


def log_of(path: Path) -> bytes:
    return (path / "attempts.jsonl").read_bytes()


def child(*arguments: object) -> list[str]:
    return [sys.executable, scripted_task.__file__, *map(str, arguments)]


@dataclass
class Heard:
    """A watcher that writes down what it is told."""

    stages: list[tuple[str, int, int]] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)

    def stage(self, name: str, total: int, done: int) -> None:
        self.stages.append((name, total, done))

    def rows(self, attempts: Sequence[Attempt]) -> None:
        self.attempts.extend(attempts)


def test_a_row_holds_all_that_is_needed_to_read_it_again(tmp_path: Path) -> None:
    silenced = Silencing(PROCEDURE, 3, ("q04",))
    model = Scripted(answer, n_layers=3)
    with open_run(tmp_path) as run:
        rows = execute(model, Sums(), silenced, run)
        assert run.attempts == rows
    row, question = rows[2], QUESTIONS[4]
    seed = draw_seed(5, "silencing", "q04", 2)
    text = answer(question.text, silenced.ablated(1), seed)
    assert (row.probe, row.question, row.draw, row.seed) == ("silencing", "q04", 2, seed)
    assert (row.question_hash, row.procedure) == (question.hash, silenced.ablated(1).key)
    assert row.interventions == ("L1.mlp_out*0",)
    assert (row.text, row.finish, row.grader) == (text, "stop", "sums-1")
    verdict = Sums().grade(question, text, "stop")
    assert Verdict(row.outcome, row.reason, row.answer, row.span) == verdict
    prompt = model.render(question.text, PROCEDURE.prompt)
    assert row.n_prompt_tokens == len(prompt.tokens)
    assert row.n_layer_tokens == 3 * (len(prompt.tokens) + len(row.tokens))
    assert len({r.prompt_hash for r in rows}) == 1
    with open_run(tmp_path / "other") as run:
        other = execute(model, Sums(), Silencing(PROCEDURE, 3, ("q05",)), run)
    assert other[0].prompt_hash != row.prompt_hash


def test_a_finished_run_asks_nothing(tmp_path: Path, whole: tuple[list[Attempt], bytes]) -> None:
    whole_run(tmp_path)
    idle = Scripted(answer, n_layers=3, fail_at=1)
    assert whole_run(tmp_path, model=idle) == whole[0]
    assert (idle.batches, idle.checked) == ([], [])
    assert execute(idle, Sums(), UntilRight(), Run.read(tmp_path)) == whole[0][25:]


@pytest.mark.parametrize("n_answers", [1, 2, 8, 9, 14, 25, 26, 40])
def test_killed_at_an_answer_it_goes_on_to_the_same_log(
    tmp_path: Path, whole: tuple[list[Attempt], bytes], n_answers: int
) -> None:
    assert subprocess.run(child(tmp_path, "answer", n_answers), check=False).returncode == -9
    assert whole[1].startswith(log_of(tmp_path))
    assert log_of(tmp_path).count(b"\n") <= n_answers - 1
    assert whole_run(tmp_path) == whole[0]
    assert log_of(tmp_path) == whole[1]


@pytest.mark.parametrize(("n_writes", "n_bytes"), [(1, 0), (1, 100), (2, 1), (3, 1700), (5, 431), (6, 2000)])
def test_killed_inside_a_write_it_goes_on_to_the_same_log(
    tmp_path: Path, whole: tuple[list[Attempt], bytes], n_writes: int, n_bytes: int
) -> None:
    assert subprocess.run(child(tmp_path, "write", n_writes, n_bytes), check=False).returncode == -9
    before = log_of(tmp_path)
    assert whole[1].startswith(before)
    rows = Run.read(tmp_path).attempts
    assert len(rows) == before.count(b"\n")
    assert whole_run(tmp_path) == whole[0]
    assert log_of(tmp_path) == whole[1]


def test_killed_from_outside_again_and_again_it_ends_with_the_same_log(
    tmp_path: Path, whole: tuple[list[Attempt], bytes]
) -> None:
    for target in (1, 12000, 24000):
        process = subprocess.Popen(child(tmp_path, "slow", 0.002), stdout=subprocess.PIPE, text=True)
        limit = time.monotonic() + 20
        log = tmp_path / "attempts.jsonl"
        while time.monotonic() < limit and not (log.exists() and log.stat().st_size >= target):
            time.sleep(0.002)
        process.kill()
        process.communicate()
        assert process.returncode == -9
        assert target <= log.stat().st_size < len(whole[1])
    done = subprocess.run(child(tmp_path, "slow", 0), check=True, capture_output=True, text=True)
    assert done.stdout == "torch loaded: False\n"
    assert log_of(tmp_path) == whole[1]


@settings(max_examples=15, deadline=None)
@given(
    stops=st.lists(st.tuples(st.integers(1, 30), st.integers(0, 3000)), max_size=5),
    batch_size=st.integers(1, 40),
)
def test_any_interruptions_lead_to_the_same_log(stops: list[tuple[int, int]], batch_size: int) -> None:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        rows = whole_run(Path(one), batch_size=batch_size)
        batches: set[tuple[object, ...]] = set()
        for fail_at, n_torn in stops:
            model = Scripted(answer, n_layers=3, fail_at=fail_at)
            try:
                whole_run(Path(other), model=model, batch_size=batch_size)
            except RuntimeError:
                log = Path(other) / "attempts.jsonl"
                log.write_bytes(log.read_bytes()[: max(0, log.stat().st_size - n_torn)])
            batches.update(model.batches)
        model = Scripted(answer, n_layers=3)
        assert whole_run(Path(other), model=model, batch_size=batch_size) == rows
        assert log_of(Path(other)) == log_of(Path(one))
        straight = Scripted(answer, n_layers=3)
        with tempfile.TemporaryDirectory() as third:
            whole_run(Path(third), model=straight, batch_size=batch_size)
        assert batches | set(model.batches) <= set(straight.batches)


@pytest.mark.parametrize("batch_size", [1, 5, 1000])
def test_rows_do_not_depend_on_the_batch_size(
    tmp_path: Path, whole: tuple[list[Attempt], bytes], batch_size: int
) -> None:
    assert whole_run(tmp_path, batch_size=batch_size) == whole[0]
    assert log_of(tmp_path) == whole[1]


def test_a_batch_that_lacks_a_row_is_asked_whole_and_only_that_row_is_written(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        rows = execute(Scripted(answer), Sums(), Deployed(PROCEDURE), run, batch_size=5)
    lines = log_of(tmp_path).splitlines(keepends=True)
    (tmp_path / "attempts.jsonl").write_bytes(b"".join(lines[:6] + lines[7:]))
    model = Scripted(answer)
    with open_run(tmp_path) as run:
        assert execute(model, Sums(), Deployed(PROCEDURE), run, batch_size=5) == rows
    assert [[request.text for request in batch] for batch in model.batches] == [
        [q.text for q in QUESTIONS[5:10]]
    ]
    assert log_of(tmp_path) == b"".join(lines[:6] + lines[7:] + lines[6:7])


def test_an_interrupt_keeps_the_batches_before_it(tmp_path: Path) -> None:
    def interrupted(text: str, procedure: Procedure, seed: int) -> str:
        if text == QUESTIONS[7].text:
            raise KeyboardInterrupt
        return answer(text, procedure, seed)

    with open_run(tmp_path) as run, pytest.raises(KeyboardInterrupt):
        execute(Scripted(interrupted), Sums(), Deployed(PROCEDURE), run, batch_size=3)
    assert [row.question for row in Run.read(tmp_path).attempts] == [q.id for q in QUESTIONS[:6]]


def test_an_adaptive_probe_asks_again_what_was_not_right(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        rows = execute(Scripted(answer), Sums(), UntilRight(), run, batch_size=4)
    by_question = {q.id: [row for row in rows if row.question == q.id] for q in QUESTIONS}
    for tries in by_question.values():
        assert [row.draw for row in tries] == list(range(len(tries)))
        assert all(row.outcome is not Outcome.RIGHT for row in tries[:-1])
        assert len(tries) == 4 or tries[-1].outcome is Outcome.RIGHT
    assert len({len(tries) for tries in by_question.values()}) > 1


def test_the_watcher_hears_every_batch_asked_or_found(tmp_path: Path) -> None:
    first, second = Heard(), Heard()
    with open_run(tmp_path) as run:
        rows = execute(Scripted(answer), Sums(), UntilRight(), run, batch_size=6, watcher=first)
        execute(Scripted(answer), Sums(), UntilRight(), run, batch_size=6, watcher=second)
    assert first == second
    assert first.attempts == rows
    assert first.stages[:4] == [("until-right", 13, done) for done in (0, 6, 12, 13)]
    assert first.stages[-1] == ("until-right", len(rows), len(rows))


def test_a_grader_that_fails_makes_the_answer_unreadable(tmp_path: Path) -> None:
    class Failing(Sums):
        def grade(self, question: Question, text: str, finish: str) -> Verdict:
            if question.id == "q03":
                raise RecursionError
            return super().grade(question, text, finish)

    with open_run(tmp_path) as run:
        rows = execute(Scripted(answer), Failing(), Deployed(PROCEDURE), run)
    assert [row.question for row in rows if row.reason is Reason.ERROR] == ["q03"]
    assert rows[3].outcome is Outcome.UNREADABLE
    assert rows[3].text == answer(QUESTIONS[3].text, PROCEDURE, rows[3].seed)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"procedure": "0" * 16}, "procedure was 0000000000000000, now "),
        ({"question_hash": "ab"}, "question_hash was ab, now "),
        ({"grader": "sums-0"}, "grader was sums-0, now sums-1"),
        ({"seed": 1}, "seed was 1, now "),
    ],
)
def test_a_row_that_was_made_another_way_is_named(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    with open_run(tmp_path / "a") as run:
        rows = execute(Scripted(answer), Sums(), Deployed(PROCEDURE), run)
    model = Scripted(answer)
    with open_run(tmp_path / "b") as run:
        run.append([replace(rows[2], **change)])
        with pytest.raises(RunMismatch) as caught:
            execute(model, Sums(), Deployed(PROCEDURE), run)
        assert "probe 'deployed', question 'q02', draw 0" in str(caught.value)
        assert message in str(caught.value)
        assert len(run.attempts) == 1
    assert model.batches == []


def test_every_procedure_is_checked_before_the_first_batch(tmp_path: Path) -> None:
    model = Scripted(answer, n_layers=3)
    with open_run(tmp_path) as run:
        with pytest.raises(Unsupported, match=r"L3\.mlp_out"):
            execute(model, Sums(), Silencing(PROCEDURE, 4, ("q01", "q02")), run, batch_size=1)
        long = replace(PROCEDURE, decoding=Decoding(max_new_tokens=5000))
        with pytest.raises(QuestionTooLong):
            execute(model, Sums(), Deployed(long), run)
        assert (model.batches, run.attempts) == ([], [])
        model.checked.clear()
        probe = Silencing(PROCEDURE, 3, ("q01", "q02"))
        execute(model, Sums(), probe, run)
    assert [procedure for _, procedure in model.checked] == [PROCEDURE, *map(probe.ablated, range(3))]
    assert model.checked[0][0] == (QUESTIONS[1].text, QUESTIONS[2].text)
    assert all(texts for texts, _ in model.checked)


def test_a_text_is_checked_under_each_prompt_and_length(tmp_path: Path) -> None:
    short, long = PROCEDURE, replace(PROCEDURE, decoding=Decoding(max_new_tokens=4090))

    class Two:
        name, sees_verdicts = "two", False

        def propose(self, _: Sequence[Question], history: Sequence[Attempt]) -> list[Draw]:
            return [] if history else [Draw("q01", n, p) for n, p in enumerate((short, long))]

    with open_run(tmp_path) as run, pytest.raises(QuestionTooLong):
        execute(Scripted(answer), Sums(), Two(), run)


def test_a_probe_that_breaks_its_word_is_a_bug(tmp_path: Path) -> None:
    @dataclass
    class Bad:
        draws: list[Draw]
        name: str = "bad"
        sees_verdicts: bool = False

        def propose(self, *_: object) -> list[Draw]:
            return self.draws

    one = Draw("q01", 0, PROCEDURE)
    with open_run(tmp_path) as run:
        for draws in ([one], [one, one]):
            with pytest.raises(ValueError, match="proposed before"):
                execute(Scripted(answer), Sums(), Bad(draws), run)
        with pytest.raises(ValueError, match="the task lacks"):
            execute(Scripted(answer), Sums(), Bad([Draw("q99", 0, PROCEDURE)]), run)
        with pytest.raises(ValueError, match="batch_size=0"):
            execute(Scripted(answer), Sums(), Deployed(PROCEDURE), run, batch_size=0)


def test_a_model_that_answers_too_few_is_a_bug(tmp_path: Path) -> None:
    class Lazy(Scripted):
        def generate(self, requests, *, references=None, **_):
            return iter(list(super().generate(requests, references=references))[:-1])

    with open_run(tmp_path) as run:
        with pytest.raises(ValueError, match="shorter"):
            execute(Lazy(answer), Sums(), Deployed(PROCEDURE), run)
        assert run.attempts == []


def test_references_reach_the_model(tmp_path: Path) -> None:
    class Listening(Scripted):
        heard = ()

        def generate(self, requests, *, references=None, **_):
            self.heard = (*self.heard, references)
            return super().generate(requests, references=references)

    model, references = Listening(answer), {"3fa9": {}}
    with open_run(tmp_path) as run:
        execute(model, Sums(), Deployed(PROCEDURE), run, references=references)
    assert model.heard == (references,)


def test_a_run_for_reading_only_is_not_asked_for_more(tmp_path: Path) -> None:
    open_run(tmp_path).close()
    with pytest.raises(RunError, match="reading only"):
        execute(Scripted(answer), Sums(), Deployed(PROCEDURE), Run.read(tmp_path))


@pytest.mark.parametrize("batch_size", [1, 7, 64])
def test_more_draws_add_rows_and_change_none(tmp_path: Path, batch_size: int) -> None:
    procedure = replace(PROCEDURE, decoding=replace(PROCEDURE.decoding, temperature=0.8))
    with open_run(tmp_path) as run:
        few = execute(Scripted(answer), Sums(), Sampling(procedure, 3), run, batch_size=batch_size)
    before = log_of(tmp_path)
    model = Scripted(answer)
    with open_run(tmp_path) as run:
        more = execute(model, Sums(), Sampling(procedure, 8), run, batch_size=batch_size)
    assert more[: len(few)] == few
    assert log_of(tmp_path).startswith(before)
    assert len({row.seed for row in more}) == len(more) == 8 * len(QUESTIONS)
    assert sum(map(len, model.batches)) < 5 * len(QUESTIONS) + batch_size
