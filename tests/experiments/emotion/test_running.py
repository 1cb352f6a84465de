"""An emotion experiment from its file to a certificate that holds, on voices made of tones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tones import tones

from sordino.errors import ConfigError
from sordino.experiments import load_experiment
from sordino.modality import fingerprint
from sordino.modality.certificate import compose, issue_certificate
from sordino.modality.verification import read_certificate, verify_certificate
from sordino.models.emotion.storage import load_network, save_network
from sordino.privacy import Ledger, PlainRelease, read_ledger, statement_of_run
from sordino.privacy.events import GaussianRelease, PoissonGaussian
from sordino.records import RunFolder
from sordino.reporting.summaries import summarise

FILE = """
task = "emotion"
telemetry = "debug"
[data]
corpus = { method = "manifest", train = "all.jsonl", held_out = 0.4 }
public_speakers = 2
[model]
modalities = ["prosody", "speech"]
speech_layers = 1
branch = { hidden = 8 }
[modality]
withdrawn = "speech"
local = { epochs = 12, lr = 1e-2, batch_size = 8 }
[evaluation]
tested_folds = 2
[simulation]
threads = 1
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tones(tmp_path_factory.mktemp("corpus"), FILE)


def run(file: Path, folder: Path, *overrides: str) -> dict[str, Any]:
    return load_experiment(file, overrides).run(folder)


@pytest.fixture(scope="module")
def surgery(file: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("runs") / "surgery"
    return folder, run(file, folder, 'modality.mode={method="surgery",epsilon=2.0}')


@pytest.fixture(scope="module")
def deletion(file: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("runs") / "delete"
    private = ('telemetry="private"', "evaluation.tested_folds=1")
    return folder, run(file, folder, 'modality.mode="delete"', *private)


def checks(folder: Path, **changed: Any) -> dict[str, bool]:
    certificate = read_certificate(folder / "certificate.json") | changed
    return {check.name: check.holds for check in verify_certificate(certificate, RunFolder.open(folder))}


def test_every_mask_is_scored_and_the_modality_tells_the_emotion(surgery: tuple[Path, dict[str, Any]]) -> None:
    folder, result = surgery
    assert list(result["masks"]) == ["prosody+speech", "prosody", "speech"]
    assert result["masks"]["prosody"] == result["before"]["prosody"] | {
        key: result["masks"]["prosody"][key] for key in ("change", "change_ci95")
    }
    assert result["before"]["prosody+speech"]["accuracy"] > 0.7
    for name, change in result["against_before"].items():
        rise = result["masks"][name]["accuracy"] - result["before"][name]["accuracy"]
        assert change["accuracy"] == pytest.approx(rise)
        assert change["ci95"][0] <= change["accuracy"] <= change["ci95"][1]
    assert result["against_before"]["prosody"] == {"accuracy": 0, "ci95": [0, 0]}, (
        "surgery leaves the other branch alone"
    )
    assert result["certificate"] == {
        "epsilon": pytest.approx(2.0, rel=1e-4),
        "delta": 1e-5,
        "mode": "surgery",
        "guarantee": True,
    }
    assert result["certificate"]["epsilon"] <= 2.0
    assert result["statement"] == statement_of_run(folder).words
    assert "accuracies before the withdrawal" in result["statement"]
    kept = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    assert {key: kept[key] for key in result} == json.loads(json.dumps(result))


def test_a_certificate_holds_for_its_run(surgery: tuple[Path, dict[str, Any]], deletion: tuple[Path, Any]) -> None:
    for folder in (surgery[0], deletion[0]):
        assert all(checks(folder).values())
        assert "certificate" in (folder / "certificate.html").read_text(encoding="utf-8")
    assert {"noise", "charges for each part"} <= set(checks(surgery[0]))
    assert {"deleted branch", "never-exposed twin"} <= set(checks(deletion[0]))


def test_deletion_is_certified_at_epsilon_0_and_shows_nothing_of_before(deletion: tuple[Path, dict[str, Any]]) -> None:
    folder, result = deletion
    certificate = read_certificate(folder / "certificate.json")
    assert (certificate["epsilon"], certificate["delta"], certificate["charges"]) == (0.0, 0.0, 0)
    assert certificate["hashes"]["after"] == certificate["hashes"]["never_exposed"]
    assert certificate["hashes"]["before"] is None
    assert certificate["tests"]["kept_equals_never_exposed"]
    network, classes = load_network(folder / "model")
    assert network.modalities == ("prosody",)
    assert classes == ("gladness", "sadness")
    assert result["before"] is None
    assert result["attacks"] is None
    assert result["masks"]["prosody+speech"]["accuracy"] == result["masks"]["prosody"]["accuracy"]
    assert "the 0 rounds" not in result["statement"]


@pytest.mark.parametrize(
    ("changed", "check"),
    [
        ({"epsilon": 1.5}, "epsilon"),
        ({"epsilon": None}, "epsilon"),
        ({"delta": 1e-9}, "epsilon"),
        ({"statement": "It is all quite private."}, "statement"),
        ({"charges": 2}, "ledger"),
    ],
)
def test_a_changed_certificate_does_not_hold(
    surgery: tuple[Path, dict[str, Any]], changed: dict[str, Any], check: str
) -> None:
    found = checks(surgery[0], **changed)
    assert not found.pop(check)
    assert all(found.values())


def test_less_noise_than_was_charged_is_seen(surgery: tuple[Path, dict[str, Any]]) -> None:
    certificate = read_certificate(surgery[0] / "certificate.json")
    mechanism = certificate["mechanism"]
    quieter = [part | {"noise_multiplier": part["noise_multiplier"] / 2} for part in mechanism["parts"]]
    found = checks(surgery[0], mechanism=mechanism | {"parts": quieter})
    assert not found["noise"]
    assert not found["charges for each part"]


def test_another_network_or_a_later_surgery_is_seen(file: Path, tmp_path: Path) -> None:
    run(file, tmp_path / "run", 'modality.mode={method="surgery"}', "evaluation.tested_folds=1")
    folder = RunFolder.open(tmp_path / "run")
    network, classes = load_network(folder.model)
    before = fingerprint(network)
    network.branch("prosody").features.weight.data += 1e-7
    assert fingerprint(network) != before
    save_network(network, folder.model, classes=classes)
    found = checks(folder.path)
    assert not found["released network"]
    assert not found["modalities that stay"]
    terms, charges = read_ledger(folder.ledger)
    with Ledger(folder.ledger, terms=terms) as ledger:
        ledger.charge(charges[0].event, round=9)
    assert not checks(folder.path)["ledger"]
    again = issue_certificate(folder)
    assert again["charges"] == len(charges) + 1
    assert again["epsilon"] > read_certificate(folder.path / "certificate.json")["epsilon"]


def test_a_finished_run_is_not_released_again_and_an_interrupted_one_pays_again(file: Path, tmp_path: Path) -> None:
    overrides = ('modality.mode={method="surgery",epsilon=1.0}', "evaluation.tested_folds=1")
    experiment = load_experiment(file, overrides)
    first = experiment.run(tmp_path / "run")
    charges = len(read_ledger(tmp_path / "run" / "ledger.jsonl")[1])
    again = experiment.run(tmp_path / "run", resume=True)
    assert again["certificate"] == first["certificate"]
    assert len(read_ledger(tmp_path / "run" / "ledger.jsonl")[1]) == charges
    (tmp_path / "run" / "result.json").unlink()
    paid_twice = experiment.run(tmp_path / "run", resume=True)
    assert len(read_ledger(tmp_path / "run" / "ledger.jsonl")[1]) == 2 * charges
    assert paid_twice["certificate"]["epsilon"] > 1.3
    with pytest.raises(ConfigError, match="choose another --out"):
        experiment.run(tmp_path / "run")


def test_attacks_fail_after_deletion(file: Path, tmp_path: Path) -> None:
    small = (
        "modality.local.epochs=1",
        "evaluation.tested_folds=1",
        "evaluation.attacks=true",
        'modality.mode="delete"',
    )
    result = run(file, tmp_path / "run", *small)
    attacks = result["attacks"]
    assert attacks["presence"]["after"]["success"] == 0.5
    low, high = attacks["presence"]["after"]["ci95"]
    assert low < 0.5 < high
    assert attacks["presence"]["before"]["success"] >= 0.5
    assert attacks["probe"]["after"] is None
    assert attacks["relearning"]["deleted"] == attacks["relearning"]["fresh"]
    assert [table.name for table in summarise(RunFolder.open(tmp_path / "run")).tables] == ["masks", "attacks"]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (['modality.training="joint"'], "all branches have learnt from speech"),
        (['modality.withdrawn="face"'], r"modality\.withdrawn"),
        (['model.modalities=["speech"]'], "nothing would be left without speech"),
        (['telemetry="private"'], "nothing was charged for"),
        (['modality.mode={method="dp"}'], "scaled by the speaker's other"),
        (["data.public_speakers=4"], "of 4 training speakers"),
        (['model.modalities=["speech","pulse"]'], r"model\.modalities"),
    ],
)
def test_what_could_not_hold_is_refused(file: Path, tmp_path: Path, overrides: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        run(file, tmp_path / "run", "evaluation.folds=3", *overrides)


def test_joint_training_is_for_the_published_recipe_and_guarantees_nothing(file: Path, tmp_path: Path) -> None:
    result = run(
        file, tmp_path / "run", 'modality.training="joint"', 'modality.mode="as-published"', "evaluation.tested_folds=1"
    )
    assert result["certificate"]["epsilon"] is None
    assert not result["certificate"]["guarantee"]
    assert result["statement"].startswith("No privacy guarantee")
    assert not checks(tmp_path / "run")["modalities that stay"]
    assert any("not a guarantee" in sentence for sentence in summarise(RunFolder.open(tmp_path / "run")).sentences)


def test_composition_is_stated_for_unsampled_gaussians_only() -> None:
    gaussians = [GaussianRelease(noise_multiplier=z) for z in (5.1665, 12.45)]
    found = compose(gaussians)
    assert found is not None
    assert found["rho"] == pytest.approx(0.5 / 5.1665**2 + 0.5 / 12.45**2)
    assert compose([PoissonGaussian(noise_multiplier=1.0, rate=1.0)]) is not None
    assert compose([PoissonGaussian(noise_multiplier=1.0, rate=0.5)]) is None
    assert compose([PlainRelease(what="it")]) is None
    assert compose([]) is None
