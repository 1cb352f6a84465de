"""The parts of a federated experiment, put together from its options."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from sordino.data import Client, FeatureStore, Splits, Utterance
from sordino.errors import BudgetExhausted, ConfigError, DataError, PrivacyError
from sordino.experiments.caveats import caveats_of
from sordino.experiments.on_flower.remote import UNSEEN, Remote
from sordino.experiments.placing import placed
from sordino.experiments.sharing import Shared
from sordino.experiments.tasks.federated import FederatedExperiment
from sordino.federated import Backend, InProcess, SpeechLearner
from sordino.models import ModelOptions, SpeechLLM, load_model
from sordino.privacy import NoiseSource, Plan, Terms, guaranteed, make_plan, make_terms
from sordino.seeds import Seeds

__all__ = ["Assembly", "assemble", "clients_of"]


@dataclass(frozen=True, kw_only=True)
class Assembly:
    """Everything that a run needs, in memory.

    Attributes:
        options: the experiment.
        shared: what runs of this process load once.
        splits: the corpus, with normalised training transcripts.
        model: the speech-LLM with the starting adapter.
        copies: the same model again, one for each further worker of the simulation, on that worker's device.
        features: its log-mels.
        backend: the clients.
        plan: the guarantee of the first round.
        terms: what the guarantee is about.
        noise: source of cohorts and noise.
        seeds: root of everything that the seed fixes.
    """

    options: FederatedExperiment
    shared: Shared
    splits: Splits
    model: SpeechLLM
    copies: tuple[SpeechLLM, ...]
    features: FeatureStore
    backend: Backend
    plan: Plan
    terms: Terms
    noise: NoiseSource
    seeds: Seeds

    @property
    def tests_training_speakers(self) -> bool:
        """Whether the test clips are of people whose other clips are trained on."""
        return not {u.speaker for u in self.splits.test}.isdisjoint(u.speaker for u in self.splits.train)

    @property
    def may_measure(self) -> bool:
        """Whether showing the word error rate is covered by the guarantee, or debug telemetry waives that."""
        return self.options.telemetry == "debug" or not self.tests_training_speakers


def assemble(options: FederatedExperiment, *, shared: Shared | None = None, remote: Remote | None = None) -> Assembly:
    """Loads corpus and model and derives plan and terms.

    Args:
        options: the experiment.
        shared: what other runs of this process have loaded already.
        remote: reaches clients elsewhere; without it they are in this process.

    Raises:
        ConfigError: options that do not fit each other.
        DataError: recordings that cannot be used.
    """
    if options.simulation.threads:
        torch.set_num_threads(options.simulation.threads)
    shared, seeds = shared or Shared(), Seeds(options.seed)
    options = remote.experiment(options) if remote else options
    first, *others = placed(options.simulation, options.model.device)
    model = _load(options.model, first, seeds)
    splits = shared.splits(options.data.corpus, model.window_s)
    clients = [] if remote and remote.own_recordings else clients_of(options, splits.train)
    terms = _terms(options, len(clients), unseen=(UNSEEN,) if remote and remote.own_recordings else ())
    features = shared.features(
        options.data.corpus, model, limit_mb=options.data.memory_mb, disk_mb=options.data.disk_mb
    )
    copies = tuple(_load(options.model, place, seeds) for place in others)
    plan = make_plan(
        options.privacy,
        layout=model.layout,
        cohort=options.federated.cohort,
        rounds=options.federated.rounds,
        terms=terms,
        watch=options.telemetry == "debug",
    )
    _afford_one_round(plan, terms)
    backend: Backend
    if remote:
        backend, cohort = remote.connect([client.id for client in clients], model.layout)
        plan = replace(plan, cohort=cohort)
    else:
        backend = _in_process(options, clients, features, (model, *copies))
    return Assembly(
        options=options,
        shared=shared,
        splits=splits,
        model=model,
        copies=copies,
        features=features,
        backend=backend,
        plan=plan,
        terms=terms,
        noise=NoiseSource(seeds.at("privacy") if options.simulation.seeded else None),
        seeds=seeds,
    )


def _terms(options: FederatedExperiment, clients: int, *, unseen: tuple[str, ...]) -> Terms:
    """What the guarantee is about; raises ConfigError if fewer clients were declared than there are."""
    terms = make_terms(
        options.privacy,
        population=clients,
        clients_per_speaker=options.data.partition.clients_per_speaker,
        seeded=options.simulation.seeded,
        caveats=(*caveats_of(options), *unseen),
    )
    if clients > terms.population:
        raise ConfigError(
            f"privacy.population = {terms.population}, but the training data has {clients} clients; "
            "declare at least that many, since the population decides the divisor."
        )
    return terms


def _load(model: ModelOptions, device: str, seeds: Seeds) -> SpeechLLM:
    return load_model(replace(model, device=device), seed=seeds.at("adapters").integer())


def _in_process(
    options: FederatedExperiment, clients: Sequence[Client], features: FeatureStore, models: Sequence[SpeechLLM]
) -> InProcess:
    utterances = {client.id: client.utterances for client in clients}
    learners = tuple(SpeechLearner(model, features, utterances, options.federated.local) for model in models)
    return InProcess(learners, tuple(utterances), options.federated.dropout_rate)


def clients_of(options: FederatedExperiment, utterances: Sequence[Utterance]) -> list[Client]:
    """The clients that the experiment's partition makes of these utterances.

    Raises:
        DataError: there is none.
        PrivacyError: a speaker owns more of them than the partition says.
    """
    clients = options.data.partition(utterances, Seeds(options.seed).at("partition"))
    if not clients:
        raise DataError(
            "the corpus has no training utterance: expected at least one; name other data under data.corpus."
        )
    _respect_ownership(clients, options.data.partition.clients_per_speaker)
    return clients


def _respect_ownership(clients: Sequence[Client], declared: int | None) -> None:
    """Raises PrivacyError if a speaker owns more clients than the partition says: no speaker's figure would hold."""
    owned = Counter(client.speaker for client in clients)
    speaker, count = max(owned.items(), key=lambda pair: pair[1])
    if declared is not None and ("" in owned or count > declared):
        raise PrivacyError(
            f"speaker {speaker!r} owns {count} clients, or shares some, but the partition declares {declared} for each; "
            "correct the partition's clients_per_speaker."
        )


def _afford_one_round(plan: Plan, terms: Terms) -> None:
    """Raises BudgetExhausted before anything is written if the budget does not even cover the first round."""
    spent = guaranteed([plan.event()], delta=terms.delta, multiplicity=terms.multiplicity).value
    if terms.budget is not None and (spent is None or spent > terms.budget):
        cost = "nobody can bound" if spent is None else f"{spent:.4g}"
        raise BudgetExhausted(
            f"one round costs epsilon {cost}, above the budget of {terms.budget:g} (delta {terms.delta:g}); raise "
            "privacy.epsilon or privacy.noise_multiplier, or lower the cohort's rate."
        )
