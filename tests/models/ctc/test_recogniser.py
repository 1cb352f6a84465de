"""The recogniser against transformers' own models, and its two parts in one vector."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional as F
from transformers import HubertConfig, HubertForCTC, HubertModel, Wav2Vec2Config, Wav2Vec2ForCTC, WhisperModel

from sordino.errors import ConfigError, DataError
from sordino.models.ctc import CtcOptions, Frames, Recogniser, Units, load_recogniser
from sordino.models.encoders import load_encoder

TOKENS = {"<pad>": 0, "|": 1, "A": 2, "B": 3, "<unk>": 4, "'": 5}
KINDS = {"hubert": (HubertConfig, HubertForCTC), "wav2vec2": (Wav2Vec2Config, Wav2Vec2ForCTC)}


def write_waveform_model(folder: Path, kind: str, *, stable: bool) -> Any:
    """A tiny random checkpoint in the layout of published ones; ``stable`` is that of the large ones."""
    make_config, make_model = KINDS[kind]
    config = make_config(
        vocab_size=len(TOKENS),
        hidden_size=16,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=24,
        conv_dim=(8,) * 7,
        num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=4,
        do_stable_layer_norm=stable,
        feat_extract_norm="layer" if stable else "group",
    )
    torch.manual_seed(4)
    model = make_model(config).eval()
    model.save_pretrained(folder)
    (folder / "vocab.json").write_text(json.dumps(TOKENS), encoding="utf-8")
    (folder / "preprocessor_config.json").write_text(json.dumps({"do_normalize": True}), encoding="utf-8")
    return model


@pytest.fixture(scope="module")
def whisper(whisper_folder: Path) -> Callable[..., Recogniser]:
    """Recognisers of the tiny Whisper checkpoint: 2 layers, 20 positions."""
    return lambda **changes: load_recogniser(CtcOptions(**({"base": str(whisper_folder), "window_s": 1.0} | changes)))


def clips(*lengths: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(5)
    return [torch.randn(8, 2 * length, generator=generator) for length in lengths]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stable", [False, True])
def test_waveform_models_give_transformers_scores_whatever_is_padded(kind: str, stable: bool, tmp_path: Path) -> None:
    theirs = write_waveform_model(tmp_path, kind, stable=stable)
    ours = load_recogniser(CtcOptions(base=str(tmp_path))).eval()
    generator = torch.Generator().manual_seed(6)
    samples = [torch.randn(length, generator=generator) for length in (9000, 5000, 100)]
    frames = Frames.of([ours.hear(clip) for clip in samples])
    with torch.no_grad():
        scores = ours.outputs(frames).log_probs
        for row, clip in enumerate(samples):
            scaled = (clip - clip.mean()) / torch.sqrt(clip.var(unbiased=False) + 1e-7)
            padded = F.pad(scaled, (0, max(0, 400 - len(scaled))))
            if len(clip) == len(padded):
                expected = theirs(padded[None]).logits.log_softmax(-1)[0]
                assert torch.allclose(scores[row, : len(expected)], expected, atol=1e-6)
    assert ours.units == Units(("", " ", "a", "b", "", "'"), 0, words=False)


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_waveform_model_loads_in_transformers_and_here(kind: str, tmp_path: Path) -> None:
    write_waveform_model(tmp_path / "base", kind, stable=False)
    ours = load_recogniser(CtcOptions(base=str(tmp_path / "base"), layers=2))
    ours.flat.values.mul_(1.5)
    ours.save(tmp_path / "saved")
    again = load_recogniser(CtcOptions(base=str(tmp_path / "saved"), split=2))
    assert torch.equal(again.flat.values, ours.flat.values)
    assert again.units == ours.units
    theirs, report = KINDS[kind][1].from_pretrained(tmp_path / "saved", output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    assert theirs.config.num_hidden_layers == 2
    assert torch.equal(theirs.lm_head.weight, ours.sd.head.weight)


def test_a_body_without_output_layer_gets_a_new_one(tmp_path: Path) -> None:
    HubertModel(write_waveform_model(tmp_path / "whole", "hubert", stable=True).config).save_pretrained(
        tmp_path / "body"
    )
    options = CtcOptions(base=str(tmp_path / "body"), units="words", vocabulary=("yes", "no"))
    first, second, other = (load_recogniser(options, seed=seed) for seed in (1, 1, 2))
    assert first.units.symbols == ("", "yes", "no")
    assert torch.equal(first.flat.values, second.flat.values)
    assert not torch.equal(first.sd.head.weight, other.sd.head.weight)


def test_a_full_window_gives_whispers_own_frames(whisper_folder: Path, whisper: Callable[..., Recogniser]) -> None:
    recogniser = whisper(window_s=0.4).eval()
    log_mel = clips(20)[0]
    theirs = WhisperModel.from_pretrained(whisper_folder).encoder.eval()
    frames = Frames.of([recogniser.hear(log_mel)])
    with torch.no_grad():
        expected = theirs(log_mel[None]).last_hidden_state
        assert torch.allclose(
            recogniser.sd.norm(recogniser.sd.layers["1"](recogniser.si(frames.states, None), None)), expected, atol=1e-5
        )
        assert torch.allclose(
            recogniser.outputs(frames).log_probs, recogniser.sd.head(expected).log_softmax(-1), atol=1e-5
        )


def test_a_clip_never_sees_the_padding_behind_it(whisper: Callable[..., Recogniser]) -> None:
    recogniser = whisper().eval()
    heard = [recogniser.hear(clip) for clip in clips(30, 7, 19)]
    with torch.no_grad():
        together, embedded = recogniser.outputs(Frames.of(heard)).log_probs, recogniser.embeddings(Frames.of(heard))
        for row, clip in enumerate(heard):
            alone = Frames.of([clip])
            assert torch.allclose(together[row, : len(clip)], recogniser.outputs(alone).log_probs[0], atol=1e-5)
            assert torch.allclose(embedded[row], recogniser.si(alone.states, None)[0].mean(dim=0), atol=1e-5)


def test_a_table_of_sinusoids_continues_and_a_learned_one_does_not(whisper_folder: Path) -> None:
    pocket = load_recogniser(CtcOptions(window_s=12.0)).front.positions
    assert pocket.shape == (600, 128)
    assert torch.allclose(pocket[:100], load_recogniser(CtcOptions(window_s=2.0)).front.positions)
    assert float((pocket[599, :64] ** 2 + pocket[599, 64:] ** 2 - 1).abs().max()) < 1e-5  # sin^2 + cos^2
    with pytest.raises(ConfigError, match=r"at most 0.4"):
        load_recogniser(CtcOptions(base=str(learned(whisper_folder)), window_s=1.0))


def learned(folder: Path) -> Path:
    model = WhisperModel.from_pretrained(folder)
    model.encoder.embed_positions.weight.data.normal_()
    model.save_pretrained(folder.parent / "learned")
    return folder.parent / "learned"


def test_the_split_divides_the_vector(whisper: Callable[..., Recogniser]) -> None:
    recogniser = whisper(split=1)
    layer = sum(tensor.numel() for tensor in recogniser.si.layers["0"].parameters())
    assert recogniser.layout.components == {
        "si": layer,
        "sd": layer + 2 * 16 + sum(tensor.numel() for tensor in recogniser.sd.head.parameters()),
    }
    groups = [group.name for group in recogniser.layout.grouped("layer").groups]
    assert groups == ["si.layers.0", "sd.layers.1", "sd.norm", "sd.head"]
    assert "sd" in whisper(split=2).layout.components  # the output layer is always the speaker's own
    with pytest.raises(ConfigError, match=r"model.split = 3"):
        whisper(split=3)


def test_loss_is_minus_the_log_probability_a_unit(whisper: Callable[..., Recogniser]) -> None:
    recogniser = whisper().eval()
    frames = Frames.of([recogniser.hear(clip) for clip in clips(6, 3)])
    scores = recogniser.outputs(frames).log_probs.detach().transpose(0, 1)
    expected = F.ctc_loss(scores, torch.tensor([[1, 2], [3, 0]]), frames.lengths, torch.tensor([2, 1]), reduction="sum")
    assert float(recogniser.loss(recogniser.outputs(frames), ["ab", "c"]).detach()) == pytest.approx(
        float(expected) / 3, rel=1e-5
    )
    assert float(recogniser.loss(recogniser.outputs(frames), ["ab", "c"], num_units=6).detach()) == pytest.approx(
        float(expected) / 6, rel=1e-5
    )
    impossible = recogniser.loss(recogniser.outputs(Frames.of([recogniser.hear(clips(2)[0])])), ["aaa"])
    assert float(impossible.detach()) == 0.0
    assert recogniser.units.frames_needed("aaa") == 5
    with pytest.raises(DataError, match="2 clips came with 1"):
        recogniser.loss(recogniser.outputs(frames), ["ab"])


def test_only_what_is_named_gets_a_gradient(whisper: Callable[..., Recogniser]) -> None:
    recogniser = whisper()
    frames = Frames.of([recogniser.hear(clip) for clip in clips(9, 4)])
    si = recogniser.layout.components["si"]
    recogniser.flat.zero_gradient()
    recogniser.loss(recogniser.outputs(frames), ["ab", "c"]).backward()
    whole = recogniser.flat.gradient.clone()
    for names, here, elsewhere in (("si", slice(0, si), slice(si, None)), ("sd", slice(si, None), slice(0, si))):
        chosen = {slot.name for slot in recogniser.layout.slots if slot.component == names}
        recogniser.flat.zero_gradient()
        with recogniser.training_only(chosen):
            recogniser.loss(recogniser.outputs(frames), ["ab", "c"]).backward()
        assert torch.allclose(recogniser.flat.gradient[here], whole[here])
        assert not recogniser.flat.gradient[elsewhere].any()
    assert not any(tensor.requires_grad for tensor in recogniser.front.parameters())


@pytest.mark.parametrize("units", ["characters", "words"])
def test_a_saved_whisper_recogniser_comes_back(units: str, whisper: Callable[..., Recogniser], tmp_path: Path) -> None:
    recogniser = whisper(units=units, vocabulary=("one", "two"), layers=1)
    recogniser.save(tmp_path)
    again = load_recogniser(CtcOptions(base=str(tmp_path), window_s=1.0))
    assert torch.equal(again.flat.values, recogniser.flat.values)
    assert again.units == recogniser.units
    assert again.num_layers == 1


def test_pretrained_whisper_gives_its_own_frames(weights_root: Path) -> None:
    recogniser = load_recogniser(CtcOptions(base=str(weights_root / "whisper-tiny.en"), layers=2, window_s=2.0)).eval()
    assert recogniser.num_layers == 2
    theirs: Any = load_encoder(str(weights_root / "whisper-tiny.en"), window_s=2.0, stack=1, dtype=torch.float32)
    theirs.layers = theirs.layers[:2]
    log_mel = torch.randn(80, 200, generator=torch.Generator().manual_seed(7))
    frames = Frames.of([recogniser.hear(log_mel)])
    with torch.no_grad():
        expected = theirs(log_mel[None]).last_hidden_state
        assert torch.allclose(
            recogniser.outputs(frames).log_probs, recogniser.sd.head(expected).log_softmax(-1), atol=1e-4
        )


def test_mistakes_are_refused_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"model.vocabulary"):
        CtcOptions(units="words")
    with pytest.raises(ConfigError, match=r"model.layers = 9"):
        load_recogniser(CtcOptions(layers=9))
    with pytest.raises(ConfigError, match=r"model.base = '/nowhere'"):
        load_recogniser(CtcOptions(base="/nowhere"))
    config = HubertConfig().to_dict() | {"model_type": "wavlm"}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ConfigError, match="is a 'wavlm' model"):
        load_recogniser(CtcOptions(base=str(tmp_path)))


def test_the_fronts_digest_names_whatever_its_frames_depend_on(
    whisper: Callable[..., Recogniser], tmp_path: Path
) -> None:
    recogniser = whisper()
    digest = recogniser.front_digest
    with torch.no_grad():
        recogniser.flat.values.add_(1)
    assert recogniser.front_digest == digest == whisper(layers=1).front_digest, "training leaves it"
    assert whisper(window_s=0.5).front_digest != digest
    with torch.no_grad():
        next(recogniser.front.parameters()).add_(1)
    assert recogniser.front_digest != digest

    write_waveform_model(tmp_path, "hubert", stable=True)
    digests = []
    for normalise in (True, False):
        (tmp_path / "preprocessor_config.json").write_text(json.dumps({"do_normalize": normalise}), encoding="utf-8")
        digests.append(load_recogniser(CtcOptions(base=str(tmp_path), window_s=1.0)).front_digest)
    assert digests[0] != digests[1]
