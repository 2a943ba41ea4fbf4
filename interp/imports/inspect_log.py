"""Reads the logs of Inspect, the evaluation framework of the UK AI Security Institute."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from interp.errors import BadInput
from interp.imports.foreign import Repeat, is_number, judge, mapping, name_of, objects
from interp.imports.imported import Asked, Imported, Origin, assemble
from interp.imports.inspect_file import LogFile, Sample, open_log
from interp.imports.inspect_question import read_question, text_of
from interp.question import Outcome, Reason

_CUT = ("max_tokens", "model_length")
_WORDS = {"C": 1, "I": 0, "P": 0.5, "yes": 1, "true": 1, "no": 0, "false": 0}
_NO_ANSWER = "N"
_REASONS = {
    "invalid_response_format": Reason.NO_ANSWER,
    "refusal": Reason.NO_ANSWER,
    "no_response": Reason.EMPTY,
    "grader_failed": Reason.ERROR,
    "scoring_failed": Reason.ERROR,
}
_SETTINGS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "max_tokens": "max_new_tokens",
}


def read_inspect(path: Path, *, scorer: str | None = None, threshold: float | None = None) -> Imported:
    """Reads a log of Inspect, each epoch of a sample as one repeat.

    A score of C, or 1, is right; I, or 0, is wrong, unless its scorer gives a reason why no answer was read
    (reasons `invalid_response_format` and `refusal` are `no_answer`, `no_response` is `empty`). N is
    `no_answer`. A sample that ended in an error, was invalidated or was not scored is `error`. Epochs are
    numbered through, so that a missing one leaves no gap.

    Args:
        path: The log, `.eval` or `.json`.
        scorer: Whose scores to take; needed where the log has several scorers.
        threshold: Scores of at least this are right. Without it a score other than 0 or 1 is refused.

    Raises:
        BadInput: The log cannot be read, is of a newer format, or has no samples or scores; the scorer must
            be chosen; or a score is neither right nor wrong.

    Reference:
        UK AI Security Institute, "Inspect: An open-source framework for large language model evaluations"
        (2024), https://inspect.aisi.org.uk/eval-logs.html; format version 2 as inspect-ai 0.3.285 writes it.
    """
    path = Path(path)
    log = open_log(path)
    if not log.samples:
        raise BadInput(f"{path} holds no samples. Evaluate again without --no-log-samples.")
    name = _choose_scorer(path, log.samples, scorer)
    grader = f"inspect/{name}" if threshold is None else f"inspect/{name}>={threshold}"
    asked = [
        _asked(epochs, [_repeat(sample, name, grader, threshold) for sample in epochs])
        for epochs in _by_question(log)
    ]
    return assemble(asked, _origin(path, log))


def _by_question(log: LogFile) -> list[list[Sample]]:
    """Samples of one id together, by epoch; ids in the data set's order.

    The order of the log is that in which samples ended, another one each time.
    """
    found: dict[str, dict[int, Sample]] = {}
    for sample in log.samples:
        epochs = found.setdefault(name_of(sample.get("id"), place=sample.place), {})
        epoch = sample.get("epoch")
        if not isinstance(epoch, int) or epoch in epochs:
            raise BadInput(f"{sample.place}: epoch {epoch!r} of sample {sample.get('id')!r} stands twice.")
        epochs[epoch] = sample
    listed = mapping(log.header["eval"].get("dataset")).get("sample_ids")
    place = {str(name): i for i, name in enumerate(listed if isinstance(listed, list) else [])}
    ids = sorted(found, key=lambda name: (place.get(name, len(place)), len(name), name))
    return [[found[name][epoch] for epoch in sorted(found[name])] for name in ids]


def _choose_scorer(path: Path, samples: Sequence[Sample], scorer: str | None) -> str:
    names = list(dict.fromkeys(name for sample in samples for name in mapping(sample.value.get("scores"))))
    listed = ", ".join(names)
    if not names:
        raise BadInput(f"{path} has no scores. Run `inspect score` on it first.")
    if scorer is not None and scorer not in names:
        raise BadInput(f"{path} has no scorer {scorer!r}. Choose one of: {listed}.")
    if scorer is None and len(names) > 1:
        raise BadInput(f"{path} has scores by {listed}. Choose one of them.")
    return scorer or names[0]


def _asked(epochs: Sequence[Sample], repeats: Sequence[Repeat]) -> Asked:
    first = next((sample for sample in epochs if sample.value.get("messages")), epochs[0])
    messages = [
        message for message in objects(first.value.get("messages")) if message.get("source") != "generate"
    ]
    prompt = [[message.get("role"), text_of(first, message.get("content"))] for message in messages]
    return Asked(read_question(first), prompt, tuple(repeats))


def _repeat(sample: Sample, scorer: str, grader: str, threshold: float | None) -> Repeat:
    output = mapping(sample.value.get("output"))
    replies = objects(output.get("choices"))
    reply = replies[0] if replies else {}
    message = mapping(reply.get("message"))
    text = text_of(sample, output.get("completion") or message.get("content") or "")
    cut = reply.get("stop_reason") in _CUT or sample.value.get("limit") is not None
    finish: Literal["stop", "length"] = "length" if cut else "stop"
    score = mapping(mapping(sample.value.get("scores")).get(scorer))
    outcome, reason = _verdict(sample, score, scorer, threshold)
    answer = sample.resolve(score.get("answer"))
    answer = answer if isinstance(answer, str) else None
    return Repeat(text, outcome, reason, answer, grader, finish, _n_prompt(output, sample))


def _verdict(
    sample: Sample, score: Mapping[str, Any], scorer: str, threshold: float | None
) -> tuple[Outcome, Reason | None]:
    value = score.get("value")
    if sample.value.get("error") or sample.value.get("invalidation") or value is None:
        return Outcome.UNREADABLE, Reason.ERROR
    if isinstance(value, float) and math.isnan(value):
        return Outcome.UNREADABLE, Reason.ERROR
    if value == _NO_ANSWER:
        return Outcome.UNREADABLE, _REASONS.get(str(score.get("reason")), Reason.NO_ANSWER)
    if isinstance(value, list | dict):
        raise BadInput(
            f"{sample.place}: {scorer} gives several values at once ({', '.join(map(str, value))}). Choose a "
            "scorer that gives one."
        )
    if judge(_number(value), threshold, place=sample.place, name=scorer):
        return Outcome.RIGHT, None
    if reason := _REASONS.get(str(score.get("reason"))):
        return Outcome.UNREADABLE, reason
    return Outcome.WRONG, None


def _number(value: Any) -> Any:
    """A score as a number, read as Inspect reads it; anything else as it is."""
    if not isinstance(value, str):
        return value
    word = _WORDS.get(value, _WORDS.get(value.lower()))
    try:
        return float(value) if word is None else word
    except ValueError:
        return value


def _n_prompt(output: Mapping[str, Any], sample: Sample) -> int:
    """Tokens of the prompt, those from a cache included; 0 if the log does not say."""
    usage = output.get("usage")
    if not isinstance(usage, dict):
        usages = list(mapping(sample.value.get("model_usage")).values())
        usage = mapping(usages[0]) if len(usages) == 1 else {}
    names = ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
    return sum(n for name in names if isinstance(n := usage.get(name), int))


def _origin(path: Path, log: LogFile) -> Origin:
    spec = mapping(log.header["eval"])
    plan = mapping(log.header.get("plan"))
    config = {**mapping(spec.get("model_generate_config")), **mapping(plan.get("config"))}
    identity = {key: spec.get(key) for key in ("model", "model_base_url", "model_args", "model_roles")}
    status = log.header.get("status", "started") if log.is_finished else "started"
    warnings = [f"The evaluation did not end well: its status is {status!r}."] if status != "success" else []
    return Origin(
        source="inspect",
        model=str(spec.get("model", "")),
        identity={key: value for key, value in identity.items() if value},
        task=str(spec.get("task", path.stem)),
        decoding=_decoding(config),
        procedure={
            "solvers": [
                {"solver": step.get("solver"), "params": step.get("params") or {}}
                for step in objects(plan.get("steps"))
            ]
        },
        environment={
            "packages": dict(mapping(spec.get("packages"))),
            "created": spec.get("created"),
            "files": {path.name: hashlib.sha256(path.read_bytes()).hexdigest()},
        },
        warnings=warnings,
    )


def _decoding(config: Mapping[str, Any]) -> dict[str, Any]:
    """Settings under our names; of a greedy decoding without the filters of draws, which it does not use."""
    decoding: dict[str, Any] = {
        ours: config[name] for name, ours in _SETTINGS.items() if is_number(config.get(name))
    }
    if decoding.get("temperature") == 0:
        decoding = {name: value for name, value in decoding.items() if name not in ("top_p", "top_k")}
    stop = config.get("stop_seqs")
    if isinstance(stop, list):
        decoding["stop"] = [text for text in stop if isinstance(text, str) and text]
    return decoding
