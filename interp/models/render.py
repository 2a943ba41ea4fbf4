"""Turns a question into the tokens a model reads, so that no text in it becomes a control token."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from interp.errors import Unsupported
from interp.models.model import Rendered
from interp.procedure import Prompt, Template, content_key

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def render(tokenizer: PreTrainedTokenizerBase, text: str, prompt: Prompt) -> Rendered:
    """The prompt for a question.

    A text that holds no control token ("<|im_end|>") is tokenized together with the template, just as
    the tokenizer's own chat template does it. One that holds some is encoded apart, as plain text.

    Raises:
        Unsupported: The chat template is asked for and the tokenizer has none.
    """
    contents = [prompt.system or "", *(part for pair in prompt.examples for part in pair), text]
    build = _chat if prompt.template is Template.CHAT else _plain
    if not any(control in content for control in _control_tokens(tokenizer) for content in contents):
        whole = build(tokenizer, text, prompt)
        return Rendered(
            whole, tuple(tokenizer(whole, add_special_tokens=prompt.template is Template.PLAIN).input_ids)
        )
    return _render_apart(tokenizer, text, prompt)


def _control_tokens(tokenizer: PreTrainedTokenizerBase) -> list[str]:
    added: dict[int, Any] = getattr(tokenizer, "added_tokens_decoder", {})
    return sorted({str(token) for token in (*tokenizer.all_special_tokens, *added.values())} - {""})


def _chat(tokenizer: PreTrainedTokenizerBase, text: str, prompt: Prompt) -> str:
    if not tokenizer.chat_template:
        raise Unsupported("This tokenizer has no chat template. Use the plain template (--template plain).")
    turns: list[dict[str, str]] = []
    for question, answer in prompt.examples:
        turns.append({"role": "user", "content": question})
        turns.append({"role": "assistant", "content": prompt.answer_prefix + answer})
    turns.append({"role": "user", "content": text})
    if prompt.system is None:
        return _apply(tokenizer, turns) + prompt.answer_prefix
    system = {"role": "system", "content": prompt.system}
    try:
        whole = _apply(tokenizer, [system, *turns])
    except Unsupported:
        # Some templates (Gemma's) refuse a system turn: it then goes before the first question.
        first = {"role": "user", "content": f"{prompt.system}\n\n{turns[0]['content']}"}
        whole = _apply(tokenizer, [first, *turns[1:]])
    return whole + prompt.answer_prefix


def _apply(tokenizer: PreTrainedTokenizerBase, turns: Sequence[dict[str, str]]) -> str:
    from jinja2 import TemplateError

    try:
        return str(tokenizer.apply_chat_template(list(turns), tokenize=False, add_generation_prompt=True))
    except TemplateError as error:
        raise Unsupported(
            f"The tokenizer's chat template refuses this prompt ({error}). Use --template plain."
        ) from error


def _plain(_: PreTrainedTokenizerBase, text: str, prompt: Prompt) -> str:
    prefix = f" {prompt.answer_prefix}" if prompt.answer_prefix else ""
    parts = [prompt.system] if prompt.system else []
    parts += [f"Question: {question}\nAnswer:{prefix or ' '}{answer}" for question, answer in prompt.examples]
    parts.append(f"Question: {text}\nAnswer:{prefix}")
    return "\n\n".join(parts)


def _render_apart(tokenizer: PreTrainedTokenizerBase, text: str, prompt: Prompt) -> Rendered:
    """Renders with marks in place of the contents, then encodes template and contents apart."""
    nonce = content_key([text, prompt.system, prompt.examples])
    contents: list[str] = []

    def mark(content: str) -> str:
        contents.append(content)
        return f"<{nonce}:{len(contents) - 1}>"

    marked = Prompt(
        system=None if prompt.system is None else mark(prompt.system),
        examples=tuple((mark(question), mark(answer)) for question, answer in prompt.examples),
        answer_prefix=prompt.answer_prefix,
        template=prompt.template,
    )
    build = _chat if prompt.template is Template.CHAT else _plain
    whole = build(tokenizer, mark(text), marked)
    tokens: list[int] = []
    if prompt.template is Template.PLAIN:
        tokens += tokenizer("", add_special_tokens=True).input_ids
    pieces = re.split(f"<{nonce}:([0-9]+)>", whole)
    if {int(place) for place in pieces[1::2]} != {*range(len(contents))}:
        raise Unsupported(
            "The tokenizer's chat template changes or drops texts, so one with control tokens in it "
            "cannot be encoded apart. Use --template plain."
        )
    for place, piece in enumerate(pieces):
        inside = place % 2 == 1
        if inside:
            pieces[place] = contents[int(piece)]
        if pieces[place]:
            ids = tokenizer(pieces[place], add_special_tokens=False, split_special_tokens=inside).input_ids
            tokens += ids
    return Rendered("".join(pieces), tuple(tokens))
