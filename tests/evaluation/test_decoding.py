"""The pocket model on noise of many lengths: however clips are batched and shared out, each gets the same transcript."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sordino.data import FeatureStore, Utterance, write_audio
from sordino.evaluation import transcribe
from sordino.models import ModelOptions, load_model

LENGTHS_S = (0.4, 5.0, 1.9, 0.9, 1.2, 0.4, 3.0, 1.6)


@pytest.fixture(scope="module")
def utterances(tmp_path_factory: pytest.TempPathFactory) -> list[Utterance]:
    folder, generator, made = tmp_path_factory.mktemp("clips"), np.random.default_rng(0), []
    for index, length in enumerate(LENGTHS_S):
        tone = np.sin(np.arange(int(16_000 * length)) * (0.05 + 0.03 * index)) * generator.uniform(0.05, 0.3)
        path = folder / f"{index}.flac"
        written = write_audio(path, (tone + 0.05 * generator.standard_normal(len(tone))).astype(np.float32))
        made.append(Utterance(audio=path, text=str(index), speaker=f"s{index % 2}", duration_s=written))
    return made


@pytest.mark.parametrize("train_encoder", [True, False])
def test_batches_and_copies_change_no_transcript(utterances: list[Utterance], train_encoder: bool) -> None:
    torch.set_num_threads(1)
    options = ModelOptions(train_encoder=train_encoder)
    model, copy = load_model(options), load_model(options)
    store = FeatureStore(model.num_mels, model.window_s)
    alone = [transcribe(model, store, [utterance])[0] for utterance in utterances]
    assert len({sample.hypothesis for sample in alone}) > 4, "the clips must differ for the test to mean something"
    assert [sample.reference for sample in alone] == [str(index) for index in range(len(utterances))]
    assert transcribe(model, store, utterances) == alone
    assert transcribe(model, store, utterances, batch_size=3, copies=[copy]) == alone
    assert transcribe(model, store, []) == []
