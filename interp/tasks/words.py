"""Letters in a word, the next number of a sequence, the day of the week."""

from __future__ import annotations

from interp.question import Kind, Question
from interp.tasks.family import Cell, Family, Knobs, chosen
from interp.tasks.task import ONE_NAME

_WORD_LIST = """
accommodation address alligator apple assassin balloon banana beekeeper blueberry bookkeeper broccoli butter
calendar carrot cheese chocolate cinnamon coconut coffee committee connection cucumber daffodil december
dinosaur elephant embarrass engineer february giraffe grammar hippopotamus illness independence kangaroo
language lemonade lollipop mammal marmalade millennium mississippi mosquito necessary nonsense occurrence
orange parallel peppermint pineapple possession potato pumpkin raspberry referee refrigerator scissors
sentence september sleepless strawberry success tattoo teeth tennessee tomato tomorrow umbrella vacuum
volleyball watermelon wednesday xylophone yesterday zucchini
"""
_WORDS = tuple(_WORD_LIST.split())
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _letters(word: str, letter: str, count: int) -> Question | None:
    if word.count(letter) != count:
        return None
    return Question(
        id=f"letters/{word}-{letter}",
        text=f'How many times does the letter "{letter}" appear in the word "{word}"?',
        kind=Kind.NUMBER,
        gold=(str(count),),
        subject=f"letter stands {'once' if count == 1 else f'{count} times'}",
    )


def _letter_cell(count: int) -> Cell:
    letters = "abcdefghijklmnopqrstuvwxyz"
    return Cell(f"letters {count}", [_WORDS, letters], lambda word, letter: _letters(word, letter, count))


def _sequence(rule: str, start: int, step: int) -> Question:
    terms = [start + step * i if rule == "add" else start * step**i for i in range(5)]
    shown = ", ".join(map(str, terms[:-1]))
    return Question(
        id=f"sequence/{'-'.join(map(str, terms[:-1]))}",
        text=f"What is the next number in the sequence {shown}?",
        kind=Kind.NUMBER,
        gold=(str(terms[-1]),),
        subject=f"sequence {rule}",
    )


def _sequence_cell(rule: str) -> Cell:
    axes = [range(1, 41), range(1, 13)] if rule == "add" else [range(1, 13), range(2, 7)]
    return Cell(f"sequence {rule}", axes, lambda start, step: _sequence(rule, start, step))


def _weekday(direction: str, day: int, offset: int) -> Question:
    gold = _DAYS[(day + (offset if direction == "after" else -offset)) % 7]
    return Question(
        id=f"weekday/{offset}-{direction}-{_DAYS[day].lower()}",
        text=f"What day of the week is {offset} day{'' if offset == 1 else 's'} {direction} {_DAYS[day]}?",
        kind=Kind.TEXT,
        gold=(gold,),
        subject=f"weekday {direction}",
    )


def _weekday_cells(knobs: Knobs) -> list[Cell]:
    return [
        Cell(
            f"weekday {way}",
            [range(7), range(1, 31)],
            lambda day, offset, way=way: _weekday(way, day, offset),
        )
        for way in chosen(knobs, "ask", ("after", "before"))
    ]


COUNTING = Family(
    "How often a letter stands in a word: once, twice and three times equally often.",
    lambda _: [_letter_cell(count) for count in (1, 2, 3)],
    n=75,
)
SEQUENCE = Family(
    "The next number of an arithmetic or geometric sequence.",
    lambda knobs: [_sequence_cell(rule) for rule in chosen(knobs, "rule", ("add", "multiply"))],
    knobs={"rule": ("both", "add", "multiply")},
    n=60,
)
WEEKDAY = Family(
    "The day of the week some days after or before another.",
    _weekday_cells,
    knobs={"ask": ("both", "after", "before")},
    decoding=ONE_NAME,
)
