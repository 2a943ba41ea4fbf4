"""What the page of an `audit` run says."""

from __future__ import annotations

from pathlib import Path

from interp.audited import AuditRun
from interp.figures import theme
from interp.readings.audit import Reached
from interp.readings.states import State
from interp.readings.words import headline, sentences
from interp.report.command import command_of
from interp.report.content import NumberTable, QuestionsContent
from interp.report.page import write_page
from interp.report.question_rows import audit_rows

FILES = (
    ("questions.csv", "one row a question: deployed answer, what each probe reached, state"),
    ("reach.csv", "one row a probe and k: reach with interval, decoys, chance floor, majority, all right"),
    ("selectors.csv", "one row a probe and selector: accuracy, recovered fraction, harm"),
    ("audit.json", "every number of the summary"),
    ("attempts.jsonl", "the log: one row a try"),
    ("questions.jsonl", "the questions as they were asked"),
    ("probes.json", "the probes and their budgets"),
    ("plan.json", "what was asked for"),
    ("environment.json", "versions, dtype, hashes"),
)
CONTRAST_FILE = ("contrast.csv", "one row a search and a probe that knows no answer, paired, budgets matched")


def write_audit_page(audited: AuditRun) -> Path:
    """Writes the page of an audit into its run directory, and gives its path."""
    return write_page(audited.path, audit_content(audited))


def audit_content(audited: AuditRun) -> QuestionsContent:
    """Everything that the page of an audit shows."""
    plan, audit = audited.run.plan, audited.audit
    facts = [("Questions", str(audit.n_questions)), ("Deployed", theme.fraction(audit.realized))]
    facts += [("Reachable, any probe", theme.fraction(audit.reachable))] if audit.probes else []
    facts += [(state.value.capitalize(), str(audit.states[state.value])) for state in State]
    return QuestionsContent(
        title=f"Audit of {plan['model']['name']} on {plan['task']['name']}",
        model=plan["model"]["name"],
        task=plan["task"]["name"],
        description=plan["task"]["description"],
        command=command_of(plan, str(audited.path), [probe.line for probe in audited.probes.values()]),
        headline=headline(audit),
        sentences=tuple(sentences(audit)),
        facts=tuple(facts),
        figures_heading="What is delivered, what is reached, and what can be kept",
        figures=audited.figures.all(),
        left=("reach_curve", "question_map"),
        tables=(
            _probe_table(audit.probes),
            *([_contrast_table(audited)] if audited.search_pairs else []),
            _selector_table(audited),
        ),
        questions_about="One row a question: its deployed answer, and the commonest answers of each probe.",
        questions=tuple(audit_rows(audited)),
        filters=tuple(State),
        warnings=audited.warnings,
        plan=plan | {"probes": [probe.line for probe in audited.probes.values()]},
        environment=audited.run.environment,
        files=(*FILES[:3], *([CONTRAST_FILE] if audited.search_pairs else []), *FILES[3:]),
    )


def _probe_table(probes: tuple[Reached, ...]) -> NumberTable:
    columns = (
        *("Probe", "Attempts", "Reach", "95%", "Wrong targets", "Excess", "95%", "Guessing", "Confirmed"),
        *("pass@1", "Majority", "All right", "Cover@0.5", "Unseen", "Tokens", "Layer-tokens"),
    )
    rows = [
        (
            f"{r.probe.title} ({r.probe.about})",
            str(r.k),
            theme.fraction(r.reach),
            theme.interval(*r.reach_interval),
            theme.fraction(r.decoy),
            theme.signed(r.excess),
            "" if r.excess_interval is None else _signed(r.excess_interval),
            theme.fraction(r.floor),
            theme.fraction(r.confirmed),
            theme.fraction(r.first),
            theme.fraction(r.majority),
            theme.fraction(r.all_right),
            theme.fraction(r.cover[0.5]),
            theme.fraction(r.unseen),
            f"{r.spent.n_tokens:,}",
            f"{r.spent.n_layer_tokens:,}",
        )
        for r in probes
    ]
    about = (
        "Reach: right at least once within the budget; excess: reach minus that of wrong targets. Confirmed "
        "hits held when made again in another batch. Cover@0.5: right in at least half of the attempts. "
        "Unseen: chance that one more attempt says something new. Costs are those of the attempts alone."
    )
    return NumberTable("What each probe reaches", about, columns, tuple(rows))


def _contrast_table(audited: AuditRun) -> NumberTable:
    columns = (
        *("Search", "Against", "Budget", "Reach", "Other", "Difference", "95%", "No worse"),
        *("Only search", "Only other", "p", "Excess", "Other", "Layer-tokens", "Other"),
    )
    table = audited.contrast()
    rows = [
        (
            audited.probes[row["search"]].title,
            audited.probes[row["other"]].title,
            f"{row['k']} {row['matched']}" if row["matched"] == "attempts" else f"layer-tokens of {row['k']}",
            theme.fraction(row["reach"]),
            theme.fraction(row["reach_other"]),
            theme.signed(row["difference"]),
            _signed((row["low"], row["high"])),
            "yes" if row["non_inferior"] else "not shown",
            str(row["only_search"]),
            str(row["only_other"]),
            _p(row["p"]),
            theme.signed(row["excess"]),
            theme.signed(row["excess_other"]),
            f"{row['layer_tokens']:,.0f}",
            f"{row['layer_tokens_other']:,.0f}",
        )
        for row in table.iter_rows(named=True)
    ]
    about = (
        "A search sees the gold answers; what it is set against does not. Budget: so many attempts on "
        "different routes, or the layer-tokens of so many deployed answers. Difference: other minus search, "
        f"paired. No worse: the interval lies above \u2212{table['margin'][0]:.2f}. Layer-tokens: a question."
    )
    return NumberTable("Search against routes that know no answer", about, columns, tuple(rows))


def _selector_table(audited: AuditRun) -> NumberTable:
    columns = (
        *("Selector", "Probe", "Kind", "Right", "95%", "To deployed", "95%", "Of the gain", "95%"),
        *("Made wrong", "Gained", "Lost", "p", "p (Holm)"),
    )
    rows = [
        (
            row["selector"],
            audited.probes[row["probe"]].title,
            row["family"],
            theme.fraction(row["accuracy"]),
            theme.interval(row["low"], row["high"]),
            theme.signed(row["difference"]),
            _signed((row["difference_low"], row["difference_high"])),
            theme.signed(row["recovered"]),
            _signed((row["recovered_low"], row["recovered_high"])),
            theme.fraction(row["harm"]),
            _count(row["gained"]),
            _count(row["lost"]),
            _p(row["p"]),
            _p(row["p_holm"]),
        )
        for row in audited.selectors().sort("probe", maintain_order=True).iter_rows(named=True)
    ]
    about = (
        "A selector sees the attempts and not the gold answer. Of the gain: (selected - deployed) / "
        "(reached - deployed). Made wrong: share of right deployed answers that it turns wrong."
    )
    return NumberTable("What answer-blind selectors keep", about, columns, tuple(rows))


def _signed(interval: tuple[float | None, float | None]) -> str:
    low, high = interval
    return "" if low is None or high is None else f"[{theme.signed(low)}, {theme.signed(high)}]"


def _count(value: int | None) -> str:
    return "–" if value is None else str(value)


def _p(value: float | None) -> str:
    return "–" if value is None else ("< 0.0001" if value < 0.0001 else f"{value:.4f}")
