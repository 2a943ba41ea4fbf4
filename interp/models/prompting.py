"""What can be wrong between a question's text and the tokens that a model reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from interp.errors import InterpError
from interp.models.checks import Check, guarded, usable_prompt
from interp.procedure import Prompt, Template

if TYPE_CHECKING:
    from interp.models.checkpoint import Checkpoint

TEXT = "Which number is smaller, 3 or 8?"
ROUND_TRIP = ("42", " 3.5", "1,000", "naïve café", "数字は3と8", "two\nlines", "a  b")


def prompt_checks(model: Checkpoint) -> list[Check]:
    """Checks of template, beginning and end tokens, control tokens in questions, and the tokenizer."""
    return guarded((_chat_template, _beginning, _control_tokens, _tokenizer), model)


def _chat_template(model: Checkpoint) -> Iterator[Check]:
    if not model.has_chat_template:
        yield Check("chat template", None, "none: questions are asked in plain text")
        return
    turn = [{"role": "user", "content": TEXT}]
    without, with_prompt = (
        str(model.tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=begun))
        for begun in (False, True)
    )
    is_begun = with_prompt.startswith(without) and len(with_prompt) > len(without)
    value = (
        f"adds {with_prompt[len(without) :]!r}" if is_begun else "adds nothing, or changes what is before it"
    )
    yield Check("generation prompt", is_begun, value, "The template does not begin the answer's turn.")
    before = without.partition(TEXT)[0]
    yield Check("before a question", None, repr(before[:120]) + (" ..." if len(before) > 120 else ""))
    told = model.render(TEXT, Prompt(system="Be brief.")).text
    value = "a system text is in the prompt" if "Be brief." in told else "a system text is dropped"
    yield Check(
        "system text", "Be brief." in told, value, "Put it into the question, or use --template plain."
    )


def _beginning(model: Checkpoint) -> Iterator[Check]:
    bos = model.tokenizer.bos_token_id
    if bos is None:
        yield Check("beginning token", None, "the tokenizer has none")
        return
    adds = list(model.tokenizer("x").input_ids)[:1] == [bos]
    templates = [Template.PLAIN, *([Template.CHAT] if model.has_chat_template else [])]
    for template in templates:
        tokens = model.render(TEXT, Prompt(template=template)).tokens
        n_begun = next((i for i, token in enumerate(tokens) if token != bos), len(tokens))
        passed = n_begun == 1 if adds else n_begun <= 1
        times = {0: "not there", 1: "there once"}.get(n_begun, f"there {n_begun} times")
        wanted = "and so does the tokenizer add it" if adds else "the tokenizer does not add it by itself"
        advice = "The model was trained on prompts that begin with it once: correct the template."
        yield Check(f"beginning token, {template}", passed, f"{times}; {wanted}", advice)


def _control_tokens(model: Checkpoint) -> Iterator[Check]:
    special = [token for token in model.tokenizer.all_special_tokens if token.strip()]
    prompt = usable_prompt(model)
    plain = model.render(f"Is it 3? {TEXT}", prompt).tokens
    leaked: list[str] = []
    for token in special:
        number = model.tokenizer.convert_tokens_to_ids(token)
        try:
            tokens = model.render(f"Is it {token} 3? {TEXT}", prompt).tokens
        except InterpError as error:
            yield Check("control tokens in questions", None, f"refused: {error}")
            return
        if tokens.count(number) != plain.count(number):
            leaked.append(token)
    value = f"{', '.join(leaked)} become control tokens" if leaked else f"{len(special)} kept as plain text"
    yield Check(
        "control tokens in questions", not leaked, value, "A question could end the turn: do not use this."
    )


def _tokenizer(model: Checkpoint) -> Iterator[Check]:
    tokenizer = model.tokenizer
    changed = [
        text
        for text in ROUND_TRIP
        if model.decode(tuple(tokenizer(text, add_special_tokens=False).input_ids)) != text
    ]
    value = (
        f"changed: {', '.join(map(repr, changed))}"
        if changed
        else f"{len(ROUND_TRIP)} texts come back as they were"
    )
    lossy = [text for text in changed if model.decode(_ids(model, text)).strip() != text.strip()]
    yield Check("round trip", not lossy, value, "Answers are read from decoded text, so they may be misread.")
    pad = f"pads on the {tokenizer.padding_side} with {tokenizer.pad_token!r}"
    yield Check("padding side", None, f"{pad}; this package pads on the left itself")
    end = sorted(model.end_tokens)
    shown = ", ".join(repr(tokenizer.decode([token])) for token in end)
    yield Check("end tokens", bool(end), shown or "none", "Answers end only at the limit or a stop string.")


def _ids(model: Checkpoint, text: str) -> tuple[int, ...]:
    return tuple(model.tokenizer(text, add_special_tokens=False).input_ids)
