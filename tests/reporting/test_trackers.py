"""Trackers write what is in the records and nothing else; the files are read back with TensorBoard's own reader."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sordino.errors import ConfigError
from sordino.reporting import read_run
from sordino.reporting.trackers import TRACKERS, Tracked, Tracker, tracked


def values(folder: Path) -> Iterator[tuple[str, int, float | str]]:
    """Every value in the event files of a folder."""
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

    for file in sorted(folder.iterdir()):
        for event in LegacyEventFileLoader(str(file)).Load():
            for value in event.summary.value:
                text = value.tensor.string_val
                yield value.tag, event.step, text[0].decode() if text else value.simple_value


def test_the_event_files_hold_the_records(runs: dict[str, Path], tmp_path: Path) -> None:
    run = read_run(runs["sound"])
    target = TRACKERS.get("tensorboard")().write(tracked(run), tmp_path)
    assert target == tmp_path / "sound"
    written = {(tag, step): value for tag, step, value in values(target)}
    for number, rate in run.rates:
        assert written["wer", number] == pytest.approx(rate.wer)
        assert rate.ci95 is not None
        assert written["wer/ci95_low", number] == pytest.approx(rate.ci95[0])
    for line in run.rounds[1:]:
        assert line.telemetry is not None
        assert written["epsilon", line.number] == pytest.approx(line.epsilon)
        if line.telemetry.counted == 0:  # nobody was drawn, by chance, so there is nothing to tell of clients
            assert ("debug/loss", line.number) not in written
            continue
        assert written["debug/loss", line.number] == pytest.approx(line.telemetry.loss)
        assert written["debug/mean_norm/all", line.number] == pytest.approx(line.telemetry.blocks[0].mean_norm)
    assert run.statement is not None
    assert str(written["guarantee", 0]).strip() == run.statement.words
    assert len(written) == len(tracked(run).points) + 2


def test_private_telemetry_leaves_nothing_of_the_clients(runs: dict[str, Path], tmp_path: Path) -> None:
    target = TRACKERS.get("tensorboard")().write(tracked(read_run(runs["private"])), tmp_path)
    tags = {tag for tag, _, _ in values(target)}
    assert tags == {"wer", "wer/ci95_low", "wer/ci95_high", "epsilon", "config", "guarantee"}


def test_writing_again_replaces(runs: dict[str, Path], tmp_path: Path) -> None:
    for _ in range(2):
        target = TRACKERS.get("tensorboard")().write(tracked(read_run(runs["private"])), tmp_path)
        (target / "notes.txt").write_text("kept")
    assert sorted(path.suffix for path in target.iterdir()) == [".sordino", ".txt"]


def test_a_tracker_of_ones_own_sees_curves_and_texts_only(
    runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TRACKERS, "_members", {**TRACKERS._all()})  # forgets it again

    @dataclass(frozen=True)
    class Lines(Tracker):
        def write(self, run: Tracked, folder: Path) -> Path:
            (folder / "lines.txt").write_text("\n".join(f"{point.name} {point.value}" for point in run.points))
            return folder / "lines.txt"

    TRACKERS.register("test-lines")(Lines)
    written = TRACKERS.get("test-lines")().write(tracked(read_run(runs["none"])), tmp_path)
    assert "wer " in written.read_text()
    assert "epsilon" not in written.read_text()


def test_an_unknown_tracker_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'tensorboard'"):
        TRACKERS.get("tensorbord")
