import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.figures.labels import counted, n_columns, shortened, spread

values = st.lists(st.floats(0, 1), max_size=12)


@settings(deadline=None)
@given(values, st.floats(0.001, 0.3))
def test_labels_keep_their_distance_their_order_and_the_ends(wanted, gap):
    places = spread(wanted, gap)
    assert len(places) == len(wanted)
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in places)
    kept = min(gap, 1 / max(1, len(wanted) - 1))
    assert all(b - a >= kept - 1e-9 for a, b in itertools.pairwise(sorted(places)))
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    assert order == sorted(range(len(wanted)), key=lambda i: places[i])


@settings(deadline=None)
@given(values)
def test_labels_that_have_room_stay_where_they_are(wanted):
    assert spread(wanted, 0.0) == pytest.approx(wanted)


def test_two_labels_at_one_place_move_apart_by_the_same():
    assert spread([0.5, 0.5], 0.1) == pytest.approx([0.45, 0.55])
    assert spread([0.5, 0.5, 0.9], 0.1) == pytest.approx([0.45, 0.55, 0.9])


def test_at_an_end_labels_move_inwards():
    assert spread([1.0, 1.0, 1.0], 0.1) == pytest.approx([0.8, 0.9, 1.0])
    assert spread([0.0, 0.01], 0.1) == pytest.approx([0.0, 0.1])
    assert spread([3.0, 3.0], 1.0, low=-2, high=3) == pytest.approx([2.0, 3.0])


@given(st.text(max_size=60), st.integers(2, 40))
def test_a_shortened_text_fits_and_is_its_own_beginning(text, most):
    short = shortened(text, most)
    assert n_columns(short) <= most
    if n_columns(text) <= most:
        assert short == text
    else:
        assert short.endswith("…")
        assert text.startswith(short[:-1])


def test_wide_letters_count_twice_and_marks_not_at_all():
    assert n_columns("日本") == 4
    assert n_columns("e\u0301") == 1
    assert shortened("日本語の問題", 7) == "日本語…"
    assert shortened("a long name", 7) == "a long…"


def test_a_count_has_its_noun_in_the_right_number():
    assert [counted(n, "question") for n in (0, 1, 2)] == ["0 questions", "1 question", "2 questions"]
