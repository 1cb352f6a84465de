"""Apple's pfl doing the same trivial round with its central Gaussian mechanism, against the loop of ``rounds.py``.

    python -m venv pfl && pfl/bin/pip install pfl==0.6.0 torch numpy
    pfl/bin/python benchmarks/pfl_round.py [--json]

pfl's own `FederatedAveraging` on its `SimulatedBackend`; only training is replaced, by the copy and the addition that
the other benchmarks do. It runs in an environment of its own, since its dependencies do not go with this package's, and
therefore imports nothing of it: what the two have in common is the floor, so the ratios compare.
"""

from __future__ import annotations

from functools import partial
from statistics import median

import numpy as np
import torch
from interleaving import print_result, ratios, seconds
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import FederatedDataset
from pfl.hyperparam import NNEvalHyperParams, NNTrainHyperParams
from pfl.metrics import Metrics
from pfl.model.pytorch import PyTorchModel
from pfl.privacy.gaussian_mechanism import GaussianMechanism
from pfl.privacy.privacy_mechanism import CentrallyAppliedPrivacyMechanism

SMALL_CLIENTS = 500


class Tensors(torch.nn.Module):
    """``tensors`` trainable tensors, ``size`` numbers together."""

    def __init__(self, size: int, tensors: int) -> None:
        super().__init__()
        cuts = [index * size // tensors for index in range(tensors + 1)]
        self.parts = torch.nn.ParameterList(torch.zeros(cuts[index + 1] - cuts[index]) for index in range(tensors))

    def loss(self, *_: object, **__: object) -> torch.Tensor:
        """Not asked for."""
        return torch.zeros(())

    def metrics(self, *_: object, **__: object) -> dict[str, object]:
        """None."""
        return {}


class Nudging(FederatedAveraging):
    """Federated averaging whose clients add the same numbers instead of training."""

    @torch.no_grad()
    def train_one_user(self, initial_model_state, model, user_dataset, central_context):  # type: ignore[no-untyped-def]  # noqa: ARG002
        """Stands for training."""
        for tensor in model.variable_map.values():
            tensor.add_(0.01)
        return model.get_model_difference(initial_model_state), Metrics()


def once(module: Tensors, clients: int) -> None:
    """One round of all clients."""
    data = FederatedDataset(
        lambda user: Dataset((np.zeros((1, 1)),), user_id=user), iter(list(map(str, range(clients)))).__next__
    )
    mechanism = CentrallyAppliedPrivacyMechanism(GaussianMechanism(1.0, 1e-9))
    backend = SimulatedBackend(training_data=data, val_data=data, postprocessors=[mechanism])
    model = PyTorchModel(module, torch.optim.SGD, torch.optim.SGD(module.parameters(), lr=1.0))
    how = NNTrainHyperParams(local_num_epochs=1, local_learning_rate=0.1, local_batch_size=1)
    Nudging().run(
        algorithm_params=NNAlgorithmParams(
            central_num_iterations=1, evaluation_frequency=100, train_cohort_size=clients, val_cohort_size=0
        ),
        backend=backend,
        model=model,
        model_train_params=how,
        model_eval_params=NNEvalHyperParams(local_batch_size=1),
        callbacks=[],
    )


def loop(size: int, clients: int) -> None:
    """The same work in the fewest lines, as in ``rounds.py``."""
    start, total, flat = torch.zeros(size), torch.zeros(size), torch.zeros(size)
    nudge = torch.full((size,), 0.01)
    for _ in range(clients):
        flat.copy_(start)
        flat.add_(nudge)
        update = flat - start
        total += update * min(1.0, 1.0 / float(update.norm()))
    start.add_(total / clients)


def main() -> None:
    """Measures and prints."""
    torch.set_num_threads(1)
    large, small = Tensors(2_700_000, 282), Tensors(1_000, 2)
    whole = seconds({"round": partial(once, large, 64), "loop": partial(loop, 2_700_000, 64)}, repeats=5, warm_up=1)
    tiny = seconds(
        {"round": partial(once, small, SMALL_CLIENTS), "loop": partial(loop, 1_000, SMALL_CLIENTS)}, repeats=5
    )
    print_result(
        {
            "round_ratio": ratios(whole, floor="loop")["round"],
            "client_ms": round(median(tiny["round"]) / SMALL_CLIENTS * 1e3, 4),
            "client_ratio": ratios(tiny, floor="loop")["round"],
        }
    )


if __name__ == "__main__":
    main()
