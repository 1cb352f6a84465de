"""The page: self-contained, equal to the records, honest about every kind of run, harmless whatever names it shows."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from reading_back import Page, assert_sound

from sordino.errors import ConfigError, DataError
from sordino.experiments import load_experiment, run_federated
from sordino.reporting import write_report

HOSTILE = ["<script>alert(1)</script>", r"$\frac{1}{0}$", '"><img src=x onerror=alert(1)>', "日本語の話者", "a & b"]


def report(path: Path, *folders: Path) -> Page:
    write_report(folders, path)
    page = Page(path)
    assert_sound(page)
    return page


def percent(fraction: float) -> str:
    return f"{100 * fraction:.1f} %"


def test_a_run_with_its_own_figures(runs: dict[str, Path], page: Callable[..., Page]) -> None:
    folder, found = runs["sound"], page("sound")
    result = json.loads((folder / "result.json").read_text())
    statement = json.loads((folder / "privacy.json").read_text())
    wer = result["wer"]
    assert f"{percent(wer['before'])}→{percent(wer['after'])}" in found.text
    assert f"{100 * wer['ci95'][0]:.1f} to {percent(wer['ci95'][1])}" in found.text
    assert f"on {wer['test_is']}" in found.text
    for speaker, counts in result["report"]["by_speaker"].items():
        assert speaker in found.text
        assert percent(counts["wer"]) in found.text
    assert statement["words"] in found.text
    assert f"{math.ceil(100 * statement['epsilon']['pld']) / 100:.2f} at delta 1e-05" in found.text
    for accountant in ("pld", "rdp"):
        assert f"{statement['epsilon'][accountant]:.4g}" in found.text
    assert "Differential privacy." in found.text
    for name, number in result["versions"].items():
        assert f"{name} {number}" in found.text
    assert (folder / "config.toml").read_text().split() == found.text[found.text.index('task = "federated"') :].split()[
        : len((folder / "config.toml").read_text().split())
    ]
    shown = {figure["figcaption"].split(".")[0] for figure in found.figures}
    assert {"Word error rate by round", "Word error rate by speaker", "Epsilon by round"} <= shown
    assert {"Training loss by round", "Clip rate by round", "Clip ratio by round", "Update norms by round"} <= shown
    assert {"Update norms by part", "Signal to noise by round"} <= shown


def test_a_run_above_epsilon_20_is_never_called_private(page: Callable[..., Page]) -> None:
    found = page("weak")
    assert found.text.count("A guarantee in name only.") == 2
    assert "Differential privacy." not in found.text
    assert "On average" not in found.text
    assert "almost 100 % sure" in found.text


def test_a_run_without_privacy(page: Callable[..., Page]) -> None:
    found = page("none")
    assert "Epsilonnone" in found.text.replace(" ", "")
    assert "No privacy guarantee." in found.text
    assert "Nothing limits what somebody could learn" in found.text
    assert "Differential privacy." not in found.text


def test_private_telemetry_shows_nothing_of_the_clients(page: Callable[..., Page]) -> None:
    found = page("private")
    for word in ("Debug telemetry", "Training loss", "Clip rate", "Update norms", "clients were drawn"):
        assert word not in found.text


def test_an_unfinished_run(unfinished: Path, tmp_path: Path) -> None:
    page = report(tmp_path / "report.html", unfinished)
    assert "Unfinished. 2 of 3 rounds are recorded." in page.text
    assert f"sordino run --resume --out {unfinished}" in page.text
    assert "differential privacy for each speaker" in page.text
    assert "The last measurement so far" in page.text


def test_a_run_that_has_only_begun(copied: Callable[[str], Path], tmp_path: Path) -> None:
    folder = copied("sound")
    for path in folder.iterdir():
        if path.name != "config.toml":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    page = report(tmp_path / "report.html", folder)
    assert "Nothing has been recorded yet" in page.text
    assert "nothing is promised" in page.text
    assert "No word error rate has been recorded" in page.text


def test_error_rates_of_training_speakers_are_not_shown(data_root: Path, tmp_path: Path) -> None:
    for split, take in (("train", "00"), ("test", "01")):
        lines = [
            {
                "audio_filepath": f"{data_root}/fsdd/{speaker}/{digit}_{take}.flac",
                "text": word,
                "speaker": speaker,
                "duration": 0.3,
            }
            for digit, word in enumerate(("zero", "one"))
            for speaker in ("s1", "s2")
        ]
        (tmp_path / f"{split}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    file = tmp_path / "digits.toml"
    file.write_text(
        """
        [data]
        corpus = { method = "manifest", train = "train.jsonl", test = "test.jsonl" }
        [federated]
        rounds = 1
        cohort = { method = "poisson", rate = 0.5 }
        local = { epochs = 1, lr = 1e-3, batch_size = 8 }
        [privacy]
        noise_multiplier = 1.0
        [simulation]
        threads = 1
        """
    )
    run_federated(load_experiment(file), tmp_path / "digits")
    page = report(tmp_path / "report.html", tmp_path / "digits")
    assert "not shown" in page.text
    assert "outside the guarantee" in page.text
    assert "No word error rate has been recorded." in page.text


def test_a_run_that_stopped_early_and_a_seeded_one_say_so(copied: Callable[[str], Path], tmp_path: Path) -> None:
    folder = copied("sound")
    change(folder / "result.json", stopped="stopped after round 2 of 3: the budget does not cover more")
    change(folder / "privacy.json", seeded=True)
    page = report(tmp_path / "report.html", folder)
    assert "Ended early. stopped after round 2 of 3" in page.text
    assert "A seeded simulation." in page.text
    assert "Differential privacy." not in page.text


def change(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_names_from_files_are_only_ever_text(copied: Callable[[str], Path], tmp_path: Path) -> None:
    folder = copied("sound")
    for name in ("before", "after"):
        path = folder / "transcripts" / f"{name}.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for index, line in enumerate(lines):
            line["speaker"] = line["language"] = HOSTILE[index % len(HOSTILE)]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    change(folder / "result.json", versions={"<script>": "</style><script>1</script>"})
    (folder / "config.toml").write_text(
        (folder / "config.toml").read_text().replace('"synthetic-voices"', '"</pre><script>1</script>"')
    )
    page = report(tmp_path / "report.html", folder)
    for name in HOSTILE:
        assert name in page.drawn
        assert page.text.count(name) >= 3  # in the figure, in the table, in an example


def test_several_runs_side_by_side(runs: dict[str, Path], page: Callable[..., Page]) -> None:
    found = page("sound", "weak", "none")
    results = {name: json.loads((runs[name] / "result.json").read_text()) for name in ("sound", "weak", "none")}
    for result in results.values():
        assert percent(result["wer"]["after"]) in found.text
    points = 100 * (results["weak"]["wer"]["after"] - results["sound"]["wer"]["after"])
    assert f"{points:+.1f}".replace("-", "−") in found.text
    assert "A guarantee in name only" in found.text
    shown = {figure["figcaption"].split(".")[0] for figure in found.figures}
    assert shown == {"Word error rate by round", "Word error rate against epsilon", "Epsilon by round"}


def test_runs_on_different_clips_get_no_difference(
    runs: dict[str, Path], copied: Callable[[str], Path], tmp_path: Path
) -> None:
    other = copied("weak")
    path = other / "transcripts" / "after.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    page = report(tmp_path / "report.html", runs["sound"], other)
    assert "no difference is given, because the runs measured different clips" in page.text


def test_an_unfinished_run_beside_a_finished_one(runs: dict[str, Path], unfinished: Path, tmp_path: Path) -> None:
    page = report(tmp_path / "report.html", runs["weak"], unfinished)
    assert "(unfinished)" in page.text
    assert "kept no transcripts of a finished model" in page.text


def test_the_same_records_give_the_same_bytes(
    runs: dict[str, Path], written: Callable[..., Path], tmp_path: Path
) -> None:
    first = written("private")
    files = write_report([runs["private"]], tmp_path / "report.html", figures=tmp_path / "figures")
    assert {file.suffix for file in files} == {".svg", ".pdf"}
    for file in [tmp_path / "report.html", *files]:
        assert (first.parent / file.relative_to(tmp_path)).read_bytes() == file.read_bytes()


@pytest.mark.parametrize(
    "name", ["config.toml", "rounds.jsonl", "result.json", "privacy.json", "transcripts/after.jsonl"]
)
@pytest.mark.parametrize("content", ["nonsense\n", '{"a": 1}\n', "[1]\n"])
def test_a_damaged_file_is_named_and_nothing_is_written(
    name: str, content: str, copied: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = copied("sound")
    if name == "config.toml" and content != "nonsense\n":
        content = "= 1\n"
    (folder / name).write_text(content)
    with pytest.raises(DataError, match=name):
        write_report([folder], tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_a_folder_twice_or_without_a_run_is_refused(runs: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="named twice"):
        write_report([runs["sound"], runs["sound"] / ".." / "sound"], tmp_path / "report.html")
    with pytest.raises(ConfigError, match="no run folder"):
        write_report([tmp_path], tmp_path / "report.html")
    with pytest.raises(ConfigError, match="at least one"):
        write_report([], tmp_path / "report.html")


def test_making_a_report_imports_no_torch(runs: dict[str, Path], tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; import sordino.reporting, sordino.reporting.trackers as trackers\n"
        f"sordino.reporting.write_report([Path({str(runs['sound'])!r})], Path({str(tmp_path / 'r.html')!r}))\n"
        f"trackers.TRACKERS.get('tensorboard')().write(trackers.tracked(sordino.reporting.read_run("
        f"Path({str(runs['sound'])!r}))), Path({str(tmp_path / 'tb')!r}))\n"
        "print([name for name in ('torch', 'transformers', 'peft', 'matplotlib.pyplot') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr
