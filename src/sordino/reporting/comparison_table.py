"""The table of a comparison: a row a variant, with everything that a reader weighs against the error rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from sordino.privacy.statement import MEANINGFUL
from sordino.reporting.comparison import Comparison, Variant
from sordino.reporting.differences import PairedTest
from sordino.reporting.formatting import DASH, number, p_value, points, rounded_up
from sordino.reporting.runs import Rate
from sordino.reporting.tables import Cell, Column, Table

__all__ = ["comparison_table"]

_NOTHING = Cell(DASH)
_Column: TypeAlias = tuple[Column, Callable[[Variant], Cell]]


def comparison_table(comparison: Comparison) -> Table:
    """The rows in the order asked for, after that of the untouched model if all runs start from the same."""
    columns = list(_columns(comparison))
    rows = [[cell(variant) for _, cell in columns] for variant in comparison.variants]
    if comparison.rate_before is not None:
        untouched = [Cell("before adapting"), _rate(comparison.rate_before)]
        rows.insert(0, [*untouched, *[_NOTHING] * (len(columns) - 2)])
    return Table(name="table", columns=[column for column, _ in columns], rows=rows, note=_note(comparison))


def _columns(comparison: Comparison) -> Sequence[_Column]:
    """Heads, and how each cell is read off a variant. Columns that would be empty throughout are left out."""
    variants, reference = comparison.variants, comparison.reference
    start: list[_Column] = [(Column("variant", numeric=False), lambda variant: Cell(variant.label))]
    if comparison.rate_before is None and any(variant.rate_before for variant in variants):
        start.append((Column("before, WER %"), lambda variant: _rate(variant.rate_before)))
    return [
        *start,
        (Column("WER %"), _after),
        (Column(f"points to {reference}"), lambda variant: _difference(variant, reference)),
        *([(Column("p, corrected"), _test)] if any(variant.difference.test for variant in variants) else []),
        *([(Column("WER % seen"), _seen)] if any(variant.seen for variant in variants) else []),
        *([(Column("single seeds"), _seeds)] if len(comparison.seeds) > 1 else []),
        *[(Column(f"epsilon for each {unit}"), _epsilon_of(unit)) for unit in _units(comparison)],
        (Column("z"), lambda variant: Cell(number(variant.noise_multiplier))),
        (Column("rounds"), lambda variant: _range([run.num_rounds for run in variant.runs.values()])),
        (
            Column("seconds"),
            lambda variant: _range([t for run in variant.runs.values() if run.result and (t := run.result.seconds)]),
        ),
    ]


def _rate(rate: Rate | None) -> Cell:
    if rate is None:
        return _NOTHING
    detail = "" if rate.ci95 is None else f"{100 * rate.ci95[0]:.1f} to {100 * rate.ci95[1]:.1f}"
    return Cell(f"{100 * rate.wer:.1f}", detail)


def _after(variant: Variant) -> Cell:
    failed = len(variant.failures)
    if not variant.runs:
        return Cell("failed")
    cell = _rate(variant.rate_after)
    return Cell(cell.text, "; ".join(part for part in (cell.detail, f"{failed} failed" if failed else "") if part))


def _difference(variant: Variant, reference: str) -> Cell:
    if variant.label == reference:
        return Cell("reference")
    difference = variant.difference
    if difference.points is None:
        return _NOTHING
    bounds = difference.interval.bounds
    detail = "" if bounds is None else f"{points(bounds[0])} to {points(bounds[1])}"
    return Cell(points(difference.points), detail, strong=difference.clear)


def _test(variant: Variant) -> Cell:
    test = variant.difference.test
    if test is None:
        return _NOTHING
    alone = f"alone {p_value(test.flips.p)}" if test.num_tests > 1 else ""
    return Cell(p_value(test.p_holm), alone if test.can_reject else "cannot reject")


def _seen(variant: Variant) -> Cell:
    return _rate(variant.seen)


def _seeds(variant: Variant) -> Cell:
    rates = [f"{100 * wer:.1f}" for wer in variant.by_seed.values()]
    if len(rates) <= 3:
        return Cell(", ".join(rates) or DASH)
    return Cell(f"{min(rates, key=float)} to {max(rates, key=float)}", f"{len(rates)} seeds")


def _units(comparison: Comparison) -> Sequence[str]:
    """Every unit that some run states a figure for, the protected one first."""
    statements = [run.statement for variant in comparison.finished for run in variant.runs.values() if run.statement]
    protected = [statement.terms.unit for statement in statements]
    return list(dict.fromkeys([*protected, *(unit for statement in statements for unit in statement.by_unit)]))


def _epsilon_of(unit: str) -> Callable[[Variant], Cell]:
    def cell(variant: Variant) -> Cell:
        if not variant.runs:
            return _NOTHING
        figures = [run.epsilon_for(unit) for run in variant.runs.values()]
        known = [figure for figure in figures if figure is not None]
        if not known or len(known) < len(figures):
            return Cell("none")
        return Cell(rounded_up(max(known)), "in name only" if max(known) > MEANINGFUL else "")

    return cell


def _range(values: Sequence[float]) -> Cell:
    if not values:
        return _NOTHING
    low, high = number(round(min(values), 1)), number(round(max(values), 1))
    return Cell(low if low == high else f"{low} to {high}")


def _note(comparison: Comparison) -> str:
    whose = comparison.test_is or "the test clips"
    seeds = ", ".join(map(str, comparison.seeds))
    pooled = f"pooled over seeds {seeds}" if len(comparison.seeds) > 1 else f"seed {seeds}"
    parts = [
        f"WER: word error rate on {whose}, {pooled}, with a 95 % bootstrap interval over speakers.",
        f"Points: how many percentage points more than {comparison.reference}, with a paired 95 % interval over the same "
        "speakers; bold where zero lies outside.",
    ]
    parts += _note_on_tests([test for variant in comparison.variants if (test := variant.difference.test)])
    if any(variant.seen for variant in comparison.variants):
        parts.append("Seen: on held-out clips of training speakers, which is outside the guarantee.")
    if any((variant.epsilon or 0) > MEANINGFUL for variant in comparison.variants):
        parts.append("In name only: an epsilon that protects nobody.")
    return " ".join(parts)


def _note_on_tests(tests: Sequence[PairedTest]) -> Sequence[str]:
    if not tests:
        return []
    together = f", with Holm's correction for {tests[0].num_tests} variants" if tests[0].num_tests > 1 else ""
    parts = [f"p: exact sign-flip test over speakers{together}; it has no part in what is bold."]
    unable = next((test for test in tests if not test.can_reject), None)
    if unable is not None:
        least = p_value(min(1.0, unable.num_tests * unable.flips.least_p))
        parts.append(
            f"Cannot reject: with {unable.flips.num_speakers} test speakers no result could have a p below {least}, so a "
            "large one is no sign of equality."
        )
    return parts
