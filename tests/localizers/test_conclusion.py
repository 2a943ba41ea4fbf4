"""The rules, one by one, and what is said: planted sweeps give the finding that was planted."""

import re
from dataclasses import replace

import pytest
from silencing_log import attempt, comparisons, failure_set, other, planted_sweep, random_sweep, sums, sweep

from interp.localizers.conclusion import MIN_QUESTIONS, RULES, find, shifts_answer, shifts_position
from interp.localizers.localization import Finding, Share
from interp.localizers.locate import localize_repair
from interp.localizers.sentences import conclude, format_p
from interp.question import Kind, Question

QUESTIONS = comparisons(100)


def located(rows, questions, **options):
    return localize_repair(rows, questions, failure_set(rows), n_permutations=199, **options)


def evidence_of(found, **changes):
    """The evidence of a localization, with some numbers changed."""
    numbers = {k: v for k, v in vars(found).items() if k not in ("finding", "sentences")}
    return type(found).__mro__[1](**{**numbers, **changes})


@pytest.fixture(scope="module")
def planted():
    return located(planted_sweep(QUESTIONS), QUESTIONS)


def without_block(rows, layer):
    """The same sweep in which one block does nothing."""
    control = {row.question: row for row in rows if row.draw == 0}
    return [
        replace(control[row.question], draw=row.draw, interventions=row.interventions)
        if row.draw == layer + 1
        else row
        for row in rows
    ]


def test_the_planted_block_is_named_and_so_is_the_trap(planted):
    assert planted.finding is Finding.REPAIRS
    assert planted.headline == (
        "The block to silence is MLP 14: held out, it repairs 0.75 [0.60, 0.86] of the failures and keeps "
        "0.95 [0.86, 0.98] of the successes."
    )
    gain = planted.held_out_net_gain.net_gain_interval
    assert planted.sentences[1:4] == (
        f"Held out, accuracy goes from 0.60 to 0.87, a gain of +0.27 [{gain[0]:+.2f}, {gain[1]:+.2f}].",
        "The block that repairs most is not the block to silence: MLP 2 repairs 1.00 [0.91, 1.00], "
        "keeps 0.25 [0.16, 0.37], net gain -0.05 [-0.12, +0.02].",
        "It moves the answers from the second answer named, commonest with 0.90, to the first answer named, "
        "0.95 (gold 0.50).",
    )
    text = " ".join(planted.sentences)
    assert "Always the first answer named repairs 1.00" in text
    assert "accuracy 0.50: MLP 2 is not above that." in text
    assert "Held out, the choice by repair (MLP 2) repairs 1.00 [0.91, 1.00]." in text
    assert "one of two" in text


def test_a_block_that_repairs_by_one_position_is_a_shift():
    found = located(without_block(planted_sweep(QUESTIONS), 14), QUESTIONS)
    assert found.finding is Finding.ANSWER_SHIFT
    assert found.headline == (
        "MLP 2 repairs most, 1.00 of the failures, but keeps 0.25 of the successes: it shifts the answers "
        "to one position."
    )


def test_always_yes_is_no_repair_even_where_it_raises_accuracy():
    """The model always says No, 24 of 40 golds are Yes, and one block makes it always say Yes."""
    questions = [Question(f"q{i}", f"Is {i}?", Kind.TEXT, ("yes" if i < 24 else "no",)) for i in range(40)]
    rows = sweep(questions, 10, lambda _, block: "yes" if block == 3 else "no")
    for binary in (True, False):
        found = located(rows, questions, binary=binary)
        assert found.best_net_gain.net_gain == pytest.approx(0.2)
        assert found.finding is Finding.ANSWER_SHIFT
        assert "one answer" in found.headline
        assert found.headline.startswith("MLP 3 repairs most, 1.00 of the failures, and keeps 0.00")
        assert found.sentences[2] == (
            'It moves the answers from "no", commonest with 1.00, to "yes", 1.00 (gold 0.60).'
        )
        assert any("A constant reaches an accuracy of 0.60" in s for s in found.sentences)
        assert (
            any(s.startswith("Held out, repair + retention - 1 is +0.00") for s in found.sentences) is binary
        )


def test_a_flip_breaks_as_much():
    place = {q.id: i for i, q in enumerate(QUESTIONS)}

    def answer(question, block):
        right = place[question.id] % 5 > 1
        return question.gold[0] if right ^ (block == 4) else other(question)

    found = located(sweep(QUESTIONS, 12, answer), QUESTIONS)
    assert found.finding is Finding.BREAKS_AS_MUCH
    assert found.headline == (
        "MLP 4 repairs most, 1.00 of the failures, but keeps 0.00 of the successes; held out, silencing "
        "breaks as much as it repairs."
    )


def test_a_small_gain_is_unconfirmed():
    questions = sums(100)

    def answer(question, block):
        i = int(question.id.removeprefix("sum/"))
        fails = i % 5 < 2
        if block == 7:
            fails = i % 10 == 0 or i % 10 == 1 if fails else i % 50 in range(22, 33)
        return other(question) if fails else question.gold[0]

    found = located(sweep(questions, 15, answer), questions)
    assert found.best_repair.layer == 7
    assert 0 < found.held_out_net_gain.net_gain < 0.1
    assert found.finding is Finding.UNCONFIRMED
    assert found.headline.endswith("; no block is confirmed to help.")
    held_out = next(s for s in found.sentences if s.startswith("Held out, the choice by net gain"))
    assert re.search(r"\(MLP 7\) .* net gain \+0\.0\d \[-0\.\d\d, \+0\.\d\d\]\.$", held_out)


def test_no_effect_is_no_repair_in_95_percent_of_seeds():
    questions = sums(50)
    findings = [
        localize_repair(rows, questions, failure_set(rows), n_permutations=99, seed=seed).finding
        for seed in range(40)
        for rows in [random_sweep(questions, 12, seed=seed)]
    ]
    assert findings.count(Finding.NO_REPAIR) >= 38
    assert Finding.REPAIRS not in findings


def test_no_repair_says_what_would_have_been_seen():
    found = located(random_sweep(sums(60), 12, seed=5), sums(60))
    assert found.finding is Finding.NO_REPAIR
    assert re.match(
        r"No block repairs more than chance: the best of 12, MLP \d+, repairs 0\.\d\d "
        r"\[0\.\d\d, 0\.\d\d\] of the failures \(p = 0\.\d{4}\)\.$",
        found.headline,
    )
    assert f"has to repair more than {found.nulls.max_repair.quantile:.2f}" in found.sentences[1]


def test_few_questions_name_no_block():
    questions = comparisons(20)
    found = located(planted_sweep(questions), questions)
    assert found.finding is Finding.TOO_FEW
    assert found.headline == (
        "Too few questions to name a block: 8 failures and 12 successes; at least 10 of each are needed."
    )
    assert found.sentences[1].startswith("As a hint only, of the block that repairs most: MLP 2 repairs")


def test_one_block_that_is_best_in_both_is_said_so():
    found = located(without_block(planted_sweep(QUESTIONS), 2), QUESTIONS)
    assert found.finding is Finding.REPAIRS
    assert "MLP 14 also repairs most, 0.75 [0.60, 0.86] of all failures asked." in found.sentences
    assert not any("not the block to silence" in s for s in found.sentences)


def test_halves_that_disagree_are_named(planted):
    first, second = planted.held_out_net_gain.directions
    fit = replace(planted.held_out_net_gain, directions=(first, replace(second, layer=12)))
    found = conclude(evidence_of(planted, held_out_net_gain=fit))
    assert found.headline.startswith("Silencing a block helps: held out, the choice by net gain repairs 0.75")
    assert "MLP" not in found.headline
    assert found.sentences[1].startswith(
        "The halves choose MLP 14 and MLP 12; over all questions asked MLP 14"
    )
    assert found.sentences[2].startswith("MLP 14 repairs 0.75")


def test_held_out_numbers_are_said_to_be_those_of_the_blocks_that_the_halves_chose(planted):
    """With 14 best over all and another block chosen by a half, nothing held out is ascribed to 14 alone."""
    first, second = planted.held_out_net_gain.directions
    fit = replace(
        planted.held_out_net_gain,
        directions=(first, replace(second, layer=12)),
        net_gain_interval=(-0.1, 0.3),
    )
    found = conclude(evidence_of(planted, held_out_net_gain=fit))
    assert found.finding is Finding.ANSWER_SHIFT
    held_out = [s for s in found.sentences if s.startswith("Held out, the choice by net gain")]
    assert len(held_out) == 1
    assert "(MLP 14 and MLP 12) repairs 0.75" in held_out[0]
    best = next(s for s in found.sentences if s.startswith("MLP 14 gains most"))
    assert str(planted.best_net_gain.repair) in best


def test_a_small_move_of_the_answers_is_not_spoken_of(planted):
    shift = replace(planted.repair_shift, position_share_after=0.55)
    found = conclude(evidence_of(planted, repair_shift=shift))
    assert not any(s.startswith("It moves the answers") for s in found.sentences)


def _held_out(planted, **changes):
    return {"held_out_net_gain": replace(planted.held_out_net_gain, **changes)}


def _nulls(planted, **changes):
    return {"nulls": replace(planted.nulls, **changes)}


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        (lambda _: {}, Finding.REPAIRS),
        (lambda _: {"n_failures_asked": MIN_QUESTIONS - 1}, Finding.TOO_FEW),
        (lambda _: {"n_successes_asked": MIN_QUESTIONS - 1}, Finding.TOO_FEW),
        (lambda _: {"n_failures_asked": MIN_QUESTIONS}, Finding.REPAIRS),
        (lambda e: _held_out(e, net_gain_interval=(-0.01, 0.4)), Finding.ANSWER_SHIFT),
        (lambda e: _held_out(e, accuracy_after=0.5), Finding.ANSWER_SHIFT),
        (lambda e: _held_out(e, informedness_interval=(-0.1, 0.9)), Finding.ANSWER_SHIFT),
        (
            lambda e: _held_out(e, informedness_interval=(-0.1, 0.9)) | {"two_options": False},
            Finding.REPAIRS,
        ),
        (lambda e: _nulls(e, max_net_gain=replace(e.nulls.max_net_gain, p=0.06)), Finding.ANSWER_SHIFT),
        (lambda e: _nulls(e, max_repair=replace(e.nulls.max_repair, p=0.06)), Finding.REPAIRS),
        (
            lambda e: _nulls(
                e,
                max_repair=replace(e.nulls.max_repair, p=0.04),
                max_net_gain=replace(e.nulls.max_net_gain, p=0.03),
            ),
            Finding.NO_REPAIR,
        ),
        (
            lambda e: {
                **_held_out(e, net_gain_interval=(-0.01, 0.4)),
                "repair_shift": replace(e.repair_shift, position_share_after=0.79),
            },
            Finding.UNCONFIRMED,
        ),
        (
            lambda e: {
                **_held_out(e, informedness=0.0, informedness_interval=(-0.2, 0.2)),
                "repair_shift": replace(e.repair_shift, position_share_after=0.79),
            },
            Finding.BREAKS_AS_MUCH,
        ),
        (
            lambda e: {
                **_held_out(e, net_gain=0.0, net_gain_interval=(-0.1, 0.1)),
                "repair_shift": replace(e.repair_shift, position_share_after=0.79),
            },
            Finding.BREAKS_AS_MUCH,
        ),
    ],
)
def test_each_rule_turns_on_its_own_number(planted, changes, finding):
    assert find(evidence_of(planted, **changes(planted))) is finding


def test_the_table_covers_every_finding_once():
    assert sorted(rule.finding for rule in RULES) == sorted(Finding)
    assert all(rule.why for rule in RULES)


def test_a_share_that_a_perfect_model_has_too_is_no_shift(planted):
    shift = planted.repair_shift
    assert shifts_position(shift)
    assert not shifts_position(replace(shift, position_share_gold=0.9))
    assert not shifts_position(replace(shift, position_before=0))
    assert shifts_position(replace(shift, position_before=0, position_share_before=0.8))
    assert not shifts_position(replace(shift, position_share_before=None, position_share_after=None))
    assert not shifts_answer(shift)
    always = replace(shift, answer_before="4", answer_after="3", answer_share_after=0.9)
    assert shifts_answer(always)
    assert not shifts_answer(replace(always, answer_share_gold=0.85))


def test_the_same_position_more_often_is_said_as_a_rise(planted):
    shift = replace(planted.repair_shift, position_before=0, position_share_before=0.8)
    found = conclude(evidence_of(planted, repair_shift=shift))
    assert "The share of the first answer named goes from 0.80 to 0.95 (gold 0.50)." in found.sentences


def test_caveats_are_said_only_where_they_hold(planted):
    plain = " ".join(planted.sentences)
    assert "control row" not in plain
    assert "unreadable" not in plain
    assert "were asked" not in plain
    shift = replace(planted.net_gain_shift, n_unreadable_after=25)
    found = conclude(
        evidence_of(planted, n_unstable=1, net_gain_shift=shift, n_failures=90, two_options=False)
    )
    text = " ".join(found.sentences)
    assert "1 question changed between the deployed run and the control row" in text
    assert "With MLP 14 silenced, unreadable answers go from 0.00 to 0.25." in text
    assert "40 of 90 failures and 60 of 60 successes were asked" in text
    assert "one of two" not in text


def test_questions_that_name_two_answers_count_as_two_options():
    rows = random_sweep(sums(30), 5, seed=1)
    assert not located(rows, sums(30)).two_options
    assert located(rows, sums(30), binary=True).two_options
    three = [replace(q, candidates=(*q.candidates, "1")) for q in QUESTIONS]
    assert not located(planted_sweep(QUESTIONS), three).two_options


def test_every_sentence_is_one_line_and_ends(planted):
    for found in (planted, located(random_sweep(sums(40), 6, seed=1), sums(40))):
        assert all(s.endswith(".") and "\n" not in s and "nan" not in s for s in found.sentences)
        assert found.headline == found.sentences[0]


def test_printing():
    assert format_p(0.00009999) == "p < 0.0001"
    assert format_p(0.0003) == "p = 0.0003"
    assert format_p(1.0) == "p = 1.0000"
    assert str(Share(3, 4)) == "0.75 [0.30, 0.95]"
    assert attempt(sums(1)[0], 0, (), "2").outcome == "right"
