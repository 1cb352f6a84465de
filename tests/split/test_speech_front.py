"""The client's part of a Whisper, put together with the server's: the same encoder as before it was divided."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from sordino.data import LogMel
from sordino.errors import ConfigError, DataError
from sordino.models.encoders import load_encoder
from sordino.split import LocalStates
from sordino.split.speech_front import PublicFrames, SpeechFront
from sordino.split.stacks import speech_source


def _last(front: SpeechFront, server: LocalStates, log_mels: torch.Tensor) -> torch.Tensor:
    """What the server's last block makes of what the client would send without noise."""
    frames = front(log_mels)
    sent = (frames + front.places([len(frames)]))[None]
    mask = torch.ones(sent.shape[:2], dtype=torch.bool)
    return server.states(sent, mask, layers=[server.describe().num_blocks])[0, 0]


@pytest.mark.parametrize("client_layers", [0, 1])
def test_both_parts_together_are_the_encoder(client_layers: int) -> None:
    front = SpeechFront.load("pocket", client_layers=client_layers, window_s=2.0)
    server = LocalStates.load("pocket", client_layers=client_layers)
    encoder = load_encoder(speech_source("pocket"), window_s=None, stack=1, dtype=torch.float32).eval()
    log_mels = torch.randn(80, 200, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        found = encoder.layer_norm(_last(front, server, log_mels))  # type: ignore[operator]
        wanted = encoder(log_mels[None]).last_hidden_state[0]
    assert float((found - wanted).abs().max()) < 1e-5


def test_a_real_whisper_divided_is_the_whole_one(weights_root: Path) -> None:
    source = str(weights_root / "whisper-tiny.en")
    encoder = load_encoder(source, window_s=None, stack=1, dtype=torch.float32).eval()
    tone = np.sin(2 * np.pi * 220 * np.arange(32_000, dtype=np.float32) / 16_000).astype(np.float32)
    log_mels = torch.from_numpy(LogMel(80, 30.0)(tone))
    with torch.no_grad():
        wanted = encoder(log_mels[None], output_hidden_states=True)
        front = SpeechFront.load(source, client_layers=0, window_s=30.0)
        assert torch.equal(front(log_mels) + front.places([1500]), wanted.hidden_states[0][0])
        found = encoder.layer_norm(_last(front, LocalStates.load(source), log_mels))  # type: ignore[operator]
    assert torch.equal(found, wanted.last_hidden_state[0])


def test_short_clips_have_short_ends_and_long_ones_a_longer_table() -> None:
    front = SpeechFront.load("pocket", client_layers=0, window_s=6.0)
    assert front(torch.randn(80, 14)).shape == (7, 128)
    assert front.places([3, 300]).shape == (303, 128)
    assert torch.equal(front.places([3, 300])[:3], front.places([300])[:3])


def test_a_frame_hears_65_ms_unless_the_client_has_layers() -> None:
    """Five steps of the log-mels, each of 25 ms and 10 ms after the one before."""
    log_mels = torch.randn(80, 60)
    other = log_mels.clone()
    other[:, 30] += 1.0
    for client_layers, changed in ((0, [14, 15, 16]), (1, list(range(30)))):
        front = SpeechFront.load("pocket", client_layers=client_layers, window_s=2.0)
        moved = (front(log_mels) - front(other)).abs().amax(dim=1) > 0
        assert moved.nonzero()[:, 0].tolist() == changed


def test_public_frames_say_where_frames_lie(tmp_path: Path) -> None:
    frames = torch.randn(50, 128) + 3.0
    public = PublicFrames.of(frames)
    distances = (frames - frames.mean(dim=0)).norm(dim=1)
    assert public.radius == pytest.approx(float(distances.max()), rel=1e-5)
    space = public.space(200)
    assert (space.part, space.whole, space.rows("frame"), space.rows("recording")) == ("frame", "recording", 1, 200)
    public.save(tmp_path / "public.safetensors")
    again = PublicFrames.load(tmp_path / "public.safetensors")
    assert torch.equal(again.centre, public.centre)
    assert again.radius == public.radius
    (tmp_path / "public.safetensors").write_bytes(b"nothing")
    with pytest.raises(DataError, match="restore it"):
        PublicFrames.load(tmp_path / "public.safetensors")


def test_fronts_that_cannot_be(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected at least one for the server"):
        SpeechFront.load("pocket", client_layers=3, window_s=2.0)
    with pytest.raises(ConfigError, match="expected a Whisper-type one"):
        SpeechFront.load(str(tiny), client_layers=0, window_s=2.0)
    with pytest.raises(ConfigError, match=r"model\.source"):
        SpeechFront.load(str(tmp_path / "nowhere"), client_layers=0, window_s=2.0)
