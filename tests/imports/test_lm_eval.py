"""lm-eval's samples files, against files that lm-eval 0.4.13 wrote (`logs/write_lm_eval.py`)."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from write_lm_eval import CAPITALS, SUMS, reply

from interp.errors import BadInput
from interp.imports.imported import Imported
from interp.imports.lm_eval import read_lm_eval
from interp.procedure import Decoding, Procedure
from interp.question import Kind, Outcome, Reason
from interp.run import Run
from interp.tasks.grading import GRADER_VERSION

LOGS = Path(__file__).parent / "logs" / "lm-eval"
RESULTS = json.loads(next(LOGS.glob("results_*.json")).read_text())["results"]
Write = Callable[..., Path]


def samples(task: str) -> Path:
    return next(LOGS.glob(f"samples_{task}_*.jsonl"))


def score(read: Imported, probe: str) -> float:
    rows = [row for row in read.attempts if row.probe == probe]
    return sum(row.outcome is Outcome.RIGHT for row in rows) / len(rows)


def a_row(**fields: object) -> dict[str, object]:
    """A row as lm-eval writes it: one question, one response."""
    return {
        "doc_id": 0,
        "doc": {"question": "What is 2 + 3?", "answer": "5"},
        "target": "5",
        "arguments": {"gen_args_0": {"arg_0": "Q: What is 2 + 3?\nA:", "arg_1": {"until": ["\n"]}}},
        "resps": [["It is 5."]],
        "filtered_resps": ["5"],
        "filter": "none",
        "metrics": ["exact_match"],
        "exact_match": 1.0,
    } | fields


def options_row(**fields: object) -> dict[str, object]:
    """A row of a log-likelihood task: three options, of which the second is the most probable."""
    texts = [" red", " blue", " green"]
    return (
        a_row(
            arguments={f"gen_args_{i}": {"arg_0": "Which?", "arg_1": text} for i, text in enumerate(texts)},
            resps=[[["-3.5", "False"]], [["-1.25", "True"]], [["-2.0", "False"]]],
            filtered_resps=[["-3.5", "False"], ["-1.25", "True"], ["-2.0", "False"]],
            target="1",
            metrics=["acc"],
            acc=1.0,
        )
        | fields
    )


@pytest.fixture
def written(tmp_path: Path) -> Write:
    def write_rows(*rows: object, name: str = "samples_toy_2026-01-02T03-04-05.678.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write_rows


def test_each_repeat_has_lm_evals_verdict():
    read = read_lm_eval([samples("sums_each")])
    rows = {(row.question, row.draw): row for row in read.attempts if row.probe == "sampling"}
    assert len(rows) == 4 * len(SUMS)
    for i, (a, b) in enumerate(SUMS):
        for draw in range(4):
            row, text = rows[str(i), draw], reply(f"What is {a} + {b} ", draw)
            found = re.search(r"answer is (\d+)", text)
            assert row.text == text
            assert row.answer == (found[1] if found else None)
            assert row.reason == (None if found else Reason.NO_ANSWER)
            assert (row.outcome is Outcome.RIGHT) == (found is not None and int(found[1]) == a + b)
            assert row.span == (found.span(1) if found else None)
    assert score(read, "sampling") == pytest.approx(RESULTS["sums_each"]["exact_match,each"])
    assert {row.grader for row in read.attempts} == {"lm-eval/exact_match,each"}
    assert read.warnings == ()


def test_the_deployed_answer_is_the_first_repeat():
    read = read_lm_eval([samples("sums_each")])
    first = {row.question: row for row in read.attempts if row.probe == "sampling" and row.draw == 0}
    deployed = [row for row in read.attempts if row.probe == "deployed"]
    assert [row.question for row in deployed] == [question.id for question in read.questions]
    for row in deployed:
        other = first[row.question]
        assert (row.draw, row.text, row.outcome, row.answer, row.procedure) == (
            0,
            other.text,
            other.outcome,
            other.answer,
            other.procedure,
        )


def test_questions_are_without_examples():
    read = read_lm_eval([samples("sums_each")])
    assert [q.text for q in read.questions] == [f"Question: What is {a} + {b} ?\nAnswer:" for a, b in SUMS]
    assert [(q.kind, q.gold) for q in read.questions] == [(Kind.NUMBER, (str(a + b),)) for a, b in SUMS]


def test_plan_and_environment_hold_what_the_log_says():
    read = read_lm_eval([samples("sums_each")])
    assert read.plan["procedure"]["decoding"] == {
        "stop": ["\n\n"],
        "max_new_tokens": 24,
        "temperature": 0.7,
        "top_p": 0.9,
    }
    assert Procedure.from_json(read.plan["procedure"]).decoding == Decoding(
        max_new_tokens=24, stop=("\n\n",), temperature=0.7, top_p=0.9
    )
    assert read.plan["procedure"]["few_shot"] == {"sums_each": 2}
    assert read.plan["model"]["name"] == "scripted"
    assert read.plan["probes"] == {"sampling": {"n_draws": 4}}
    assert read.plan["task"]["grader"] == "lm-eval/exact_match,each"
    assert read.environment["packages"]["lm_eval"] == "0.4.13"


@pytest.mark.parametrize(("name", "agree"), [("flexible-extract", 6), ("strict-match", 4)])
def test_where_only_the_first_repeat_is_judged_all_are_read_again(name: str, agree: int):
    read = read_lm_eval([samples("sums_first")], filter=name)
    known = round(6 * RESULTS["sums_first"][f"exact_match,{name}"])
    assert read.warnings[0].endswith(
        f"the two agree on {agree} of 6 questions ({known} right by lm-eval, 4 by ours)."
    )
    for row in read.attempts:
        a, b = SUMS[int(row.question)]
        numbers = re.findall(r"\d+", row.text)
        assert row.grader == GRADER_VERSION
        assert (row.outcome is Outcome.RIGHT) == (bool(numbers) and int(numbers[-1]) == a + b)


def test_a_filter_must_be_chosen():
    with pytest.raises(BadInput, match=r"filters strict-match, flexible-extract. Choose one"):
        read_lm_eval([samples("sums_first")])
    with pytest.raises(BadInput, match=r"no filter 'maj'. Choose one of: strict-match, flexible-extract"):
        read_lm_eval([samples("sums_first")], filter="maj")


@pytest.mark.parametrize("metric", ["acc", "acc_norm"])
def test_options_give_the_one_that_the_metric_picks(metric: str):
    read = read_lm_eval([samples("capitals")], metric=metric)
    assert score(read, "sampling") == pytest.approx(RESULTS["capitals"][f"{metric},none"])
    for question, row, (_, options, label) in zip(read.questions, read.attempts, CAPITALS, strict=False):
        assert question.choices == tuple(options)
        assert question.gold == ("ABCD"[label],)
        assert row.text == options["ABCD".index(row.answer or "")]
        assert (row.outcome is Outcome.RIGHT) == (row.answer == "ABCD"[label])
    assert any("one answer a question" in warning for warning in read.warnings)


def test_the_two_metrics_pick_different_options():
    picked = [
        [row.answer for row in read_lm_eval([samples("capitals")], metric=m).attempts]
        for m in ("acc", "acc_norm")
    ]
    assert picked[0] != picked[1]


def test_several_tasks_keep_their_names():
    read = read_lm_eval([samples("sums_each"), samples("capitals")])
    assert len({question.id for question in read.questions}) == len(SUMS) + len(CAPITALS)
    assert read.questions[0].id == "sums_each/0"
    assert {question.subject for question in read.questions} == {"sums_each", "capitals"}
    assert "4 on 6" in read.warnings[-1]
    assert "1 on 3" in read.warnings[-1]
    assert read.plan["task"]["grader"] == "lm-eval/acc,none; lm-eval/exact_match,each"


def test_it_becomes_a_run(tmp_path: Path):
    read = read_lm_eval([samples("sums_each")])
    with Run.create_or_resume(
        tmp_path / "run", plan=read.plan, questions=read.questions, environment=read.environment
    ) as run:
        run.append(read.attempts)
    again = Run.read(tmp_path / "run")
    assert tuple(again.attempts) == read.attempts
    assert again.questions == read.questions
    assert again.plan == read.plan


def test_two_files_of_one_task_are_refused(tmp_path: Path):
    other = shutil.copy(samples("sums_each"), tmp_path)
    with pytest.raises(BadInput, match="the same task 'sums_each'"):
        read_lm_eval([samples("sums_each"), Path(other)])


def test_files_of_two_models_are_refused(tmp_path: Path):
    other = shutil.copy(samples("capitals"), tmp_path)
    with pytest.raises(BadInput, match="by model 'scripted'"):
        read_lm_eval([samples("sums_each"), Path(other)])


def test_without_a_results_file_the_folder_names_the_model(written: Write):
    path = written(a_row())
    read = read_lm_eval([path])
    assert read.plan["model"]["name"] == path.parent.name
    assert "has no results file beside it" in read.warnings[0]


@given(
    st.lists(
        st.lists(st.sampled_from(["5", "7", "[invalid]"]), min_size=2, max_size=5), min_size=1, max_size=4
    )
)
def test_verdicts_of_repeats_add_up_to_the_share(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[list[str]]
):
    rows = [
        a_row(
            doc_id=i, resps=[answers], filtered_resps=[answers], exact_match=answers.count("5") / len(answers)
        )
        for i, answers in enumerate(drawn)
    ]
    path = tmp_path_factory.mktemp("logs") / "samples_toy.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    found = {
        (row.question, row.draw): row.outcome
        for row in read_lm_eval([path]).attempts
        if row.probe == "sampling"
    }
    expected = {"5": Outcome.RIGHT, "7": Outcome.WRONG, "[invalid]": Outcome.UNREADABLE}
    assert found == {
        (str(i), j): expected[a] for i, answers in enumerate(drawn) for j, a in enumerate(answers)
    }


@pytest.mark.parametrize(
    ("target", "answers", "share"),
    [
        ("Paris", ["paris", "Rome"], 0.5),
        ("1,000", ["1000", "$1000", "100"], 2 / 3),
        ("reasoning #### 18", ["18", "19"], 0.5),
        ("0.5", ["1/2", "0.50", "2"], 2 / 3),
    ],
)
def test_spellings_that_lm_eval_may_take_for_equal(
    written: Write, target: str, answers: list[str], share: float
):
    path = written(a_row(target=target, resps=[answers], filtered_resps=[answers], exact_match=share))
    rows = [row for row in read_lm_eval([path]).attempts if row.probe == "sampling"]
    assert [row.outcome is Outcome.RIGHT for row in rows] == [True] * round(share * len(answers)) + [False]
    assert {row.grader for row in rows} == {"lm-eval/exact_match,none"}


def test_a_share_that_no_spelling_explains_is_not_believed(written: Write):
    answers = ["5", "6"]
    read = read_lm_eval([written(a_row(resps=[answers], filtered_resps=[answers], exact_match=1.0))])
    assert [row.outcome for row in read.attempts if row.probe == "sampling"] == [Outcome.RIGHT, Outcome.WRONG]
    assert {row.grader for row in read.attempts} == {GRADER_VERSION}
    assert "judges one answer a question" in read.warnings[1]


def test_a_score_for_each_repeat_is_taken(written: Write):
    read = read_lm_eval(
        [written(a_row(resps=[["a", "b", "c"]], filtered_resps=["a"], exact_match=[0, 1, 0.0]))]
    )
    found = [row.outcome for row in read.attempts if row.probe == "sampling"]
    assert found == [Outcome.WRONG, Outcome.RIGHT, Outcome.WRONG]


def test_repeats_that_no_one_can_read_are_refused(written: Write):
    path = written(a_row(target="", resps=[["a", "b"]], exact_match=0.0))
    with pytest.raises(BadInput, match=r"jsonl:1: .* judges one of 2 repeats, and .* \(no gold answer\)"):
        read_lm_eval([path])


def test_a_part_score_needs_a_threshold(written: Write):
    path = written(a_row(exact_match=0.4), a_row(doc_id=1, exact_match=0.6))
    with pytest.raises(BadInput, match=r"jsonl:1: exact_match is 0.4, neither 0 nor 1.*threshold"):
        read_lm_eval([path])
    read = read_lm_eval([path], threshold=0.5)
    assert [row.outcome for row in read.attempts[:2]] == [Outcome.WRONG, Outcome.RIGHT]
    assert read.attempts[0].grader == "lm-eval/exact_match,none>=0.5"


def test_an_empty_response_is_unreadable_not_wrong(written: Write):
    read = read_lm_eval([written(a_row(resps=[[" "]], filtered_resps=[" "], exact_match=0.0))])
    assert (read.attempts[0].outcome, read.attempts[0].reason) == (Outcome.UNREADABLE, Reason.EMPTY)


def test_several_targets_are_alternatives(written: Write):
    read = read_lm_eval(
        [written(a_row(target="['five', '5 apples']", resps=[["five"]], filtered_resps=["five"]))]
    )
    assert read.questions[0].gold == ("five", "5 apples")
    assert read.attempts[0].answer == "five"


def test_chat_messages_show_the_last_one_of_the_user(written: Write):
    messages = [{"role": "user", "content": "What is 1 + 1?"}, {"role": "assistant", "content": "2"}]
    messages.append({"role": "user", "content": "Tell me.\nWhat is 2 + 3?"})
    arguments = {
        "gen_args_0": {"arg_0": [json.dumps(messages)], "arg_1": {"until": "\n", "do_sample": False}}
    }
    read = read_lm_eval([written(a_row(arguments=arguments))])
    assert read.questions[0].text == "Tell me.\nWhat is 2 + 3?"
    assert read.plan["procedure"]["decoding"] == {"stop": ["\n"], "temperature": 0.0}


def test_what_is_asked_before_the_longest_text_is_kept(written: Write):
    passage = "A crow found two nuts. Then it found three more, and it ate none of them."
    prompt = f"Question: One?\nPassage: Nuts.\nAnswer: 1\n\nQuestion: How many?\nPassage: {passage}\nAnswer:"
    arguments = {"gen_args_0": {"arg_0": prompt, "arg_1": {"until": []}}}
    read = read_lm_eval(
        [written(a_row(arguments=arguments, doc={"question": "How many?", "passage": passage}))]
    )
    assert read.questions[0].text == f"Question: How many?\nPassage: {passage}\nAnswer:"


def test_a_prompt_that_cannot_be_parted_is_told(written: Write):
    arguments = {"gen_args_0": {"arg_0": "Q: 1 + 1?\nA: 2\n\nQ: two plus three?\nA:", "arg_1": {"until": []}}}
    read = read_lm_eval([written(a_row(arguments=arguments))])
    assert read.questions[0].text == "Q: 1 + 1?\nA: 2\n\nQ: two plus three?\nA:"
    assert any("1 questions show their whole prompt" in warning for warning in read.warnings)


def test_rows_under_different_settings_are_told(written: Write):
    other = {"gen_args_0": {"arg_0": "Q: What is 2 + 3?\nA:", "arg_1": {"until": ["#"]}}}
    read = read_lm_eval([written(a_row(), a_row(doc_id=1, arguments=other))])
    assert any("under 2 different settings" in warning for warning in read.warnings)
    assert read.plan["procedure"]["decoding"]["stop"] == ["\n"]


def test_repeats_of_a_greedy_decoding_are_told(written: Write):
    read = read_lm_eval([written(a_row(resps=[["5", "5"]], filtered_resps=[["5", "5"]]))])
    assert any("greedy" in warning for warning in read.warnings)


def test_half_of_a_surrogate_pair_can_be_stored(written: Write, tmp_path: Path):
    read = read_lm_eval([written(a_row(resps=[["5 \ud83d"]]))])
    assert read.attempts[0].text == "5 �"
    assert read.questions[0].hash


def test_an_answer_stands_as_a_word_of_its_own(written: Write):
    read = read_lm_eval([written(a_row(resps=[["It is 5, not 15."]]))])
    assert read.attempts[0].span == (6, 7)


def test_options_of_acc_mutual_info_stand_twice(written: Write):
    row = options_row(acc_mutual_info=0.0, metrics=["acc", "acc_mutual_info"])
    row["arguments"] |= {
        f"gen_args_{i + 3}": {"arg_0": "", "arg_1": t} for i, t in enumerate([" red", " blue", " green"])
    }
    row["resps"] += [[["-0.1", "True"]]] * 3
    read = read_lm_eval([written(row)])
    assert read.questions[0].choices == ("red", "blue", "green")
    assert read.attempts[0].text == "blue"


def test_contexts_are_the_options_where_only_they_differ(written: Write):
    arguments = {
        f"gen_args_{i}": {"arg_0": f"The {w} one", "arg_1": " was big."} for i, w in enumerate(["old", "new"])
    }
    row = options_row(
        arguments=arguments, resps=[[["-2.0", "False"]], [["-1.0", "False"]]], target=" was big.", acc=0.0
    )
    read = read_lm_eval([written(row)])
    assert read.questions[0].choices == ("The old one", "The new one")
    assert (read.questions[0].gold, read.attempts[0].answer) == (("A",), "B")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (["no object"], "1: expected an object, got list"),
        ({"doc_id": 3}, "1: the row has no 'arguments'"),
        (a_row(arguments={}), "1: 'arguments' holds no request"),
        (a_row(resps=[]), "1: 'resps' holds no response"),
        (a_row(resps=[["a"], ["b"]]), "1: 'resps' holds 2 requests"),
        (a_row(resps=[[7]]), "1: 'resps' holds 1 requests, or no text"),
        (a_row(exact_match="yes"), "1: exact_match is 'yes', which is no number"),
        (a_row(exact_match=float("nan")), "1: exact_match is nan, which is no number"),
        (a_row(metrics=["bleu", "rouge"]), "1: choose a metric, one of: bleu, rouge"),
        (a_row(metrics=["bleu"]), "1: the row has no metric 'bleu'"),
        (options_row(acc=0.0), "1: acc is 0.0, but the most probable option is B"),
        (options_row(target="violet"), "1: the target 'violet' is no option"),
        (options_row(resps=[[["-1", "False"]]]), "1: 3 options, but 1 log-likelihoods"),
        (options_row(resps=[[["x", "False"]]] * 3), "1: 'resps' holds no log-likelihoods"),
        (
            options_row(arguments={"gen_args_0": {"arg_0": "The sky is", "arg_1": " blue"}}),
            "1: one continuation was weighed",
        ),
        (options_row(metrics=["brier_score"], brier_score=0.2), "1: metric 'brier_score' picks no option"),
    ],
)
def test_a_row_that_cannot_be_read_is_named(written: Write, row: object, message: str):
    path = written(row)
    with pytest.raises(BadInput, match=re.escape(f"{path}:{message}")):
        read_lm_eval([path])


def test_a_torn_line_is_named(written: Write):
    path = written(a_row(), a_row(doc_id=1))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(BadInput, match=re.escape(f"{path}:2: the row is no JSON")):
        read_lm_eval([path])


def test_a_document_twice_is_refused(written: Write):
    path = written(a_row(), a_row(doc_id=1), a_row())
    with pytest.raises(BadInput, match=re.escape(f"{path}:3: document 0 stands already at {path}:1")):
        read_lm_eval([path])


def test_missing_and_empty_files_are_refused(written: Write, tmp_path: Path):
    with pytest.raises(BadInput, match=r"Cannot read .*gone.jsonl: No such file"):
        read_lm_eval([tmp_path / "gone.jsonl"])
    with pytest.raises(BadInput, match="has no rows"):
        read_lm_eval([written()])
    with pytest.raises(BadInput, match="There is no samples file"):
        read_lm_eval([])


@pytest.mark.skipif(
    importlib.util.find_spec("lm_eval") is None,
    reason="lm-eval with what it needs is too large for the test extras",
)
def test_what_lm_eval_writes_today_reads_as_the_stored_logs(tmp_path: Path):
    subprocess.run(
        [sys.executable, LOGS.parent / "write_lm_eval.py", tmp_path], check=True, capture_output=True
    )
    for task, chosen in (("sums_each", None), ("sums_first", "strict-match"), ("capitals", None)):
        fresh = read_lm_eval([next(tmp_path.glob(f"*/samples_{task}_*.jsonl"))], filter=chosen)
        stored = read_lm_eval([samples(task)], filter=chosen)
        assert fresh.attempts == stored.attempts
        assert fresh.plan == stored.plan
