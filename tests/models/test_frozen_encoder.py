from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from sordino.models import LoraOptions, SpeechLLM
from sordino.models.frozen_encoder import Encoded, FrozenEncoder

Make = Callable[..., SpeechLLM]


def frozen(make_model: Make, **changes: object) -> tuple[SpeechLLM, FrozenEncoder]:
    model = make_model(train_encoder=False, **changes)
    assert model.frozen_encoder is not None
    return model, model.frozen_encoder


def test_an_encoder_is_frozen_when_nothing_in_it_is_trained(make_model: Make) -> None:
    assert make_model().frozen_encoder is None
    assert make_model(train_encoder=False).frozen_encoder is not None
    assert make_model(lora=LoraOptions(encoder_targets=())).frozen_encoder is not None


def test_its_output_stands_for_the_log_mels(make_model: Make, features: torch.Tensor, texts: list[str]) -> None:
    model, encoder = frozen(make_model)
    prepared = model.inputs(encoder(features))
    assert isinstance(prepared, Encoded)
    assert torch.equal(model.loss(prepared, texts), model.loss(features, texts))
    assert model.transcribe(prepared, max_tokens=9) == model.transcribe(features, max_tokens=9)


def test_bfloat16_stays_as_it_was_computed(make_model: Make, features: torch.Tensor, texts: list[str]) -> None:
    model, encoder = frozen(make_model, dtype="bfloat16")
    frames = encoder(features)
    assert frames.dtype == torch.bfloat16
    assert torch.equal(model.loss(model.inputs(frames), texts), model.loss(features, texts))


def test_a_trained_encoder_takes_log_mels(model: SpeechLLM, features: torch.Tensor) -> None:
    assert model.inputs(features) is features


def test_the_digest_names_the_weights(make_model: Make) -> None:
    model, encoder = frozen(make_model)
    digest = encoder.digest
    assert frozen(make_model)[1].digest == digest, "a copy of the model computes the same"
    assert frozen(make_model, dtype="bfloat16")[1].digest != digest
    assert frozen(make_model, window_s=0.2)[1].digest != digest
    weights = model.encoder.layers[1].fc1.weight
    with torch.no_grad():
        weights[0, 0] += 1
    assert encoder.digest != digest
    with torch.no_grad():
        weights[0, 0] -= 1
    model.encoder.layers[1].fc1.weight = torch.nn.Parameter(2 * weights, requires_grad=False)
    assert encoder.digest != digest


def test_training_leaves_the_digest(
    make_model: Make, features: torch.Tensor, texts: list[str], train: Callable[..., None]
) -> None:
    model, encoder = frozen(make_model)
    digest = encoder.digest
    train(model, features, texts)
    assert encoder.digest == digest


def test_a_frozen_encoder_drops_no_units(make_model: Make, features: torch.Tensor) -> None:
    model, encoder = frozen(make_model)
    model.encoder.dropout = 0.5
    for layer in model.encoder.layers:
        layer.dropout = 0.5
    model.train()
    assert model.decoder.training
    assert torch.equal(model.encode(features), encoder(features).float())


@pytest.mark.parametrize("index", [0, 4])
def test_encoded_clips_have_a_length(index: int) -> None:
    assert len(Encoded(torch.zeros(index, 3, 2))) == index
    assert replace(Encoded(torch.zeros(1, 3, 2)), frames=torch.zeros(2, 3, 2)).frames.shape == (2, 3, 2)
