"""The records of a run as one value: all that reports, figures and trackers may show.

Nothing here is computed anew except what the transcripts and the ledger imply, so private telemetry stays private by
construction: what was not recorded cannot be shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sordino.evaluation import Sample, WerReport, score
from sordino.privacy.statement import Statement
from sordino.reporting.telemetry import Telemetry
from sordino.seeds import Seeds

__all__ = ["Rate", "Result", "Round", "Run"]


@dataclass(frozen=True, slots=True)
class Rate:
    """A word error rate, a fraction, with its 95 % interval where there is one."""

    wer: float
    ci95: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One line of ``rounds.jsonl``. Round 0 is the untouched model.

    Attributes:
        wer: word error rate after the round, if it was measured.
        epsilon: guaranteed so far, if anything is.
        telemetry: in debug runs only.
    """

    number: int
    wer: Rate | None
    epsilon: float | None
    telemetry: Telemetry | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a finished run says of itself in ``result.json``.

    Attributes:
        wer: word error rate of the finished model; None where showing it would be outside the guarantee.
        test_is: whose speech ``wer`` is measured on.
        seen: the rate on held-out clips of training speakers, in debug runs that have them.
        stopped: why the run ended before its last round; empty if it did not.
        seconds: how long it took; None under private telemetry.
        versions: of what computed it.
    """

    wer: Rate | None
    test_is: str
    seen: Rate | None
    stopped: str
    seconds: float | None
    versions: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Run:
    """The records of one run.

    Attributes:
        label: what the run is called beside others.
        path: its folder.
        config: the resolved experiment, and as text.
        rounds: the rounds so far.
        statement: ``privacy.json``; of an unfinished run, the same computed from its ledger; None where there is none.
        result: ``result.json``; None until the run has finished.
        before: transcripts of the untouched model; empty if none were kept, like ``after`` and ``seen``.
    """

    label: str
    path: Path
    config: Mapping[str, Any]
    config_text: str
    rounds: Sequence[Round]
    statement: Statement | None
    result: Result | None
    before: Sequence[Sample]
    after: Sequence[Sample]
    seen: Sequence[Sample]

    def option(self, *keys: str, default: Any = None) -> Any:
        """A value of the config by its path of keys; ``default`` where this task has no such key."""
        value: Any = self.config
        for key in keys:
            if not isinstance(value, Mapping) or key not in value:
                return default
            value = value[key]
        return value

    @property
    def task(self) -> str:
        """What kind of experiment it is."""
        return str(self.option("task", default="federated"))

    @property
    def num_rounds(self) -> int:
        """Rounds done."""
        return max((line.number for line in self.rounds), default=0)

    @property
    def planned_rounds(self) -> int | None:
        """Rounds that the config asks for."""
        planned = self.option("federated", "rounds")
        return planned if isinstance(planned, int) else None

    @property
    def rate_before(self) -> Rate | None:
        """Word error rate of the untouched model."""
        return self.rounds[0].wer if self.rounds and self.rounds[0].number == 0 else None

    @property
    def rate_after(self) -> Rate | None:
        """Word error rate of the finished model."""
        return None if self.result is None else self.result.wer

    @property
    def rates(self) -> Sequence[tuple[int, Rate]]:
        """Every measured round with its rate; the finished model is the last round."""
        measured = {line.number: line.wer for line in self.rounds if line.wer is not None}
        if self.rate_after is not None:
            measured[self.num_rounds] = self.rate_after
        return sorted(measured.items())

    @property
    def latest(self) -> Rate | None:
        """The newest rate after the start: the finished model's, or that of the last measured round."""
        return next((rate for number, rate in reversed(self.rates) if number > 0), None)

    @property
    def observed(self) -> Sequence[tuple[int, Telemetry]]:
        """The rounds of which debug telemetry says something, that is, in which somebody took part."""
        told = ((line.number, line.telemetry) for line in self.rounds)
        return [(number, telemetry) for number, telemetry in told if telemetry is not None and telemetry.counted]

    @property
    def test_is(self) -> str:
        """Whose speech the rates are measured on."""
        return "" if self.result is None else self.result.test_is

    @cached_property
    def epsilon(self) -> float | None:
        """The least proven epsilon for the protected unit; None without one."""
        return self.epsilon_for(self.unit)

    def epsilon_for(self, unit: str) -> float | None:
        """The least proven epsilon for ``client`` or ``speaker``; None where there is none or the unit is not counted."""
        figures = {} if self.statement is None else self.statement.by_unit.get(unit, {})
        proven = (figures.get(name) for name in ("pld", "rdp"))
        return min((value for value in proven if isinstance(value, float)), default=None)

    @property
    def unit(self) -> str:
        """Whom the guarantee protects: ``speaker`` or ``client``; empty where nothing is promised."""
        return "" if self.statement is None else self.statement.terms.unit

    @cached_property
    def report_before(self) -> WerReport | None:
        """Counts behind ``rate_before``, from the transcripts."""
        return self._scored(self.before)

    @cached_property
    def report_after(self) -> WerReport | None:
        """Counts behind ``rate_after``, from the transcripts."""
        return self._scored(self.after)

    @property
    def bootstrap(self) -> Seeds:
        """The draws that the run's own intervals came from."""
        return Seeds(int(self.option("seed", default=0))).at("bootstrap")

    def _scored(self, samples: Sequence[Sample]) -> WerReport | None:
        return score(samples, seeds=self.bootstrap) if samples else None
