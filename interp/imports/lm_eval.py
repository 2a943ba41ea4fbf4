"""Reads the samples files of lm-eval (EleutherAI's evaluation harness), written with `--log_samples`."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interp.errors import BadInput
from interp.imports.foreign import is_number, mapping, valid_unicode
from interp.imports.imported import Asked, Imported, Origin, assemble
from interp.imports.lm_eval_options import read_options
from interp.imports.lm_eval_rows import Row, Rule
from interp.imports.lm_eval_texts import read_texts
from interp.procedure import content_key

_NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+)")
_HALF_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")
_MODEL = ("model_source", "model_name")
_MODEL_CONFIG = (
    "model",
    "model_args",
    "model_num_parameters",
    "model_dtype",
    "model_revision",
    "model_sha",
    "peft_sha",
    "delta_sha",
)
_LENGTHS = ("max_gen_toks", "max_new_tokens", "max_tokens")


@dataclass(frozen=True)
class _File:
    """A samples file: the task in its name, its rows, and the results file of its run, if there is one."""

    path: Path
    task: str
    rows: tuple[Row, ...]
    results: Mapping[str, Any]

    @property
    def model(self) -> str:
        return str(self.results.get("model_name") or self.path.resolve().parent.name)

    @property
    def identity(self) -> dict[str, Any]:
        """What the run says of its model."""
        config = mapping(self.results.get("config"))
        said = {key: self.results.get(key) for key in _MODEL} | {
            key: config.get(key) for key in _MODEL_CONFIG
        }
        return {"name": self.model} | {key: value for key, value in said.items() if value is not None}


def read_lm_eval(
    paths: Sequence[Path],
    *,
    filter: str | None = None,  # noqa: A002
    metric: str | None = None,
    threshold: float | None = None,
) -> Imported:
    """Reads the samples files of one lm-eval run, one file a task.

    lm-eval scores a document, not a repeat. Where a filter keeps every repeat and the logged metric is the
    share of them that match, the verdict of each follows and is checked against that share. Where a filter
    keeps one answer of several repeats, the others have no verdict; all repeats of the task are then read
    by this package's grader, and a warning says how often it agrees with lm-eval's verdict.

    A log-likelihood task gives one attempt a question: the option that the metric picks.

    Args:
        paths: The files `samples_TASK_DATE.jsonl`. `results_DATE.json` beside them names the model.
        filter: Which filter's answers to take; needed where the log has several.
        metric: Which metric says right or wrong; the only one, else exact_match, or acc for options.
        threshold: Scores of at least this are right. Without it a score other than 0 or 1 is refused.

    Raises:
        BadInput: A file cannot be read, a row is not as lm-eval writes it, two files hold the same task or
            come from different models, or filter or metric must be chosen.

    Reference:
        Gao et al., "The Language Model Evaluation Harness" (doi 10.5281/zenodo.12608602); the format is that
        of version 0.4.13. Later rows are read the same way as long as they keep its fields.
    """
    files = [_read_file(Path(path)) for path in paths]
    _refuse_mixed(files)
    rule = Rule(filter=filter, metric=metric, threshold=threshold)
    asked: list[Asked] = []
    warnings = [
        f"{file.path.name} has no results file beside it: the model is named after the folder."
        for file in files
        if not file.results
    ]
    for file in files:
        rows = rule.choose_filter(file.rows)
        prefix = f"{file.task}/" if len(files) > 1 else ""
        subject = file.task if len(files) > 1 else ""
        read = read_options if rows[0].is_options else read_texts
        found, said = read(rows, rule, prefix=prefix, subject=subject)
        asked += found
        warnings += said
    decoding, said = _decoding(files)
    origin = Origin(
        source="lm-eval",
        model=files[0].model,
        identity=files[0].identity,
        task=",".join(file.task for file in files),
        decoding=decoding,
        procedure=_procedure(files),
        environment=_environment(files),
        warnings=[*warnings, *said],
    )
    return assemble(asked, origin)


def _read_file(path: Path) -> _File:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadInput(f"Cannot read {path}: {error.strerror}. Give samples files of lm-eval.") from error
    rows = tuple(
        Row(f"{path}:{line}", _parse(path, line, raw))
        for line, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1)
        if raw.strip()
    )
    if not rows:
        raise BadInput(f"{path} has no rows; expected one row a document, as lm-eval's --log_samples writes.")
    name = _NAME.fullmatch(path.stem)
    if name is None:
        return _File(path, path.stem.removeprefix("samples_"), rows, {})
    return _File(path, name["task"], rows, _read_results(path, name["date"]))


def _parse(path: Path, line: int, raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise BadInput(
            f"{path}:{line}: the row is no JSON ({error}). Write the file again, or cut the line off if it "
            "is the last one."
        ) from None
    if not isinstance(value, dict):
        raise BadInput(f"{path}:{line}: expected an object, got {type(value).__name__}.")
    return valid_unicode(value) if _HALF_PAIR.search(raw) else value


def _read_results(path: Path, date: str) -> Mapping[str, Any]:
    """The results file of the same moment; empty if there is none."""
    beside = sorted(path.parent.glob(f"*_{date}.json"))
    if not beside:
        return {}
    try:
        value = json.loads(beside[0].read_bytes())
    except (ValueError, OSError) as error:
        raise BadInput(f"{beside[0]} cannot be read ({error}). Move it away to do without it.") from None
    return mapping(value)


def _refuse_mixed(files: Sequence[_File]) -> None:
    if not files:
        raise BadInput("There is no samples file to read. Give at least one samples_TASK_DATE.jsonl.")
    first: dict[str, _File] = {}
    for file in files:
        if file.task in first:
            raise BadInput(
                f"{first[file.task].path} and {file.path} hold the same task {file.task!r}: two models or "
                "two runs would be mixed. Import each by itself."
            )
        first[file.task] = file
        if file.identity != files[0].identity:
            raise BadInput(
                f"{files[0].path} is by model {files[0].model!r}, {file.path} by {file.model!r}, or by "
                "another version of it. Import each by itself."
            )


def _decoding(files: Sequence[_File]) -> tuple[dict[str, Any], list[str]]:
    """Settings under our names, and a warning if the rows do not share them."""
    found = {content_key(row.settings): row.settings for file in files for row in file.rows if row.settings}
    if not found:
        return {}, []
    settings = next(iter(found.values()))
    until = settings.get("until")
    stop = [until] if isinstance(until, str) else until if isinstance(until, list) else []
    decoding: dict[str, Any] = {"stop": [text for text in stop if isinstance(text, str) and text]}
    known = {name: value for name, value in settings.items() if is_number(value)}
    lengths = [known[name] for name in _LENGTHS if known.get(name)]
    if lengths:
        decoding["max_new_tokens"] = lengths[0]
    temperature = known.get("temperature")
    if settings.get("do_sample") is False or (temperature is None and not settings.get("do_sample")):
        temperature = 0.0
    if temperature is not None:
        decoding["temperature"] = float(temperature)
    if temperature:
        decoding |= {name: known[name] for name in ("top_p", "top_k", "min_p") if known.get(name)}
    said = f"Rows were generated under {len(found)} different settings; the plan shows the first."
    return decoding, [said] if len(found) > 1 else []


def _procedure(files: Sequence[_File]) -> dict[str, Any]:
    """What the results file says of prompts."""
    results = files[0].results
    configs = mapping(results.get("configs"))
    shots = {file.task: mapping(configs.get(file.task)).get("num_fewshot") for file in files}
    said = {
        "few_shot": {task: n for task, n in shots.items() if n is not None},
        "system": results.get("system_instruction"),
        "chat_template": results.get("chat_template_sha"),
        "multiturn": results.get("fewshot_as_multiturn"),
    }
    return {key: value for key, value in said.items() if value not in (None, {}, False)}


def _environment(files: Sequence[_File]) -> dict[str, Any]:
    results = files[0].results
    packages = {
        "lm_eval": results.get("lm_eval_version"),
        "transformers": results.get("transformers_version"),
    }
    return {
        "packages": {name: version for name, version in packages.items() if version},
        "files": {file.path.name: hashlib.sha256(file.path.read_bytes()).hexdigest() for file in files},
        "n_rows": dict(Counter(file.task for file in files for _ in file.rows)),
    }
