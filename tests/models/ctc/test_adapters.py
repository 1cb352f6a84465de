"""Adapters inside a recogniser: new ones change nothing, and only they are trained."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import HubertConfig, HubertForCTC

from sordino.models.ctc import CtcOptions, Frames, Recogniser, load_recogniser
from sordino.models.ctc.adapters import ADAPTERS, with_adapters


@pytest.fixture(params=["pocket", "hubert"])
def options(request: pytest.FixtureRequest, tmp_path: Path) -> CtcOptions:
    if request.param == "pocket":
        return CtcOptions(units="words", vocabulary=("one", "two"))
    torch.manual_seed(0)
    sizes = {"hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 32}
    convolutions = {"conv_dim": (8, 8), "conv_stride": (5, 64), "conv_kernel": (10, 64), "num_feat_extract_layers": 2}
    config = HubertConfig(**sizes, **convolutions, num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2)
    HubertForCTC(config).hubert.save_pretrained(tmp_path / "hubert")
    return CtcOptions(base=str(tmp_path / "hubert"), units="words", vocabulary=("one", "two"))


def frames_for(recogniser: Recogniser) -> Frames:
    generator = torch.Generator().manual_seed(1)
    return Frames.of([torch.randn(n, recogniser.front.width, generator=generator) for n in (9, 14)])


def test_new_ones_change_nothing_and_stand_behind_the_rest(options: CtcOptions) -> None:
    plain, adapted = load_recogniser(options).eval(), with_adapters(load_recogniser(options), width=4, seed=3).eval()
    frames = frames_for(plain)
    with torch.no_grad():
        assert torch.equal(plain.outputs(frames).log_probs, adapted.outputs(frames).log_probs)
    size = plain.layout.size
    assert torch.equal(adapted.flat.values[:size], plain.flat.values)
    added = [slot for slot in adapted.layout.slots if slot.start >= size]
    assert {slot.component for slot in added} == {ADAPTERS}
    assert len(added) == 6 * plain.num_layers


def test_each_layers_adapter_is_heard_and_learns(options: CtcOptions) -> None:
    adapted = with_adapters(load_recogniser(options), width=4, seed=3).eval()
    frames, names = frames_for(adapted), [s.name for s in adapted.layout.slots if s.component == ADAPTERS]
    adapted.flat.zero_gradient()
    with adapted.training_only(names):
        adapted.loss(adapted.outputs(frames), ["one two", "two"]).backward()
    for slot in adapted.layout.slots:
        gradient = adapted.flat.gradient[slot.start : slot.stop]
        assert bool(gradient.any()) == (slot.component == ADAPTERS and "up" in slot.name)
