"""Both halves of the app on a fake grid, with the pocket model and real settings: simulated, at sites, and resumed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from fake import FakeGrid, Node, serving
from flwr.app import Message, MessageType

from sordino.config import to_toml
from sordino.data import write_manifest
from sordino.errors import ConfigError, SordinoError
from sordino.experiments import load_experiment, run_federated
from sordino.experiments.on_flower.app import open_site, serve
from sordino.federated import ClientFailed, load_checkpoint
from sordino.flower import FlowerSettings
from sordino.privacy import read_ledger
from sordino.records import RunFolder

SEEDED = ("simulation.seeded=true",)


def settings_of(small: Path, out: Path, *overrides: str, **changes: Any) -> FlowerSettings:
    experiment = to_toml(load_experiment(small, overrides))
    return replace(FlowerSettings(experiment=experiment, out=str(out), wait_s=1, timeout_s=60), **changes)


def simulated(settings: FlowerSettings, nodes: int) -> FakeGrid:
    def node(part: int) -> Node:
        return serving(open_site, run_config=asdict(settings), **{"partition-id": part, "num-partitions": nodes})

    return FakeGrid({1000 - part: node(part) for part in range(nodes)})


def at_sites(settings: FlowerSettings, *manifests: Path) -> FakeGrid:
    return FakeGrid(
        {i: serving(open_site, run_config=asdict(settings), manifest=str(m)) for i, m in enumerate(manifests)}
    )


@pytest.fixture
def sites(small: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Manifests of two sites with two and four of the six voices; the test clips stand beside them."""
    splits = load_experiment(small).data.corpus.load(2.0)
    voices = sorted({u.speaker for u in splits.train})
    for name, whose in (("a", voices[:2]), ("b", voices[2:])):
        write_manifest(tmp_path / f"{name}.jsonl", [u for u in splits.train if u.speaker in whose])
    write_manifest(tmp_path / "test.jsonl", splits.test)
    return tmp_path / "a.jsonl", tmp_path / "b.jsonl"


def deployed(small: Path, out: Path, *overrides: str, **changes: Any) -> FlowerSettings:
    corpus = small.with_name("sites.toml")
    manifests = '{ method = "manifest", train = "nowhere.jsonl", test = "test.jsonl" }'
    corpus.write_text(f'extends = "{small.name}"\n[data]\ncorpus = {manifests}\n')
    return settings_of(corpus, out, *overrides, own_recordings=True, **changes)


def values(path: Path) -> torch.Tensor:
    from safetensors import safe_open

    with safe_open(RunFolder(path).checkpoint, framework="pt") as file:
        digest = file.metadata()["layout"]
    return load_checkpoint(RunFolder(path).checkpoint, digest=digest)[0].values


def charged(path: Path) -> list[int]:
    return [charge.round for charge in read_ledger(path / "ledger.jsonl")[1]]


class Dies(FakeGrid):
    """The server goes down as it sends the tasks of the second round."""

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        messages = list(messages)
        kinds = [message.metadata.message_type for message in self.sent]
        if MessageType.TRAIN in kinds and messages[0].metadata.message_type == MessageType.TRAIN:
            raise KeyboardInterrupt
        return super().push_messages(messages)


def test_a_server_that_went_down_takes_the_run_up_again(small: Path, tmp_path: Path) -> None:
    options = load_experiment(small, SEEDED)
    run_federated(options, tmp_path / "whole")
    settings = settings_of(small, tmp_path / "broken", *SEEDED)
    grid = simulated(settings, 6)
    with pytest.raises(KeyboardInterrupt):
        serve(Dies(grid.nodes), settings)
    assert charged(tmp_path / "broken") == [1]
    assert not RunFolder(tmp_path / "broken").result.exists()

    other = replace(settings, resume=True, experiment=settings.experiment.replace("lr = 0.003", "lr = 0.004"))
    with pytest.raises(ConfigError, match="differs from that of the run"):
        serve(grid, other)
    serve(grid, replace(settings, resume=True))
    assert charged(tmp_path / "broken") == charged(tmp_path / "whole") == [1, 2, 3]
    assert float((values(tmp_path / "broken") - values(tmp_path / "whole")).abs().max()) <= 1e-6
    assert (tmp_path / "broken" / "report.html").is_file()


def test_sites_bring_their_own_recordings_and_draw_their_own_speakers(
    small: Path, sites: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = deployed(small, tmp_path / "run", draw_at_nodes=True, nodes=2)
    grid = at_sites(settings, *sites)
    serve(grid, settings)
    assert charged(tmp_path / "run") == [1, 2, 3]
    terms, charges = read_ledger(tmp_path / "run" / "ledger.jsonl")
    assert (terms.population, terms.unit, terms.clients_per_speaker) == (6, "speaker", 1)
    assert charges[0].event.to_json() == {"kind": "poisson-gaussian", "noise_multiplier": 1.0, "rate": 0.5}
    assert "cannot see" in terms.caveats[0]
    asked = [m for m in grid.sent if m.metadata.message_type == MessageType.TRAIN]
    assert len(asked) == 2 * 3  # every site in every round
    said = capsys.readouterr().out
    assert "round 3/3" in said
    assert "voice-" not in said + "".join(path.read_text() for path in (tmp_path / "run").glob("*.jsonl"))


def test_simulated_nodes_with_several_clients_draw_them(small: Path, tmp_path: Path) -> None:
    settings = settings_of(small, tmp_path / "run")
    serve(simulated(settings, 2), settings)
    assert charged(tmp_path / "run") == [1, 2, 3]
    with pytest.raises(ConfigError, match="sends their sum alone"):
        serve(simulated(settings, 2), settings_of(small, tmp_path / "debug", "telemetry=debug"))
    with pytest.raises(ConfigError, match="nodes draw their own clients"):
        serve(
            simulated(settings, 2),
            settings_of(small, tmp_path / "fixed", 'federated.cohort={method="fixed", size=2}'),
        )
    assert not (tmp_path / "debug").exists()
    assert not (tmp_path / "fixed").exists()


def test_more_nodes_than_clients_is_one_sentence(small: Path, tmp_path: Path) -> None:
    settings = settings_of(small, tmp_path / "run")
    with pytest.raises(ClientFailed, match="7 nodes for 6 clients"):
        serve(simulated(settings, 7), settings)
    assert not (tmp_path / "run").exists()


def test_a_site_with_several_speakers_is_not_one_client(
    small: Path, sites: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = deployed(small, tmp_path / "run", "federated.cohort.rate=1.0")
    with pytest.raises(ClientFailed, match="2 clients, and the server draws nodes"):
        serve(at_sites(settings, sites[0]), settings)
    assert charged(tmp_path / "run") == []
    assert "sordino: error: " in capsys.readouterr().out


def test_more_speakers_than_declared_is_said(
    small: Path, sites: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = deployed(small, tmp_path / "run", "privacy.population=4", draw_at_nodes=True, nodes=2)
    serve(at_sites(settings, *sites), settings)
    assert "the nodes hold 6 clients, privacy.population declares 4" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("overrides", "node", "named"),
    [
        (("privacy.population=", "privacy.epsilon=8"), "a.jsonl", "privacy.population"),
        ((), "missing.jsonl", "DataError"),
        ((), "nobody.jsonl", "DataError"),
        ((), None, "this node has no recordings"),
    ],
)
def test_what_is_missing_at_a_site_is_named(
    overrides: tuple[str, ...], node: str | None, named: str, small: Path, sites: tuple[Path, Path], tmp_path: Path
) -> None:
    if "privacy.population=" in overrides:
        small.write_text(small.read_text().replace("population = 6", ""))
        overrides = ()
    write_manifest(tmp_path / "nobody.jsonl", [])
    settings = deployed(small, tmp_path / "run", *overrides, draw_at_nodes=True)
    config = {} if node is None else {"manifest": str(tmp_path / node)}
    grid = FakeGrid({1: serving(open_site, run_config=asdict(settings), **config)})
    with pytest.raises(SordinoError, match=named) as caught:
        serve(grid, settings)
    assert str(tmp_path) not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_without_test_clips_on_the_server_there_is_one_sentence(small: Path, tmp_path: Path) -> None:
    only = small.with_name("only.toml")
    only.write_text(f'extends = "{small.name}"\n[data]\ncorpus = {{ method = "manifest", train = "nowhere.jsonl" }}\n')
    settings = settings_of(only, tmp_path / "run", own_recordings=True)
    with pytest.raises(ConfigError, match=r"data\.corpus\.test is missing"):
        serve(FakeGrid({}), settings)


def test_one_model_serves_all_tasks_of_a_process(small: Path, tmp_path: Path) -> None:
    settings = settings_of(small, tmp_path / "run")
    first, second = (open_site(settings, {"partition-id": part, "num-partitions": 6}) for part in (0, 1))
    assert first.learner is second.learner
    assert set(first.clients).isdisjoint(second.clients)
