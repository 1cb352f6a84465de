"""What an experiment is put together to guarantee."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

from sordino.data import PARTITIONS, BySession, Client, Partition, Utterance
from sordino.errors import BudgetExhausted, ConfigError, PrivacyError
from sordino.experiments import assemble, load_experiment
from sordino.seeds import Seeds


def test_a_speaker_with_sessions_is_charged_for_all_of_them(small: Path) -> None:
    sessions = ("data.partition={method='sessions',per_speaker=3}", "privacy.population=18")
    terms = assemble(load_experiment(small, sessions)).terms
    assert terms.unit == "speaker"
    assert terms.clients_per_speaker == terms.multiplicity == 3
    assert len(assemble(load_experiment(small, sessions)).backend.clients()) == 18


def test_every_partition_says_how_many_clients_a_speaker_may_own() -> None:
    utterances = [
        Utterance(audio=Path(f"{i}.wav"), text="one", speaker=f"s{i % 2}", duration_s=1.0, language="en")
        for i in range(12)
    ]
    made = {"speaker": {}, "sessions": {"per_speaker": 3}, "attribute": {"attribute": "language"}}
    assert set(made) == set(PARTITIONS.names())
    for name, options in made.items():
        partition = PARTITIONS.get(name)(**options)
        clients = partition(utterances, Seeds(0))
        owned = [sum(client.speaker == speaker for client in clients) for speaker in ("s0", "s1")]
        if partition.clients_per_speaker is None:
            assert any(not client.speaker for client in clients)
        else:
            assert max(owned) == partition.clients_per_speaker


@dataclass(frozen=True, slots=True)
class Lying(Partition):
    """Deals sessions and declares one client a speaker."""

    @property
    def clients_per_speaker(self) -> int | None:
        return 1

    def deal(self, utterances: Iterable[Utterance], seeds: Seeds) -> list[Client]:
        return BySession(per_speaker=2)(utterances, seeds)


def test_a_partition_that_understates_is_refused(small: Path) -> None:
    options = load_experiment(small, ["privacy.population=12"])
    options = replace(options, data=replace(options.data, partition=Lying()))
    with pytest.raises(PrivacyError, match="owns 2 clients"):
        assemble(options)


def test_a_cost_that_nobody_can_bound_is_over_any_budget(small: Path) -> None:
    sessions = ["data.partition={method='sessions',per_speaker=3}", "privacy.population=18"]
    little = ["privacy.noise_multiplier=1e-4", "privacy.epsilon=8.0"]
    with pytest.raises(BudgetExhausted, match="nobody can bound"):
        assemble(load_experiment(small, [*sessions, *little]))


@pytest.mark.parametrize("method", ["local", "fedavg-finetune", "ditto"])
def test_personal_models_are_not_measured_as_one(small: Path, method: str) -> None:
    with pytest.raises(ConfigError, match=r'expected a method with one model for all.*task = "personalised"'):
        load_experiment(small, [f"federated.method={method}"])


def test_noise_at_the_clients_is_not_passed_over(small: Path) -> None:
    with pytest.raises(ConfigError, match='expected "server" here'):
        assemble(load_experiment(small, ["privacy.noised_by=clients"]))


def test_a_second_run_takes_from_disk_what_the_first_computed(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sordino.data.shelf.cache_root", lambda: tmp_path)
    updates = []
    for disk_mb in (0, 50, 50):
        parts = assemble(load_experiment(small, ["model.train_encoder=false", f"data.disk_mb={disk_mb}"]))
        learner, client = parts.backend.learners[0], parts.backend.clients()[0]
        if len(updates) == 2:
            monkeypatch.setattr("sordino.data.batches.read_audio", lambda *_, **__: pytest.fail("computed again"))
        updates.append(learner.fit(client, parts.model.flat.snapshot(), seeds=Seeds(0)).update.values)
        assert (tmp_path / "frames").exists() == (disk_mb > 0)
    assert torch.equal(updates[0], updates[1])
    assert torch.equal(updates[0], updates[2])
