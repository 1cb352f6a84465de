"""A comparison is its runs, paired and pooled; it goes on where it stopped and shows what failed."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from sordino.errors import ConfigError
from sordino.evaluation import Sample, WerReport, difference_interval, score, sign_flip
from sordino.experiments import load_experiment, run_federated
from sordino.experiments.comparison import Outcome, Variant, compare, variants
from sordino.experiments.verdicts import compare_outcomes
from sordino.records import RunFolder
from sordino.seeds import Seeds

SHARED = ["telemetry=debug", "data.corpus.seen_utterances_per_voice=1", "simulation.seeded=true", "federated.rounds=2"]


def report_of(folder: Path, name: str = "after") -> WerReport:
    run = RunFolder(folder)
    return score([Sample(**line) for line in run.read_lines(run.transcripts(name))], seeds=Seeds(0))


def test_rates_and_differences_are_those_of_the_runs(small: Path, tmp_path: Path) -> None:
    chosen = variants(["none", "auto"], {})
    result = compare(small, chosen, tmp_path / "c", seeds=[0, 1], overrides=SHARED)
    assert json.loads((tmp_path / "c" / "comparison.json").read_text()) == result
    rows = result["allocations"]
    runs = {name: [report_of(tmp_path / "c" / f"{name}-seed{seed}") for seed in (0, 1)] for name in ("none", "auto")}
    for name, reports in runs.items():
        assert rows[name]["by_seed"] == {str(seed): pytest.approx(r.wer) for seed, r in enumerate(reports)}
        assert rows[name]["wer"] == pytest.approx(sum(r.wer for r in reports) / 2)
        low, high = rows[name]["ci95"]
        assert low <= rows[name]["wer"] <= high
        assert rows[name]["seen"]["wer"] == pytest.approx(
            sum(report_of(tmp_path / "c" / f"{name}-seed{seed}", "seen").wer for seed in (0, 1)) / 2
        )
    assert rows["auto"]["difference"] == pytest.approx(rows["auto"]["wer"] - rows["none"]["wer"])
    assert rows["none"]["difference"] == 0
    assert rows["none"]["difference_ci95"] == [0, 0]
    both = [
        {
            speaker: sum((r.by_speaker[speaker] for r in rs[1:]), rs[0].by_speaker[speaker])
            for speaker in rs[0].by_speaker
        }
        for rs in (runs["auto"], runs["none"])
    ]
    wanted = difference_interval(*both, seeds=Seeds(0).at("comparison")).bounds
    assert rows["auto"]["difference_ci95"] == pytest.approx(list(wanted or ()))
    test = sign_flip(*both)
    assert rows["auto"]["difference_test"] == {
        "p": test.p, "p_holm": test.p, "num_tests": 1, "num_speakers": 3, "least_p": 0.25
    }  # fmt: skip
    assert rows["none"]["difference_test"] is None
    assert rows["none"]["epsilon"]["pld"] is None
    assert rows["auto"]["epsilon"]["pld"] > 0


def test_a_run_of_a_comparison_is_the_run_alone(small: Path, tmp_path: Path) -> None:
    """What is shared between runs leaves no trace in their results."""
    compare(small, variants(["flat", "dim"], {}), tmp_path / "c", seeds=[], overrides=[*SHARED, "seed=3"])
    alone = run_federated(load_experiment(small, [*SHARED, "privacy.allocation=dim", "seed=3"]), tmp_path / "alone")
    together = json.loads((tmp_path / "c" / "dim-seed3" / "result.json").read_text())
    assert {**together, "run": "", "seconds": 0, "versions": 0, "report": 0} == {
        **alone,
        "run": "",
        "seconds": 0,
        "versions": 0,
        "report": 0,
    }
    for name in ("before", "after", "seen"):
        lines = [(tmp_path / run / "transcripts" / f"{name}.jsonl").read_text() for run in ("alone", "c/dim-seed3")]
        assert lines[0] == lines[1]


def test_what_is_finished_stays_and_what_failed_is_shown(small: Path, tmp_path: Path) -> None:
    chosen = [Variant("good", ()), Variant("broke", ("privacy.epsilon=0.001",))]
    first = compare(small, chosen, tmp_path / "c", seeds=[0], overrides=SHARED)
    assert "BudgetExhausted" in first["allocations"]["broke"]["runs"][0]["failed"]
    assert first["allocations"]["broke"]["wer"] is None
    assert first["allocations"]["good"]["wer"] is not None
    stamp = (tmp_path / "c" / "good-seed0" / "result.json").stat().st_mtime_ns
    again = compare(small, chosen, tmp_path / "c", seeds=[0], overrides=SHARED)
    assert (tmp_path / "c" / "good-seed0" / "result.json").stat().st_mtime_ns == stamp
    assert again == first
    with pytest.raises(ConfigError, match="other settings than this comparison's"):
        compare(small, chosen, tmp_path / "c", seeds=[0], overrides=[*SHARED, "federated.rounds=1"])


def test_an_interrupted_run_is_resumed(small: Path, tmp_path: Path) -> None:
    class Stops:
        def note(self, text: str) -> None: ...

        def progress(self, progress: object) -> None:
            raise KeyboardInterrupt

    chosen = variants(["flat", "dim"], {})
    with pytest.raises(KeyboardInterrupt):
        compare(small, chosen, tmp_path / "c", seeds=[0], overrides=SHARED, observer=Stops())
    assert not (tmp_path / "c" / "comparison.json").exists()
    result = compare(small, chosen, tmp_path / "c", seeds=[0], overrides=SHARED)
    assert result["allocations"]["flat"]["rounds"] == [2]
    rounds = (tmp_path / "c" / "flat-seed0" / "rounds.jsonl").read_text().splitlines()
    assert [json.loads(line)["round"] for line in rounds] == [0, 1, 2]


def test_variants_are_the_product_of_what_varies() -> None:
    made = variants(["flat", "none"], {"model.train_encoder": ["true", "false"], "federated.local.epochs": ["1", "3"]})
    assert len(made) == 8
    assert made[1] == Variant(
        "flat, train_encoder = true, epochs = 3",
        ("privacy.allocation=flat", "model.train_encoder=true", "federated.local.epochs=3"),
    )
    assert made[4].overrides[0] == "privacy.mechanism=none"
    assert [variant.name for variant in variants([], {"federated.rounds": ["1", "2", "1"]})] == [
        "rounds = 1",
        "rounds = 2",
    ]


@pytest.mark.parametrize(
    ("allocations", "said"),
    [(["flatt", "dim"], "did you mean 'flat'"), (["flat"], "at least two"), ([], "at least two")],
)
def test_what_cannot_be_compared(allocations: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        variants(allocations, {})


def test_seeds_are_not_varied() -> None:
    """They would be overridden, and every variant be the same run."""
    with pytest.raises(ConfigError, match="--seeds"):
        variants([], {"seed": ["0", "1"]})


def test_two_variants_never_share_a_folder(small: Path, tmp_path: Path) -> None:
    chosen = variants([], {"model.decoder": ["a/b", "a b"]})
    with pytest.raises(ConfigError, match="would share the folder"):
        compare(small, chosen, tmp_path / "c", seeds=[0])
    assert not (tmp_path / "c").exists()


def kept(path: Path, clips: dict[str, tuple[str, str]], *, epsilon: float | None) -> RunFolder:
    """A finished run's records: each clip's key is its speaker's name and a letter."""
    folder = RunFolder(path)
    samples = [
        Sample(key=key, speaker=key[:-1], reference=said, hypothesis=heard) for key, (said, heard) in clips.items()
    ]
    folder.write_lines(folder.transcripts("after"), [asdict(sample) for sample in samples])
    folder.write_json(
        folder.result,
        {
            "wer": {"before": None, "test_is": "strangers"},
            "epsilon": {"pld": epsilon, "rdp": None},
            "noise_multiplier": 1.0,
            "rounds": 1,
            "seconds": 1.0,
        },
    )
    return folder


def test_only_the_same_clips_are_paired_and_the_weakest_seed_counts(tmp_path: Path) -> None:
    """Another window, say, may leave out clips that are too long for it, or whole speakers."""
    first, second = Variant("first", ()), Variant("second", ())
    clips = {"anna0": ("one two", "one two"), "ben0": ("three four", "three five")}
    fewer = {"anna0": ("one two", "one one")}
    other = {"anna0": ("one two", "one one"), "ben0": ("five six", "five six")}
    runs = [
        Outcome(first, 0, kept(tmp_path / "f0", clips, epsilon=3.0)),
        Outcome(first, 1, kept(tmp_path / "f1", clips, epsilon=4.0)),
        Outcome(second, 0, kept(tmp_path / "s0", fewer, epsilon=3.0)),
        Outcome(second, 1, kept(tmp_path / "s1", other, epsilon=None)),
    ]
    rows = compare_outcomes(runs, reference="first")["allocations"]
    assert rows["second"]["difference"] is None
    assert rows["second"]["wer"] == pytest.approx(2 / 6)
    assert rows["first"]["epsilon"]["pld"] == 4.0
    assert rows["second"]["epsilon"]["pld"] is None


def test_tests_are_corrected_for_the_variants_that_have_one(tmp_path: Path) -> None:
    """Seven speakers: better on all of them, 2/128, or on a single one, 1; a variant that failed is no test."""
    right = {f"s{i}0": ("one two", "one two") for i in range(7)}
    wrong = {key: (said, "one one") for key, (said, _) in right.items()}
    mixed = {**wrong, "s00": ("one two", "one two")}
    base, best, better, gone = (Variant(name, ()) for name in ("base", "best", "better", "gone"))
    runs = [
        Outcome(base, 0, kept(tmp_path / "a", {**wrong, "s00": ("one two", "two")}, epsilon=1.0)),
        Outcome(best, 0, kept(tmp_path / "b", right, epsilon=1.0)),
        Outcome(better, 0, kept(tmp_path / "c", mixed | {"s10": ("one two", "one")}, epsilon=1.0)),
        Outcome(gone, 0, RunFolder(tmp_path / "d"), error="gone"),
    ]
    rows = compare_outcomes(runs, reference="base")["allocations"]
    assert rows["best"]["difference_test"] == {
        "p": 2 / 128, "p_holm": 4 / 128, "num_tests": 2, "num_speakers": 7, "least_p": 1 / 64
    }  # fmt: skip
    assert rows["better"]["difference_test"]["p"] == rows["better"]["difference_test"]["p_holm"] == 1.0
    assert rows["base"]["difference_test"] is None
    assert rows["gone"]["difference_test"] is None


def test_an_unknown_reference_is_named(small: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'flat'"):
        compare(small, variants(["flat", "dim"], {}), tmp_path / "c", seeds=[0], reference="flt")
    assert not (tmp_path / "c").exists()
