"""Opens a log of Inspect: a zip of JSON members (`.eval`), or one JSON value (`.json`)."""

from __future__ import annotations

import importlib.util
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interp.errors import BadInput
from interp.imports.foreign import mapping, valid_unicode

NEWEST = 2
"""The newest version of the format that is known: that of inspect-ai 0.3.285."""

_ZSTD = 93
_HEADER, _START, _SAMPLES = "header.json", "_journal/start.json", "samples/"
_ATTACHMENT = "attachment://"


@dataclass(frozen=True)
class Sample:
    """One sample in one epoch.

    Attributes:
        place: The file, and the member or number within it.
        value: The sample's fields.
    """

    place: str
    value: Mapping[str, Any]

    def get(self, field: str) -> Any:
        """A field that every sample has.

        Raises:
            BadInput: The sample lacks it.
        """
        if field not in self.value:
            raise BadInput(f"{self.place}: the sample has no {field!r}. Write the log again with inspect-ai.")
        return self.value[field]

    def resolve(self, value: Any) -> Any:
        """A value with the long texts that the log keeps apart put back in.

        Raises:
            BadInput: One of them is missing.
        """
        if isinstance(value, str) and value.startswith(_ATTACHMENT):
            attachments = mapping(self.value.get("attachments"))
            name = value.removeprefix(_ATTACHMENT)
            if name not in attachments:
                raise BadInput(f"{self.place}: the attachment {name} is missing: the log is damaged.")
            return attachments[name]
        if isinstance(value, list):
            return [self.resolve(item) for item in value]
        if isinstance(value, dict):
            return {key: self.resolve(item) for key, item in value.items()}
        return value


@dataclass(frozen=True)
class LogFile:
    """A log, read whole.

    Attributes:
        header: What it says of the evaluation: version, status, eval, plan, results.
        samples: Every sample, in the order of the log.
        is_finished: Whether the evaluation wrote its header, as it does at the end.
    """

    header: Mapping[str, Any]
    samples: tuple[Sample, ...]
    is_finished: bool = True


def open_log(path: Path) -> LogFile:
    """Reads a log.

    Raises:
        BadInput: The file cannot be opened, is no log of Inspect, is damaged, is of a newer format, or is
            compressed with zstd and the package `zstandard` is not installed.
    """
    try:
        log = _read_zip(path) if zipfile.is_zipfile(path) else _read_json(path)
    except OSError as error:
        raise BadInput(f"Cannot read {path}: {error.strerror}. Give a log of Inspect.") from error
    version = log.header.get("version")
    if not isinstance(version, int) or not isinstance(log.header.get("eval"), dict):
        raise BadInput(
            f"{path} is no log of Inspect: it has no version or no 'eval'. Give an .eval or .json log."
        )
    if version > NEWEST:
        raise BadInput(
            f"{path} is of format version {version}; known are versions up to {NEWEST}. Update this package, "
            "or write the log with inspect-ai 0.3.285."
        )
    return log


def _read_json(path: Path) -> LogFile:
    value = _parse(path.read_bytes(), str(path))
    found = value.pop("samples", None)
    samples = [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
    return LogFile(value, tuple(Sample(f"{path}: sample {i}", item) for i, item in enumerate(samples, 1)))


def _read_zip(path: Path) -> LogFile:
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as raw:
            members = {info.filename: info for info in archive.infolist()}
            name = _HEADER if _HEADER in members else _START
            if name not in members:
                raise BadInput(
                    f"{path} is no log of Inspect: it has no {_HEADER}. Give an .eval or .json log."
                )
            read = _Members(path, archive, raw)
            samples = [
                Sample(f"{path}: {member}", read.value(info))
                for member, info in members.items()
                if member.startswith(_SAMPLES) and member.endswith(".json")
            ]
            return LogFile(read.value(members[name]), tuple(samples), is_finished=name == _HEADER)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise BadInput(f"{path} is damaged ({error}). Run `inspect log recover`, or copy it again.") from None


@dataclass(frozen=True)
class _Members:
    """Reads members of a zip, those too that this Python's zipfile cannot expand."""

    path: Path
    archive: zipfile.ZipFile
    raw: Any

    def value(self, info: zipfile.ZipInfo) -> dict[str, Any]:
        place = f"{self.path}: {info.filename}"
        data = self._zstd(info, place) if info.compress_type == _ZSTD else self.archive.read(info)
        return _parse(data, place)

    def _zstd(self, info: zipfile.ZipInfo, place: str) -> bytes:
        """The content of a member of zip method 93.

        Reference: APPNOTE.TXT 4.3.7 (local header of 30 bytes, then name and extra field) and 4.4.5.
        """
        if importlib.util.find_spec("zstandard") is None:
            raise BadInput(
                f"{self.path} is compressed with zstd, which needs the package zstandard. Install it, or run "
                "`inspect log convert --to json --output-dir DIR LOG.eval` and give the .json log."
            )
        import zstandard

        self.raw.seek(info.header_offset)
        head = self.raw.read(30)
        n_name, n_extra = int.from_bytes(head[26:28], "little"), int.from_bytes(head[28:30], "little")
        self.raw.seek(info.header_offset + 30 + n_name + n_extra)
        packed = self.raw.read(info.compress_size)
        try:
            data = b"".join(_frames(packed, zstandard))
        except zstandard.ZstdError as error:
            raise BadInput(f"{place} is damaged ({error}). Copy the log again.") from None
        if zlib.crc32(data) != info.CRC:
            raise BadInput(f"{place} is damaged: its check sum is wrong. Copy the log again.")
        return data


def _frames(packed: bytes, zstandard: Any) -> Iterator[bytes]:
    """The content of each frame: a long member has several."""
    while packed:
        frame = zstandard.ZstdDecompressor().decompressobj()
        yield frame.decompress(packed)
        if not frame.eof:
            raise zstandard.ZstdError("a frame ends too early")
        packed = frame.unused_data


def _parse(data: bytes, place: str) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{place} is no JSON ({error}). Give an .eval or .json log of Inspect.") from None
    if not isinstance(value, dict):
        raise BadInput(f"{place}: expected an object, got {type(value).__name__}. Give a log of Inspect.")
    return valid_unicode(value) if b"\\ud" in data.lower() else value
