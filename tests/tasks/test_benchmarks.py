"""Benchmarks by name, each read for real from small files in the layout of its dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import huggingface_hub
import polars as pl
import pytest
from benchmark_files import LAYOUT, math_row, truthful_row, write
from huggingface_hub.errors import LocalEntryNotFoundError, RemoteEntryNotFoundError
from typer.testing import CliRunner

from interp.cli import app
from interp.errors import BadInput, BadQuestions, UnknownName
from interp.models.render import render
from interp.models.tiny import byte_tokenizer
from interp.procedure import Template
from interp.question import Kind, Outcome
from interp.report.command import command_of
from interp.tasks.benchmarks.math_answer import is_number
from interp.tasks.grading import check_gold
from interp.tasks.load import BENCHMARKS, TASKS, load_task
from interp.tasks.sample import seeded_sample

EVERY = sorted(BENCHMARKS)
WITH_SHOTS = sorted(name for name, benchmark in BENCHMARKS.items() if benchmark.shown)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a folder for each benchmark, laid out as its dataset."""
    root = tmp_path_factory.mktemp("benchmarks")
    for name, files in LAYOUT.items():
        for path, rows in files.items():
            write(root / name / path, rows)
    return root


def spec(data: Path, name: str, *knobs: str) -> str:
    return f"{name}:{','.join([*knobs, f'dir={data / name}'])}"


# All benchmarks


def test_every_benchmark_has_a_layout_and_no_name_of_a_task() -> None:
    assert sorted(LAYOUT) == EVERY
    assert not set(TASKS) & set(BENCHMARKS)
    assert all(name == benchmark.name for name, benchmark in BENCHMARKS.items())


@pytest.mark.parametrize("name", EVERY)
def test_the_grader_reads_every_gold_in_the_benchmarks_own_words(data: Path, name: str) -> None:
    task = load_task(spec(data, name))
    assert task.name == spec(data, name)
    for question in task.questions:
        assert check_gold(question) is None
        gold = question.gold[0]
        answers = [gold, f"{gold}."] if task.prompt.answer_prefix else [f"So $\\boxed{{{gold}}}$."]
        answers += [] if task.prompt.answer_prefix else [f"First 5, then 6. The answer is {gold}."]
        for answer in answers:
            assert task.grade(question, answer).outcome is Outcome.RIGHT, (question, answer)
        others = [label for label in question.labels if label != gold] or ["123456"]
        assert task.grade(question, f"The answer is {others[0]}").outcome is Outcome.WRONG


@pytest.mark.parametrize("name", EVERY)
def test_a_sample_is_a_prefix_and_parities_share_nothing(data: Path, name: str) -> None:
    whole = load_task(spec(data, name)).questions
    half = len(whole) // 2
    assert {q.id for q in load_task(spec(data, name), n=len(whole), seed=3).questions} == {
        q.id for q in whole
    }
    first = load_task(spec(data, name), n=half, seed=2)
    assert load_task(spec(data, name), n=1, seed=2).questions == first.questions[:1]
    assert not {q.id for q in first.questions} & {
        q.id for q in load_task(spec(data, name), n=half, seed=1).questions
    }
    assert f"A sample of {half} is asked." in first.description
    with pytest.raises(BadInput, match=f"has only {len(whole)} questions, not {len(whole) + 1}"):
        load_task(spec(data, name), n=len(whole) + 1)


def test_a_whole_benchmark_keeps_the_order_of_its_file(data: Path) -> None:
    ids = [question.id for question in load_task(spec(data, "gsm8k")).questions]
    assert ids == [f"gsm8k/{i}" for i in range(8)]
    assert [q.id for q in load_task(spec(data, "gsm8k"), n=8, seed=5).questions] == ids
    assert [q.id for q in load_task(spec(data, "gsm8k"), n=7, seed=5).questions] != ids[:7]


def test_a_sample_does_not_depend_on_the_order_of_questions(data: Path) -> None:
    questions = load_task(spec(data, "mmlu")).questions
    assert seeded_sample(questions, 4) == seeded_sample(questions[::-1], 4)
    assert seeded_sample(questions, 4) != seeded_sample(questions, 6)


# Few-shot


@pytest.mark.parametrize("template", list(Template))
@pytest.mark.parametrize("name", WITH_SHOTS)
def test_few_shot_prompts_share_all_up_to_the_question(data: Path, name: str, template: Template) -> None:
    task = load_task(spec(data, name, "shots=3"))
    prompt = replace(task.prompt, template=template)
    assert len(prompt.examples) == 3
    tokenizer = byte_tokenizer()
    mark = "\u241e the question"
    shared, _ = render(tokenizer, mark, prompt).text.split(mark)
    for question in task.questions:
        rendered = render(tokenizer, question.text, prompt)
        assert rendered.text.startswith(shared + question.text)
    for text, answer in prompt.examples:
        assert text in shared
        assert prompt.answer_prefix + answer in shared


@pytest.mark.parametrize("name", WITH_SHOTS)
def test_examples_are_answered_as_the_grader_reads_and_never_asked(data: Path, name: str) -> None:
    task = load_task(spec(data, name, "shots=4"))
    asked = {question.text for question in task.questions}
    assert len(set(task.prompt.examples)) == 4
    assert load_task(spec(data, name, "shots=4"), n=2, seed=9).prompt == task.prompt
    for text, answer in task.prompt.examples:
        assert text not in asked
        shown = task.prompt.answer_prefix + answer
        assert "answer is" in shown
        assert "<<" not in shown


def test_an_example_that_is_also_asked_is_passed_over(tmp_path: Path) -> None:
    files = {path: list(rows) for path, rows in LAYOUT["gsm8k"].items()}
    asked, shown = files
    twin = {**files[asked][0], "question": files[asked][0]["question"].upper() + "  "}
    files[shown] = [twin, *files[shown][:2]]
    for path, rows in files.items():
        write(tmp_path / path, rows)
    examples = load_task(f"gsm8k:shots=2,dir={tmp_path}").prompt.examples
    assert [text for text, _ in examples] == [row["question"] for row in files[shown][1:]]
    with pytest.raises(BadInput, match=r"has only 2 examples, not 3; ask for fewer shots"):
        load_task(f"gsm8k:shots=3,dir={tmp_path}")


def test_examples_of_a_subject_are_its_own_and_else_one_of_each(data: Path) -> None:
    own = load_task(spec(data, "mmlu", "subject=virology", "shots=5"))
    assert {q.subject for q in own.questions} == {"virology"}
    assert [text.splitlines()[0] for text, _ in own.prompt.examples] == [
        f"virology dev {i}?" for i in range(5)
    ]
    mixed = load_task(spec(data, "mmlu", "shots=4")).prompt.examples
    firsts = [text.splitlines()[0] for text, _ in mixed]
    assert firsts == ["anatomy dev 0?", "astronomy dev 0?", "virology dev 0?", "anatomy dev 1?"]


def test_no_shots_need_no_file_of_examples(tmp_path: Path) -> None:
    asked, shown = LAYOUT["gsm8k"]
    write(tmp_path / asked, LAYOUT["gsm8k"][asked])
    assert load_task(f"gsm8k:dir={tmp_path}").prompt.examples == ()
    with pytest.raises(BadInput, match=r"there is no file .*train-00000"):
        load_task(f"gsm8k:shots=1,dir={tmp_path}")
    assert shown.startswith("main/train")


@pytest.mark.parametrize("name", sorted({*EVERY} - {*WITH_SHOTS}))
def test_a_benchmark_with_one_split_has_no_shots(data: Path, name: str) -> None:
    with pytest.raises(BadInput, match=r"'shots=1' is not a knob with a known value"):
        load_task(spec(data, name, "shots=1"))


# One by one


def test_gsm8k(data: Path) -> None:
    task = load_task(spec(data, "gsm8k", "shots=1"))
    assert task.questions[0].gold == ("1,000",)
    assert task.grade(task.questions[0], "He has 1000 pens.\nThe answer is 1000.").right
    assert task.prompt.examples[0][1] == "Tom has 1 * 1000 = 1,000 pens.\nThe answer is 1,000."
    assert task.decoding.max_new_tokens >= 256
    assert task.description.endswith("8 questions in all.")


def test_mmlu(data: Path) -> None:
    question = load_task(spec(data, "mmlu", "subject=anatomy")).questions[2]
    assert (question.id, question.kind, question.gold) == ("mmlu/2", Kind.CHOICE, ("C",))
    assert question.text.splitlines()[:2] == ["anatomy test 2?", "A. anatomy test option 2 0"]
    assert question.candidates == question.labels == ("A", "B", "C", "D")
    virology = load_task(spec(data, "mmlu", "subject=virology"))
    assert virology.questions[0].id == "mmlu/12"
    assert "6 are of the subject virology." in virology.description


def test_mmlu_pro_leaves_fillers_out(data: Path) -> None:
    task = load_task(spec(data, "mmlu_pro", "subject=math", "shots=2"))
    assert [len(q.choices) for q in task.questions] == [4, 10, 4, 10, 4, 10]
    for i, question in enumerate(task.questions):
        assert "N/A" not in question.text
        right = question.choices[question.labels.index(question.gold[0])]
        assert right == LAYOUT["mmlu_pro"]["data/test-00000-of-00001.parquet"][i]["options"][-1]
    text, answer = task.prompt.examples[0]
    assert text.startswith("math validation 0?")
    assert answer == "Let's think step by step. 0 it is. The answer is (D)."
    spaced = load_task(spec(data, "mmlu_pro", "subject=computer science"))
    assert {q.subject for q in spaced.questions} == {"computer science"}


@pytest.mark.parametrize(("level", "n"), [("challenge", 7), ("easy", 9)])
def test_arc_labels_become_letters(data: Path, level: str, n: int) -> None:
    task = load_task(spec(data, "arc", f"level={level}"))
    assert len(task.questions) == n
    assert [q.labels for q in task.questions[:3]] == [tuple("ABC"), tuple("ABCD"), tuple("ABCDE")]
    numbered = task.questions[1]
    assert numbered.gold == ("B",)
    assert numbered.choices == ("thing 1 1", "thing 1 2", "thing 1 3", "thing 1 4")
    assert numbered.id == f"arc/{level.title()} test_1"


def test_commonsense_qa_keeps_the_concept(data: Path) -> None:
    questions = load_task(spec(data, "commonsense_qa")).questions
    assert [q.subject for q in questions[:3]] == ["concept 0", "concept 0", "concept 1"]
    assert [q.gold[0] for q in questions[:5]] == list("ABCDE")
    assert questions[0].id == "commonsense_qa/validation0"


def test_truthfulqa_is_shuffled_and_always_in_the_same_way(data: Path) -> None:
    task = load_task(spec(data, "truthfulqa_mc"))
    assert load_task(spec(data, "truthfulqa_mc"), seed=7).questions == task.questions
    for i, question in enumerate(task.questions):
        assert question.choices[question.labels.index(question.gold[0])] == f"true {i}"
        assert set(question.choices) == set(truthful_row(i)["mc1_targets"]["choices"])
    firsts = Counter(q.gold[0] for q in task.questions if len(q.choices) == 2)
    assert min(firsts["A"], firsts["B"]) >= 2
    assert {q.gold[0] for q in task.questions} >= set("ABCD")


def test_math500_keeps_numbers_and_says_how_many(data: Path) -> None:
    task = load_task(spec(data, "math500"))
    assert [q.gold for q in task.questions] == [("\\frac{14}{3}",), ("90^\\circ",), ("\\$32,\\!348",)]
    assert {q.kind for q in task.questions} == {Kind.NUMBER}
    assert "5 questions in all. Kept are the 3 whose gold is one number." in task.description
    assert task.grade(task.questions[2], "It costs \\boxed{32348} dollars.").right
    assert task.questions[0].id == "math500/algebra/0"
    assert [q.subject for q in task.questions] == ["Geometry", "Geometry", "Algebra"]


def test_math500_with_every_gold_compares_the_others_as_text(data: Path) -> None:
    task = load_task(spec(data, "math500", "gold=all"))
    assert Counter(q.kind for q in task.questions) == {Kind.NUMBER: 3, Kind.TEXT: 2}
    assert task.description.endswith("5 questions in all.")
    for question in task.questions:
        assert task.grade(question, f"It is $\\boxed{{{question.gold[0]}}}$.").right, question
    assert not task.grade(task.questions[1], "\\boxed{x^2 + 2}").right


def test_math500_by_level_and_subject(data: Path) -> None:
    task = load_task(spec(data, "math500", "level=3"))
    assert [q.id for q in task.questions] == ["math500/algebra/2"]
    assert "Kept are the 1 whose gold is one number and of level 3." in task.description
    assert len(load_task(spec(data, "math500", "gold=all", "subject=Algebra")).questions) == 2
    with pytest.raises(BadQuestions, match="none of the 5 rows"):
        load_task(spec(data, "math500", "level=2"))


ONE_NUMBER = (
    *("12", "-\\frac{1}{2}", "\\frac43", "\\dfrac{17}{50}", "10,\\!080", "58,500", ".35625", "145^\\circ"),
    *("30^{\\circ}", "10\\%", "\\$18.90", "5.4 \\text{ cents}", "12\\mbox{ inches}"),
)
NO_ONE_NUMBER = (
    *("2x", "6i", "5x - 7", "2\\sqrt{3}", "7\\pi", "2516_8", "4210_{5}", "1,-2", "3, 5, 7", "(3,4]", "x=5"),
    *("1 \\pm \\sqrt{19}", "\\text{(C)}", "\\text{Evelyn}", "15\\mbox{ cm}^2", "2^{10}", "1\\frac{4}{5}", ""),
)


@pytest.mark.parametrize("answer", ONE_NUMBER)
def test_one_number_in_latex(answer: str) -> None:
    assert is_number(answer)


@pytest.mark.parametrize("answer", NO_ONE_NUMBER)
def test_no_one_number_in_latex(answer: str) -> None:
    assert not is_number(answer)


def test_aime(data: Path) -> None:
    task = load_task(spec(data, "aime2024"))
    assert [(q.id, q.subject) for q in task.questions] == [
        ("aime2024/60", "AIME 2024 I"),
        ("aime2024/61", "AIME 2024 I"),
        ("aime2024/62", "AIME 2024 II"),
        ("aime2024/63", "AIME 2024 II"),
    ]
    assert task.grade(task.questions[0], "\\boxed{33}").right
    later = load_task(spec(data, "aime2025"))
    assert [q.id for q in later.questions] == [f"aime2025/{c}-{i}" for c in ("I", "II") for i in (1, 2, 3)]
    assert later.questions[3].gold == ("5",)
    assert later.decoding.max_new_tokens >= 4096


def test_dart_math_asks_each_problem_once(data: Path) -> None:
    task = load_task(spec(data, "dart_math"))
    assert len(task.questions) == 12
    assert {q.text for q in task.questions} == {f"Train on {i}." for i in range(20) if i % 5 in (0, 2, 3)}
    assert "20 questions in all. Kept are the 12 whose gold is one number." in task.description
    assert {q.subject for q in task.questions} == {f"level {level}" for level in range(1, 5)}
    hard = load_task(spec(data, "dart_math", "gold=all", "level=4"))
    assert {q.text for q in hard.questions} == {f"Train on {i}." for i in range(15, 20)}


def test_dart_math_is_sampled_unless_a_number_is_given(data: Path) -> None:
    few = replace(BENCHMARKS["dart_math"], n=5)
    knobs = {"gold": "number", "level": "all", "dir": str(data / "dart_math")}
    task = few.load("dart_math", knobs, seed=0)
    assert len(task.questions) == 5
    assert "A sample of 5 is asked." in task.description
    assert task.questions != few.load("dart_math", knobs, seed=2).questions
    assert len(few.load("dart_math", knobs, n=11).questions) == 11


# Names and knobs


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("mmlu:shots=0,subject=all,dir={}", "mmlu:dir={}"),
        ("mmlu: shots = 2 , subject = anatomy, dir={}", "mmlu:subject=anatomy,shots=2,dir={}"),
        ("mmlu:dir={},shots=1", "mmlu:shots=1,dir={}"),
    ],
)
def test_names_are_canonical(data: Path, line: str, name: str) -> None:
    task = load_task(line.format(data / "mmlu"))
    assert task.name == name.format(data / "mmlu")
    assert load_task(task.name) == task


@pytest.mark.parametrize("word", ["shots=-1", "shots=x", "shots=N", "shots=05", "shots=", "level=1", "dir="])
def test_a_knob_that_cannot_be_names_the_known_ones(word: str) -> None:
    with pytest.raises(BadInput) as caught:
        load_task(f"mmlu:{word}")
    assert f"'{word}' is not a knob" in str(caught.value)
    assert "subject=all|NAME; shots=0|N; dir=hub|FOLDER" in str(caught.value)


def test_an_unknown_subject_names_the_known_ones(data: Path) -> None:
    with pytest.raises(UnknownName, match=r"no subject of mmlu 'anatomi'\. Did you mean 'anatomy'.*virology"):
        load_task(spec(data, "mmlu", "subject=anatomi"))


def test_an_unknown_task_names_the_benchmarks_too() -> None:
    with pytest.raises(UnknownName, match=r"Did you mean 'gsm8k'"):
        load_task("gsm8")


# Files that are missing or damaged


def test_a_missing_file_of_a_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        load_task(f"arc:level=easy,dir={tmp_path}")
    wanted = tmp_path / "ARC-Easy" / "test-00000-of-00001.parquet"
    assert str(caught.value).startswith(f"arc: there is no file {wanted}.")
    assert "allenai/ai2_arc" in str(caught.value)


def put_into_cache(root: Path, name: str) -> None:
    """Lays the files of a benchmark out as the hub's cache on this machine does."""
    benchmark = BENCHMARKS[name]
    folder = root / f"datasets--{benchmark.repo.replace('/', '--')}"
    for path, rows in LAYOUT[name].items():
        write(folder / "snapshots" / str(benchmark.revision) / path, rows)


def test_the_hubs_cache_is_read_without_a_network(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(BadInput) as caught:
        load_task("gsm8k")
    assert "main/test-00000-of-00001.parquet of the dataset openai/gsm8k" in str(caught.value)
    assert "Pass --download" in str(caught.value)
    assert "gsm8k:dir=FOLDER" in str(caught.value)
    put_into_cache(tmp_path, "gsm8k")
    task = load_task("gsm8k:shots=2")
    assert task.name == "gsm8k:shots=2"
    assert task.questions == load_task(spec(data, "gsm8k")).questions


def test_a_download_is_asked_for_and_only_then(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def fetch(repo: str, path: str, **options: Any) -> str:
        asked.append({"repo": repo, "path": path, **options})
        return str(data / "gsm8k" / path)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", fetch)
    assert len(load_task("gsm8k", download=True).questions) == 8
    assert len(load_task("gsm8k").questions) == 8
    assert [call["local_files_only"] for call in asked] == [False, True]
    assert {call["repo"] for call in asked} == {"openai/gsm8k"}
    assert {call["repo_type"] for call in asked} == {"dataset"}
    assert {call["revision"] for call in asked} == {BENCHMARKS["gsm8k"].revision}


def test_a_hub_that_cannot_be_reached_or_refuses_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: Any, **__: Any) -> str:
        raise LocalEntryNotFoundError("offline")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", unreachable)
    with pytest.raises(BadInput, match=r"the hub could not be reached\. Try again, or name a folder"):
        load_task("gsm8k", download=True)

    class Response:
        status_code = 404
        headers: Mapping[str, str] = {}
        request = None

    def refused(*_: Any, **__: Any) -> str:
        raise RemoteEntryNotFoundError("gone", response=Response())

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", refused)
    with pytest.raises(BadInput, match=r"the hub refused main/test.* of the dataset openai/gsm8k .*\(404\)"):
        load_task("gsm8k", download=True)


BROKEN: list[tuple[str, int, dict[str, Any], str]] = [
    ("gsm8k", 2, {"answer": "It is 18."}, 'answer: has no last line "#### NUMBER"'),
    ("gsm8k", 0, {"answer": "So.\n#### many"}, "answer: gold 'many' cannot be read as one number"),
    ("gsm8k", 1, {"question": "  "}, "question: is empty; expected text"),
    ("gsm8k", 1, {"question": None}, "question: is null"),
    ("mmlu", 3, {"answer": 4}, "answer: is option 4 counted from 0; there are 4 options"),
    ("mmlu", 3, {"answer": -1}, "answer: is option -1"),
    ("mmlu", 5, {"choices": ["one"], "answer": 0}, "answer: expected 2 to 26 options, got 1"),
    ("mmlu_pro", 1, {"answer_index": 10}, "answer_index: 10 is none of the 10 options"),
    ("mmlu_pro", 0, {"answer_index": 2}, "answer_index: 2 is none of the 5 options"),
    ("arc", 2, {"answerKey": "F"}, "answerKey: 'F' is none of the labels A, B, C, D, E"),
    ("arc", 1, {"choices": {"text": ["x", "y"], "label": ["A"]}}, "choices.label: has 1 labels for 2 texts"),
    ("arc", 1, {"choices": {"text": ["x", "y"], "label": ["A", "A"]}}, "choices.label: names a label twice"),
    ("commonsense_qa", 4, {"answerKey": ""}, "answerKey: is empty"),
    (
        "truthfulqa_mc",
        6,
        {"mc1_targets": {"choices": ["x", "y", "z"], "labels": [1, 1, 0]}},
        "mc1_targets.labels: expected one 1 and else 0 for 3 choices",
    ),
    ("aime2024", 1, {"answer": "1000"}, "answer: expected a whole number from 0 to 999, got '1000'"),
    ("aime2024", 1, {"url": "elsewhere"}, "url: does not name the contest"),
    ("aime2025", 1, {"answer": "x"}, "answer: expected a whole number from 0 to 999"),
    ("aime2025", 0, {"question": ["x"]}, "question: expected text, got a list"),
    ("math500", 3, {"level": "hard"}, "level: expected a whole number, got 'hard'"),
    ("math500", 3, {"problem": "\ud800"}, "problem: holds half of a surrogate pair"),
    ("dart_math", 0, {"query_metadata": None}, "query_metadata: is null"),
    ("dart_math", 0, {"gt_ans": " "}, "gt_ans: is empty"),
]


@pytest.mark.parametrize(("name", "place", "change", "message"), BROKEN)
def test_a_row_that_cannot_be_used_is_named(
    tmp_path: Path, name: str, place: int, change: dict[str, Any], message: str
) -> None:
    files = {path: list(rows) for path, rows in LAYOUT[name].items()}
    path = next(iter(files))
    files[path][place] = {**files[path][place], **change}
    for each, rows in files.items():
        write(tmp_path / each, rows)
    with pytest.raises(BadQuestions) as caught:
        load_task(f"{name}:dir={tmp_path}")
    text = str(caught.value)
    where = f"{tmp_path / path}:{'row ' if path.endswith('.parquet') else ''}{place + 1}: "
    assert text.startswith(f"{name}: 1 of ")
    assert where + message in text, text


def test_at_most_ten_bad_rows_of_a_kind_are_printed(tmp_path: Path) -> None:
    path = next(iter(LAYOUT["gsm8k"]))
    write(tmp_path / path, [{"question": f"q{i}", "answer": "none"} for i in range(30)])
    with pytest.raises(BadQuestions) as caught:
        load_task(f"gsm8k:dir={tmp_path}")
    assert str(caught.value).startswith("gsm8k: 30 of 30 rows cannot be used.")
    assert str(caught.value).count("has no last line") == 10
    assert "and 20 more of this kind" in str(caught.value)


@pytest.mark.parametrize("name", sorted({*EVERY} - {"math500", "aime2025"}))
def test_a_missing_column_is_named_with_those_there_are(tmp_path: Path, name: str) -> None:
    path, rows = next(iter(LAYOUT[name].items()))
    column = BENCHMARKS[name].columns[-1]
    write(tmp_path / path, [{k: v for k, v in row.items() if k != column} for row in rows])
    with pytest.raises(BadQuestions) as caught:
        load_task(f"{name}:dir={tmp_path}")
    assert f"{tmp_path / path} lacks the column {column!r}; it has " in str(caught.value)


def test_a_missing_field_of_a_line_is_named(tmp_path: Path) -> None:
    write(tmp_path / "test.jsonl", [{k: v for k, v in math_row(1, "5").items() if k != "answer"}])
    with pytest.raises(
        BadQuestions, match=r"test\.jsonl:1: answer: is missing; the row has problem, solution"
    ):
        load_task(f"math500:dir={tmp_path}")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("gsm8k", b"PAR1 is not all", "is not a valid Parquet file"),
        ("gsm8k", b"", "is not a valid Parquet file"),
        ("math500", b'{"problem": \n', r"test\.jsonl:1: row: is not valid JSON"),
        ("math500", b"", "is empty"),
        ("math500", b"[1]\n", "expected an object"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / next(iter(LAYOUT[name]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    with pytest.raises(BadQuestions, match=message) as caught:
        load_task(f"{name}:dir={tmp_path}")
    assert str(path) in str(caught.value)


def test_a_file_without_rows_is_no_benchmark(tmp_path: Path) -> None:
    path = tmp_path / next(iter(LAYOUT["gsm8k"]))
    path.parent.mkdir(parents=True)
    pl.DataFrame(schema={"question": pl.String, "answer": pl.String}).write_parquet(path)
    with pytest.raises(BadQuestions, match="none of the 0 rows"):
        load_task(f"gsm8k:dir={tmp_path}")


# Where benchmarks are named


def test_the_command_line_lists_every_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    shown = CliRunner().invoke(app, ["tasks"]).output
    lines = {line.split()[1]: line for line in shown.splitlines() if len(line.split()) > 2}
    for name, benchmark in BENCHMARKS.items():
        assert benchmark.description in lines[name]
        assert "dir=hub|FOLDER" in lines[name]
        assert str(benchmark.n) in lines[name]


@pytest.mark.parametrize("option", [[], ["--download"]])
def test_the_command_line_says_whether_to_download(
    option: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[bool] = []

    def fetch(*_: Any, local_files_only: bool, **__: Any) -> str:
        asked.append(not local_files_only)
        raise LocalEntryNotFoundError("offline")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", fetch)
    words = ["localize", "tiny:llama", "--task", "gsm8k", "--out", str(tmp_path / "run"), *option]
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, BadInput)
    assert asked == [bool(option)]
    assert not (tmp_path / "run").exists()


def test_the_command_of_a_run_names_the_benchmark_and_nothing_that_it_brings(data: Path) -> None:
    task = load_task(spec(data, "gsm8k", "shots=2"), n=3)
    plan = {
        "verb": "localize",
        "model": {"name": "tiny:llama"},
        "task": {"name": task.name, "n_questions": 3},
        "procedure": task.procedure.to_json(),
        "failures": "wrong",
        "scope": "both",
        "ablation": "zero",
        "seed": 0,
        "max_failures": 48,
        "max_successes": None,
    }
    assert command_of(plan, "out").endswith(f"--task {task.name} --out out --n 3")
