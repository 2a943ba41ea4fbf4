"""Takes typed fields out of a row of a question file, and collects what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from interp.question import Kind
from interp.tasks.row import Numeral, type_name
from interp.tasks.row_fields import Fields


class Reader:
    """Takes typed fields out of a row and collects what is wrong with them.

    Attributes:
        fields: The row's fields.
        problems: Triples of field, as the file names it, kind of problem, and message.
    """

    def __init__(self, fields: Fields) -> None:
        """Begins with no problems."""
        self.fields = fields
        self.problems: list[tuple[str, str, str]] = []

    def refuse(self, field: str, rule: str, message: str) -> None:
        """Notes that a field cannot be used."""
        self.problems.append((self.fields.name(field), rule, message))

    def text(self, field: str, *, required: bool = False) -> str:
        """A text field; "" if it is absent or was refused."""
        value = self.fields.values.get(field)
        if value is None:
            if required:
                found = "is null or empty" if field in self.fields.values else "is missing"
                self.refuse(field, f"missing {field}", f"{found}; expected text")
            return ""
        if not isinstance(value, str) or (field == "question" and isinstance(value, Numeral)):
            self.refuse(field, f"type of {field}", f"expected text, got {type_name(value)}")
            return ""
        return self._clean(field, value)

    def texts(self, field: str, *, required: bool = False, may_be_list: bool = False) -> tuple[str, ...]:
        """A list of texts or numbers; one alone counts as a list for the gold.

        Text that is a JSON list is read as one if it may be: in a CSV file a list can stand in no other way.
        """
        value = self.fields.values.get(field)
        value = _as_list(value) if may_be_list else value
        if value is None or value == []:
            if required:
                found = "is missing" if field not in self.fields.values else "is null or empty"
                self.refuse(field, f"missing {field}", f"{found}; expected an answer")
            return ()
        single = field == "gold" and isinstance(value, str)
        if not isinstance(value, list) and not single:
            expected = "text, a number or a list of these" if field == "gold" else 'a list such as ["3", "8"]'
            self.refuse(field, f"type of {field}", f"expected {expected}, got {type_name(value)}")
            return ()
        return tuple(self._items(field, value if isinstance(value, list) else [value]))

    def kind(self) -> Kind | None:
        """The kind that the row gives."""
        given = self.text("kind")
        if given and given not in [*Kind]:
            self.refuse("kind", "unknown kind", f"expected {', '.join(Kind)}, got {given[:40]!r}")
        return Kind(given) if given in [*Kind] else None

    def base(self) -> int | None:
        """What the row says its first option is counted as."""
        given = self.text("gold_index_base").strip()
        if given and given not in ("0", "1"):
            self.refuse("gold_index_base", "index base", f"expected 0 or 1, got {given[:40]!r}")
        return int(given) if given in ("0", "1") else None

    def _items(self, field: str, items: Iterable[Any]) -> Iterable[str]:
        for item in items:
            if isinstance(item, str):
                yield self._clean(field, item)
            else:
                got = f"{type_name(item)} in the list"
                self.refuse(field, f"type of {field}", f"expected text or a number, got {got}")

    def _clean(self, field: str, value: str) -> str:
        if not value.strip():
            self.refuse(field, f"missing {field}", "is empty; expected text")
        try:
            value.encode()
        except UnicodeEncodeError:
            self.refuse(field, "unicode", "holds half of a surrogate pair, which is not valid Unicode")
        return str(value)


def _as_list(value: Any) -> Any:
    if not isinstance(value, str) or not value.strip().startswith("["):
        return value
    try:
        parsed = json.loads(value, parse_int=Numeral, parse_float=Numeral)
    except (ValueError, RecursionError):
        return value
    return parsed if isinstance(parsed, list) else value
