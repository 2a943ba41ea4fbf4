"""Inspect's logs, against logs that inspect-ai 0.3.285 wrote (`logs/write_inspect.py`)."""

from __future__ import annotations

import importlib.util
import io
import json
import re
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from write_inspect import LONG, SUMS, draw

from interp.errors import BadInput
from interp.imports.inspect_file import open_log
from interp.imports.inspect_log import read_inspect
from interp.question import Kind, Outcome, Reason
from interp.run import Run

LOGS = Path(__file__).parent / "logs" / "inspect-ai"
SUMS_LOG, CAPITALS_LOG, TWO_LOG = (LOGS / f"{name}.eval" for name in ("sums", "capitals", "two_scorers"))
Write = Callable[..., Path]


def a_sample(**fields: Any) -> dict[str, Any]:
    """A sample as Inspect writes it, right."""
    message = {"role": "assistant", "content": "It is 5.", "source": "generate"}
    return {
        "id": "one",
        "epoch": 1,
        "input": "What is 2 + 3?",
        "target": "5",
        "messages": [{"role": "user", "content": "What is 2 + 3?"}, message],
        "output": {"choices": [{"message": message, "stop_reason": "stop"}], "completion": "It is 5."},
        "scores": {"match": {"value": "C", "answer": "5"}},
    } | fields


def scored(value: Any, **fields: Any) -> dict[str, Any]:
    return a_sample(scores={"match": {"value": value, "answer": "5", **fields}})


def a_header(**fields: Any) -> dict[str, Any]:
    return {"version": 2, "status": "success", "eval": {"task": "toy", "model": "some/model"}} | fields


@pytest.fixture
def written(tmp_path: Path) -> Write:
    """Writes a log in the JSON form."""

    def write_log(*samples: Any, **fields: Any) -> Path:
        path = tmp_path / "log.json"
        path.write_text(json.dumps(a_header(**fields) | {"samples": samples}))
        return path

    return write_log


def zipped(path: Path, members: dict[str, Any]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in members.items():
            archive.writestr(name, json.dumps(value))
    return path


def test_each_epoch_is_a_draw_with_inspects_verdict():
    read = read_inspect(SUMS_LOG)
    rows = {(row.question, row.draw): row for row in read.attempts if row.probe == "sampling"}
    assert len(rows) == 3 * len(SUMS)
    for a, b in SUMS:
        for epoch in (1, 2, 3):
            row = rows[f"sum-{a}-{b}", epoch - 1]
            asked = (
                epoch - 1 if a == 7 and epoch == 3 else epoch
            )  # its second epoch failed before it was asked
            kind = "failed" if a == 7 and epoch == 2 else draw(f"What is {a} + {b} ?", asked, 4)
            text, outcome, reason, answer = {
                0: (f"The answer is {a + b}.", Outcome.RIGHT, None, str(a + b)),
                1: (f"The answer is {a + b + 1}.", Outcome.WRONG, None, str(a + b + 1)),
                2: (LONG, Outcome.UNREADABLE, Reason.NO_ANSWER, None),
                3: (f"{LONG} The answer is {a + b}.", Outcome.RIGHT, None, str(a + b)),
                "failed": ("", Outcome.UNREADABLE, Reason.ERROR, None),
            }[kind]
            assert (row.text, row.outcome, row.reason, row.answer) == (text, outcome, reason, answer)
            assert row.finish == ("length" if kind == 2 else "stop")
            assert row.n_prompt_tokens == (0 if kind == "failed" else 21)
            assert answer is None or row.text[slice(*(row.span or ()))] == answer
    assert {row.grader for row in read.attempts} == {"inspect/pattern"}
    assert read.warnings == ("1 of 15 answers ended in an error or were not scored.",)


def test_the_deployed_answer_is_the_first_epoch():
    read = read_inspect(SUMS_LOG)
    first = [row for row in read.attempts if row.probe == "sampling" and row.draw == 0]
    deployed = [row for row in read.attempts if row.probe == "deployed"]
    assert [(row.question, row.text, row.outcome) for row in deployed] == [
        (row.question, row.text, row.outcome) for row in first
    ]


def test_questions_stand_in_the_data_sets_order():
    read = read_inspect(SUMS_LOG)
    assert [q.id for q in read.questions] == [f"sum-{a}-{b}" for a, b in SUMS]
    assert {(q.kind, q.subject) for q in read.questions} == {(Kind.NUMBER, "sums")}


def test_plan_and_environment_hold_what_the_log_says():
    read = read_inspect(SUMS_LOG)
    assert read.plan["model"]["name"] == "mockllm/model"
    assert read.plan["procedure"]["decoding"] == {
        "temperature": 0.8,
        "top_p": 0.95,
        "max_new_tokens": 64,
        "stop": ["\n\n"],
    }
    assert read.plan["procedure"]["solvers"][0]["params"] == {"template": "Be short."}
    assert read.plan["probes"] == {"sampling": {"n_draws": 3}}
    assert read.environment["packages"] == {"inspect_ai": "0.3.285"}


def test_choices_are_options_with_labels():
    read = read_inspect(CAPITALS_LOG)
    italy, spain = read.questions
    assert (italy.kind, italy.gold, italy.choices[0]) == (Kind.CHOICE, ("A",), "Rome")
    assert spain.gold == ("D",)
    assert spain.text.endswith("\nD. Madrid")
    rows = {(row.question, row.draw): row for row in read.attempts if row.probe == "sampling"}
    assert (rows["2", 1].outcome, rows["2", 1].reason) == (Outcome.UNREADABLE, Reason.NO_ANSWER)
    assert (rows["1", 2].outcome, rows["1", 2].reason) == (Outcome.UNREADABLE, Reason.EMPTY)
    letters = [row for row in rows.values() if row.outcome is not Outcome.UNREADABLE]
    assert len(letters) == 4
    for row in letters:
        assert row.text == f"ANSWER: {row.answer}"
        assert (row.outcome is Outcome.RIGHT) == (row.answer == {"1": "A", "2": "D"}[row.question])


def test_a_scorer_must_be_chosen():
    with pytest.raises(BadInput, match=r"scores by pattern, includes\. Choose one"):
        read_inspect(TWO_LOG)
    with pytest.raises(BadInput, match=r"no scorer 'exact'\. Choose one of: pattern, includes"):
        read_inspect(TWO_LOG, scorer="exact")


def test_a_sentence_given_as_answer_is_read():
    read = read_inspect(TWO_LOG, scorer="includes")
    row = read.attempts[0]
    assert (row.text, row.answer, row.span) == ("The answer is 5.", "5", (14, 15))


def test_it_becomes_a_run(tmp_path: Path):
    read = read_inspect(SUMS_LOG)
    with Run.create_or_resume(
        tmp_path / "run", plan=read.plan, questions=read.questions, environment=read.environment
    ) as run:
        run.append(read.attempts)
    again = Run.read(tmp_path / "run")
    assert tuple(again.attempts) == read.attempts
    assert again.questions == read.questions
    assert again.plan == read.plan


@pytest.mark.parametrize(
    ("value", "outcome", "reason"),
    [
        ("C", Outcome.RIGHT, None),
        (1, Outcome.RIGHT, None),
        (1.0, Outcome.RIGHT, None),
        (True, Outcome.RIGHT, None),
        ("yes", Outcome.RIGHT, None),
        ("1.0", Outcome.RIGHT, None),
        ("I", Outcome.WRONG, None),
        (0, Outcome.WRONG, None),
        (False, Outcome.WRONG, None),
        ("N", Outcome.UNREADABLE, Reason.NO_ANSWER),
        (float("nan"), Outcome.UNREADABLE, Reason.ERROR),
        (None, Outcome.UNREADABLE, Reason.ERROR),
    ],
)
def test_scores_are_read_as_inspect_reads_them(
    written: Write, value: Any, outcome: Outcome, reason: Reason | None
):
    row = read_inspect(written(scored(value))).attempts[0]
    assert (row.outcome, row.reason) == (outcome, reason)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("refusal", Reason.NO_ANSWER),
        ("no_response", Reason.EMPTY),
        ("grader_failed", Reason.ERROR),
        ("of my own", None),
    ],
)
def test_a_scorers_reason_makes_a_wrong_answer_unreadable(written: Write, given: str, reason: Reason | None):
    row = read_inspect(written(scored("I", reason=given))).attempts[0]
    assert (row.outcome, row.reason) == (Outcome.UNREADABLE if reason else Outcome.WRONG, reason)


def test_an_invalidated_sample_does_not_count(written: Write):
    row = read_inspect(written(a_sample(invalidation={"author": "me"}))).attempts[0]
    assert (row.outcome, row.reason) == (Outcome.UNREADABLE, Reason.ERROR)


@pytest.mark.parametrize("value", ["P", 0.5])
def test_a_part_score_needs_a_threshold(written: Write, value: Any):
    path = written(scored(value))
    with pytest.raises(BadInput, match=r"log\.json: sample 1: match is 0\.5, neither 0 nor 1.*threshold"):
        read_inspect(path)
    assert read_inspect(path, threshold=0.5).attempts[0].outcome is Outcome.RIGHT
    assert read_inspect(path, threshold=0.6).attempts[0].outcome is Outcome.WRONG


@pytest.mark.parametrize("value", ["excellent", {"a": 1}, [1, 0]])
def test_a_score_that_is_no_verdict_is_refused(written: Write, value: Any):
    with pytest.raises(BadInput, match=r"log\.json: sample 1: match (is 'excellent'|gives several values)"):
        read_inspect(written(scored(value)))


def test_a_missing_epoch_leaves_no_gap(written: Write):
    samples = [a_sample(epoch=3), a_sample(epoch=1), a_sample(id="two", epoch=2)]
    read = read_inspect(written(*samples))
    assert [(row.question, row.draw) for row in read.attempts if row.probe == "sampling"] == [
        ("one", 0),
        ("two", 0),
        ("one", 1),
    ]
    assert read.warnings == ("Questions have different numbers of repeats (1 on 1, 2 on 1); all are kept.",)


def test_an_epoch_twice_is_refused(written: Write):
    with pytest.raises(BadInput, match="sample 2: epoch 1 of sample 'one' stands twice"):
        read_inspect(written(a_sample(), a_sample()))


def test_long_texts_kept_apart_are_put_back(written: Write):
    apart = {"attachments": {"abc": "It is 5, I think."}}
    output = {"completion": "attachment://abc"}
    assert read_inspect(written(a_sample(output=output, **apart))).attempts[0].text == "It is 5, I think."
    with pytest.raises(BadInput, match="the attachment abc is missing"):
        read_inspect(written(a_sample(output=output)))


def test_reasoning_is_no_part_of_the_answer(written: Write):
    content = [{"type": "reasoning", "reasoning": "2 + 3 is 6?"}, {"type": "text", "text": "5"}]
    output = {"choices": [{"message": {"content": content}, "stop_reason": "model_length"}]}
    row = read_inspect(written(a_sample(output=output))).attempts[0]
    assert (row.text, row.finish) == ("5", "length")


def test_the_last_message_of_the_user_is_the_question(written: Write):
    turns = [("user", "What is 1 + 1?"), ("assistant", "2"), ("user", "What is 2 + 3?")]
    messages = [{"role": role, "content": text} for role, text in turns]
    assert read_inspect(written(a_sample(input=messages))).questions[0].text == "What is 2 + 3?"


def test_targets_are_alternatives_but_of_options_all_must_be_named(written: Write):
    several = written(a_sample(target=["5", "05.0"]))
    assert read_inspect(several).questions[0].gold == ("5", "05.0")
    score = {"choice": {"value": "C", "answer": "A, C"}}
    read = read_inspect(written(a_sample(target=["A", "C"], choices=["x", "y", "z"], scores=score)))
    assert (read.questions[0].kind, read.questions[0].gold) == (Kind.TEXT, ("A, C",))
    assert read.questions[0].text == "What is 2 + 3?\nA. x\nB. y\nC. z"
    assert read.attempts[0].answer == "a, c"


def test_tokens_from_a_cache_are_part_of_the_prompt(written: Write):
    usage = {"input_tokens": 3, "input_tokens_cache_read": 40, "output_tokens": 2}
    assert (
        read_inspect(written(a_sample(model_usage={"some/model": usage}))).attempts[0].n_prompt_tokens == 43
    )


def test_an_unfinished_evaluation_is_read_with_a_warning(tmp_path: Path):
    start = {"version": 2, "eval": a_header()["eval"], "plan": {}}
    members = {"_journal/start.json": start, "samples/one_epoch_1.json": a_sample()}
    read = read_inspect(zipped(tmp_path / "log.eval", members))
    assert "did not end well: its status is 'started'" in read.warnings[0]


def test_a_newer_format_is_refused(written: Write):
    with pytest.raises(BadInput, match="format version 3; known are versions up to 2"):
        read_inspect(written(a_sample(), version=3))


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([], "holds no samples"),
        ([a_sample(scores={})], "has no scores. Run `inspect score`"),
        ([{"id": 1, "scores": {"match": {"value": 1}}}], "sample 1: the sample has no 'epoch'"),
    ],
)
def test_a_log_without_what_is_needed_is_refused(written: Write, samples: list[Any], message: str):
    with pytest.raises(BadInput, match=re.escape(message)):
        read_inspect(written(*samples))


def test_a_file_that_is_no_log_is_refused(tmp_path: Path):
    with pytest.raises(BadInput, match=r"Cannot read .*gone\.eval: No such file"):
        read_inspect(tmp_path / "gone.eval")
    other = tmp_path / "other.json"
    for text, message in (("{", "is no JSON"), ("[1]", "expected an object"), ("{}", "is no log of Inspect")):
        other.write_text(text)
        with pytest.raises(BadInput, match=message):
            read_inspect(other)
    with pytest.raises(BadInput, match=r"it has no header\.json"):
        read_inspect(zipped(tmp_path / "other.eval", {"data.json": {}}))


def test_a_damaged_member_is_named(tmp_path: Path):
    data = bytearray(SUMS_LOG.read_bytes())
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as archive:
        info = archive.getinfo("samples/sum-4-4_epoch_1.json")
    middle = info.header_offset + 30 + len(info.filename) + info.compress_size // 2
    for i in range(middle, middle + 8):
        data[i] ^= 0xFF
    path = tmp_path / "log.eval"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=r"samples/sum-4-4_epoch_1\.json is damaged"):
        open_log(path)


def test_a_cut_file_is_refused(tmp_path: Path):
    path = tmp_path / "log.eval"
    path.write_bytes(SUMS_LOG.read_bytes()[:-100])
    with pytest.raises(BadInput, match="is no"):
        open_log(path)


def test_a_member_of_several_frames_is_whole(tmp_path: Path):
    data = json.dumps(a_header() | {"status": "success", "note": "x" * 5000}).encode()
    frames = b"".join(zstandard.ZstdCompressor().compress(part) for part in (data[:100], data[100:]))
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", frames)
    raw = bytearray(path.read_bytes())
    _claim_zstd(raw, data)
    path.write_bytes(raw)
    assert open_log(path).header["note"] == "x" * 5000


def _claim_zstd(raw: bytearray, data: bytes) -> None:
    """Rewrites the method, check sum and size of a zip's only member in its central directory."""
    start = raw.rindex(b"PK\x01\x02")
    raw[start + 10 : start + 12] = (93).to_bytes(2, "little")
    raw[start + 16 : start + 20] = zlib.crc32(data).to_bytes(4, "little")
    raw[start + 24 : start + 28] = len(data).to_bytes(4, "little")


def test_without_zstandard_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(
        BadInput, match=r"needs the package zstandard\. Install it, or run `inspect log convert --to json"
    ):
        read_inspect(SUMS_LOG)


@pytest.mark.skipif(
    importlib.util.find_spec("inspect_ai") is None,
    reason="inspect-ai with what it needs is too large for the test extras, and needs an older fsspec",
)
def test_what_inspect_writes_today_reads_as_the_stored_logs(tmp_path: Path):
    subprocess.run(
        [sys.executable, LOGS.parent / "write_inspect.py", tmp_path], check=True, capture_output=True
    )
    for stored, scorer in ((SUMS_LOG, None), (CAPITALS_LOG, None), (TWO_LOG, "includes")):
        fresh, kept = (read_inspect(path, scorer=scorer) for path in (tmp_path / stored.name, stored))
        assert fresh.attempts == kept.attempts
        assert fresh.plan == kept.plan
