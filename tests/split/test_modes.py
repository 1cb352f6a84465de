"""What each mode of training sends and pays."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sordino.errors import ConfigError
from sordino.privacy import GaussianRelease, PlainRelease, make_statement
from sordino.privacy.noise import Stream
from sordino.split import LocalStates
from sordino.split.methods import METHODS, Scene
from sordino.split.modes import MODES
from sordino.split.modes.accounted import Accounted
from sordino.split.modes.as_published import AsPublished
from sordino.split.stand_in import StandIn
from sordino.split.tally import Sent, Tally
from sordino.split.trained_server import TrainedServer


def test_client_only_pays_once_and_learns(scene: Scene) -> None:
    mode = MODES.get("client-only")(epochs=30, lr=3e-3, batch_size=8)
    fitted = METHODS.get("hidden-echo")().fit(replace(scene, mode=mode))
    assert len(scene.sender.ledger.charges) == 1
    right = (fitted.scores(scene.train).argmax(dim=1) == scene.train.labels).float().mean()
    assert right >= 0.9
    tokens = int(scene.train.mask.sum())
    assert fitted.sent == Sent(up=4 * (tokens * 64 + 24), down=4 * tokens * 2 * 16)


def test_as_published_has_no_guarantee_left(scene: Scene) -> None:
    fitted = METHODS.get("hidden-echo")().fit(replace(scene, mode=AsPublished(epochs=2, batch_size=8)))
    events = scene.sender.ledger.events
    assert sum(isinstance(event, PlainRelease) for event in events) == 2
    assert sum(event == scene.sender.noise.event("token", space=scene.sender.space) for event in events) == 3
    assert make_statement(scene.sender.ledger.terms, events).words.startswith("No privacy guarantee")
    tokens, texts = int(scene.train.mask.sum()), len(scene.train)
    embeddings, states = 4 * (tokens * 64 + texts), 4 * tokens * 2 * 16
    # States to calibrate on, and in each epoch embeddings anew, states of them, and gradients as large.
    assert fitted.sent == Sent(up=embeddings + 2 * (embeddings + states), down=3 * states)
    assert scene.sender.tally.total == Sent(up=2 * (embeddings + states), down=2 * states)
    asked = fitted.scores(scene.train), fitted.sent_for(scene.train)
    assert asked[1] == Sent(up=embeddings, down=states)
    assert scene.sender.tally.total == Sent(up=3 * embeddings + 2 * states, down=3 * states)  # asked once


def test_a_tally_goes_on_where_the_last_process_ended(tmp_path: Path) -> None:
    for _ in range(2):
        Tally(tmp_path / "beside.json").add(Sent(up=3, down=5))
    assert Tally(tmp_path / "beside.json").total == Sent(up=6, down=10)


def test_accounted_pays_for_every_step(scene: Scene) -> None:
    mode = Accounted(epochs=2, batch_size=8, noise_multiplier=30.0)
    METHODS.get("hidden-echo")().fit(replace(scene, mode=mode))
    events = scene.sender.ledger.events
    assert events.count(mode.event("token")) == 2 * 3  # 24 texts, 8 a step
    assert len(events) == 7


def test_accounted_composes_with_gaussian_embeddings() -> None:
    events = [GaussianRelease(noise_multiplier=2.0, neighbours="one token replaced by another", what="x")]
    mode = Accounted(noise_multiplier=2.0)
    assert mode.event("token").adjacency == events[0].adjacency


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6, math.inf, math.nan])
def test_the_gradient_of_a_step_is_bounded_and_noised(scale: float) -> None:
    mask = torch.arange(5) < torch.tensor([5, 2])[:, None]
    gradient = scale * torch.ones(2, 3, 5, 4)
    silent = Accounted(clip_norm=0.5, noise_multiplier=1e-12)._noised(gradient, mask, stream=Stream(bytes(32)))
    norm = float(silent.norm())
    assert norm <= 0.5 + 1e-6
    assert norm == pytest.approx(0.5 if 1e-6 < scale < math.inf else scale * 84**0.5 if scale < 1 else 0.0, abs=1e-6)
    noisy = Accounted(clip_norm=0.5, noise_multiplier=3.0)._noised(gradient, mask, stream=Stream(bytes(32)))
    assert not noisy.transpose(1, 2)[~mask].any()
    assert noisy.transpose(1, 2)[mask].std() == pytest.approx(3.0, rel=0.3)


def test_one_sequence_moves_a_step_by_twice_the_clip_norm_at_most() -> None:
    """However many sequences a batch has: they are clipped together, not each for itself."""
    mask, stream = torch.ones(8, 5, dtype=torch.bool), Stream(bytes(32))
    mode = Accounted(clip_norm=0.5, noise_multiplier=1e-12)
    first, second = (mode._noised(sign * torch.ones(8, 3, 5, 4), mask, stream=stream) for sign in (1.0, -1.0))
    assert float((first - second).norm()) == pytest.approx(1.0, abs=1e-6)


def test_the_server_learns_and_the_model_stays(scene: Scene, local: LocalStates) -> None:
    probe = scene.train.noised[:2], scene.train.mask[:2]
    before = local.states(*probe, layers=[6])
    server = TrainedServer(local, layers=(2, 5), reduction=4, lr=1e-2, lora=True)
    start = server.states(*probe, layers=(2, 5), reduction=4)
    torch.testing.assert_close(start, local.states(*probe, layers=(2, 5), reduction=4), atol=1e-4, rtol=1e-4)
    graph = server.forward(*probe)
    server.learn(graph, torch.ones_like(graph))
    assert not torch.allclose(server.states(*probe, layers=(2, 5), reduction=4), start)
    torch.testing.assert_close(local.states(*probe, layers=[6]), before)
    assert not any(parameter.requires_grad for parameter in local.stack.parameters())
    with pytest.raises(ConfigError, match="which is what was trained"):
        server.states(*probe, layers=(1,), reduction=4)


def test_reducers_are_trained_where_the_model_is(scene: Scene) -> None:
    away = scene.train.with_server(StandIn(scene.train.server.describe(), lambda shape, _: torch.zeros(shape)))
    with pytest.raises(ConfigError, match="in this process"):
        METHODS.get("hidden-echo")().fit(replace(scene, train=away, mode=AsPublished(epochs=1)))
