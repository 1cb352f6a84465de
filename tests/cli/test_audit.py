"""`sordino audit`: what scripts rely on, and what a user's mistakes are answered with."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest
from calling import sordino

from sordino.cli.audit import audit
from sordino.experiments import auditing
from sordino.experiments.auditing import AuditSize
from sordino.privacy import NoiseSource
from sordino.seeds import Seeds

EXAMPLE = Path(__file__).parents[2] / "examples" / "pocket-audit.toml"
SETTINGS = ("--set", "privacy.noise_multiplier=4", "--set", "privacy.delta=1e-6", "--set", "simulation.seeded=true")


@pytest.mark.slow
def test_a_run_is_audited_and_its_folder_left_alone(small: Path, tmp_path: Path) -> None:
    sordino("run", small, *SETTINGS, "--out", tmp_path / "run")
    before = {path.name for path in (tmp_path / "run").rglob("*")}
    done = sordino("audit", tmp_path / "run", "--canaries", "20", "--out", tmp_path / "audit", "--json")
    result = json.loads(done.stdout)
    assert result["epsilon"]["claimed"] > result["epsilon"]["lower_bound"] >= 0
    for attack in result["attacks"].values():
        assert attack["ci95"][0] <= attack["success"] <= attack["ci95"][1]
        assert 0 < attack["chance"] < 1
    assert "plant more canaries" in done.stderr
    assert {path.name for path in (tmp_path / "run").rglob("*")} == before
    assert (tmp_path / "audit" / "report.html").is_file()
    sordino("report", tmp_path / "audit", "--out", tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text() == (tmp_path / "audit" / "report.html").read_text()


@pytest.mark.slow
def test_the_example_stands_and_falls_with_its_noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def out(name: str) -> tuple[str, ...]:
        return ("--out", str(tmp_path / name), "--set", "simulation.seeded=true", "--json")

    sound = json.loads(sordino("audit", EXAMPLE, *out("sound")).stdout)
    assert sound["epsilon"]["lower_bound"] < sound["epsilon"]["claimed"] == pytest.approx(1, abs=1e-3)
    assert sound["power"]["noise_factor"] >= 0.1

    assemble = auditing.assemble

    def tampered(*arguments: object, **options: object) -> object:
        parts = assemble(*arguments, **options)  # type: ignore[arg-type]
        object.__setattr__(parts, "noise", SameNoise(Seeds(0)))
        return parts

    monkeypatch.setattr(auditing, "assemble", tampered)
    done = sordino("audit", EXAMPLE, *out("broken"), check=1)
    assert json.loads(done.stdout)["epsilon"]["refuted"]
    assert "THE CLAIM IS REFUTED" in done.stderr
    assert "The claim is refuted." in (tmp_path / "broken" / "report.html").read_text()


class SameNoise(NoiseSource):
    """The noise of every round is that of the first."""

    def stream(self, *place: str | int):  # type: ignore[no-untyped-def]
        return super().stream(*(("noise", 1) if place[0] == "noise" else place))


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (("nowhere.toml",), "nowhere.toml"),
        (("{small}", "--canaries", "3"), "expected at least 16"),
        (("{small}", "--clients", "-1"), "expected at least 0"),
        (("{folder}",), "is no run folder"),
        (("{small}", "--canaries", "60000"), "plant fewer"),
    ],
)
def test_a_mistake_is_one_sentence(arguments: tuple[str, ...], answer: str, small: Path, tmp_path: Path) -> None:
    named = [text.format(small=small, folder=tmp_path) for text in arguments]
    done = sordino("audit", *named, "--out", tmp_path / "audit", check=2)
    assert answer in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "audit").exists()


def test_the_defaults_are_those_of_the_code() -> None:
    given = inspect.signature(audit).parameters
    assert AuditSize(canaries=given["canaries"].default, clients=given["clients"].default) == AuditSize()
