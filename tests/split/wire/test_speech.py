"""A Whisper's layers in another process: what comes back is what the same layers give here, to the bit."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from served import batch

from sordino.errors import ConfigError, DataError
from sordino.experiments.split.serving import serving_model
from sordino.experiments.tasks.divided import SplitServer
from sordino.models.encoders import load_encoder
from sordino.split import LocalStates
from sordino.split.speech_front import SpeechFront
from sordino.split.stacks import speech_source
from sordino.split.wire import RemoteStates
from sordino.split.wire.spawn import ServerProcess, spawned


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        limits = ("max_tokens=400", "max_message_mib=0.25")
        arguments = [word for limit in limits for word in ("--set", limit)]
        with spawned("pocket", "--client-layers", "1", *arguments) as running:
            yield running


def test_states_come_back_as_they_are_here(server: ServerProcess) -> None:
    here = LocalStates.load("pocket", client_layers=1)
    noised, mask = batch(128, (100, 41, 73))
    with RemoteStates(server.endpoint, expected=here.describe()) as remote:
        for reduction in (None, 4):
            found = remote.states(noised, mask, layers=[2, 1], reduction=reduction)
            assert torch.equal(found, here.states(noised, mask, layers=[2, 1], reduction=reduction))


def test_recordings_that_are_too_much_are_cut_apart_or_refused(server: ServerProcess) -> None:
    """0.25 MiB hold 500 frames of width 128: three recordings of 300 travel one by one."""
    here = LocalStates.load("pocket", client_layers=1)
    with RemoteStates(server.endpoint) as remote:
        noised, mask = batch(128, (300, 300, 300))
        torch.testing.assert_close(remote.states(noised, mask, layers=[2]), here.states(noised, mask, layers=[2]))
        assert remote.traffic.calls == 4  # with the question for the card
        with pytest.raises(DataError, match="max_tokens = 400, and the batch has 401"):
            remote.states(*batch(128, (401,)), layers=[1], reduction=8)
        with pytest.raises(DataError, match=r"max_message_mib = 0\.25"):
            remote.states(*batch(128, (300,)), layers=[1, 2])
        assert remote.traffic.calls == 4


def test_a_server_that_is_divided_elsewhere_is_not_taken(server: ServerProcess) -> None:
    there = server.endpoint
    place = SplitServer(place="remote", address=there.address, authority=there.authority, token=there.token)
    with (
        pytest.raises(ConfigError, match=r"leaves 1 layers to its clients: expected 0; set model\.client_layers"),
        serving_model("pocket", place, client_layers=0),
    ):
        pass
    with serving_model("pocket", place, client_layers=1) as served:
        assert served.server.describe() == served.local.describe()


def test_both_parts_together_are_the_whole_encoder(server: ServerProcess) -> None:
    """Without noise, what comes over the wire is what the encoder gave before it was divided."""
    front = SpeechFront.load("pocket", client_layers=1, window_s=2.0)
    encoder = load_encoder(speech_source("pocket"), window_s=None, stack=1, dtype=torch.float32).eval()
    log_mels = torch.randn(80, 200, generator=torch.Generator().manual_seed(0))
    with torch.no_grad(), RemoteStates(server.endpoint) as remote:
        wanted = encoder(log_mels[None], output_hidden_states=True)
        frames = front(log_mels)
        sent = (frames + front.places([len(frames)]))[None]
        first, last = remote.states(sent, torch.ones(1, 100, dtype=torch.bool), layers=[1, 2])[0]
        torch.testing.assert_close(first, wanted.hidden_states[2][0], rtol=1e-6, atol=1e-5)
        found = encoder.layer_norm(last)  # type: ignore[operator]
        torch.testing.assert_close(found, wanted.last_hidden_state[0], rtol=1e-6, atol=1e-5)
