"""One contract for all methods: fitted, they give probabilities, and show the server what they say they show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sordino.data.texts import Example
from sordino.errors import ConfigError, DataError
from sordino.split import LocalStates, ModelCard
from sordino.split.embedding import ClientEmbedding
from sordino.split.embedding_gan import FittedGan
from sordino.split.exchange import Exchange
from sordino.split.fitting import FittedCorrector
from sordino.split.keeping import load_corrector, save_corrector
from sordino.split.methods import METHODS, Scene
from sordino.split.stand_in import StandIn

LABELS = ("better", "worse")


class Refusing:
    """A server that must not be asked."""

    def __init__(self, local: LocalStates) -> None:
        self._local = local

    def describe(self) -> ModelCard:
        return self._local.describe()

    def states(self, *_: object, layers: Sequence[int], reduction: int | None = None) -> torch.Tensor:
        raise AssertionError("the server was asked")


@pytest.fixture
def test_set(notes: dict[str, list[Example]], embedding: ClientEmbedding, local: LocalStates) -> Exchange:
    tokens = embedding.encode(notes["test"], labels=LABELS, max_tokens=24)
    rows = embedding.rows(tokens)
    return Exchange(tokens, clean=rows, noised=rows + 0.01, server=local)


@pytest.mark.parametrize("name", METHODS.names())
def test_contract(name: str, scene: Scene, test_set: Exchange, local: LocalStates) -> None:
    method = METHODS.get(name)()
    if method.sees == "nothing":
        scene = replace(scene, train=scene.train.with_server(Refusing(local)))
        test_set = test_set.with_server(Refusing(local))
    if method.sees == "clean":
        scene = replace(scene, train=scene.train.with_server(Refusing(local)))
    charges = len(scene.sender.ledger.charges)
    fitted = method.fit(scene)
    scores = fitted.scores(test_set)
    assert scores.shape == (16, 2)
    torch.testing.assert_close(scores.sum(dim=1), torch.ones(16))
    torch.testing.assert_close(fitted.scores(test_set), scores)
    assert len(scene.sender.ledger.charges) == charges
    torch.testing.assert_close(method.fit(scene).scores(test_set), scores)  # the same seeds, the same network


def test_only_what_a_method_names_tells_it_from_another(scene: Scene, test_set: Exchange) -> None:
    scores = {name: METHODS.get(name)().fit(scene).scores(test_set) for name in METHODS.names()}
    names = sorted(scores)
    for number, first in enumerate(names):
        for second in names[number + 1 :]:
            assert not torch.equal(scores[first], scores[second]), (first, second)


def test_a_reducer_saves_downlink(scene: Scene) -> None:
    reduced, full = (METHODS.get(name)().fit(scene).sent for name in ("hidden-echo", "no-reducer"))
    assert full.down == 4 * reduced.down
    assert full.up == reduced.up


def test_the_generator_brings_embeddings_closer_and_draws_nothing(scene: Scene) -> None:
    fitted = METHODS.get("gan-dp")(epochs=60, lr=2e-3).fit(scene)
    assert isinstance(fitted, FittedGan)
    for texts, share in ((scene.public_noised, 0.5), (scene.train, 0.95)):  # those it learned from, and others
        shown = fitted.shown(texts)
        assert shown is fitted.shown(texts)
        before, after = ((one.noised - texts.clean)[texts.mask].square().mean() for one in (texts, shown))
        assert after < share * before
    assert len(scene.sender.ledger.charges) == 1
    # The training texts went anew, denoised; the public ones went nowhere.
    assert scene.sender.tally.total == fitted.sent == scene.train.sent([6])


def test_fixed_layers_end_with_the_last(scene: Scene) -> None:
    assert METHODS.get("fixed-layers")().fit(scene).layers == (3, 6)


def test_a_corrector_is_kept_whole(scene: Scene, test_set: Exchange, local: LocalStates, tmp_path: Path) -> None:
    fitted = METHODS.get("hidden-echo")().fit(scene)
    assert isinstance(fitted, FittedCorrector)
    save_corrector(tmp_path, fitted, labels=LABELS, max_tokens=24)
    kept = load_corrector(tmp_path, server=local)
    assert (kept.labels, kept.max_tokens) == (LABELS, 24)
    torch.testing.assert_close(kept.fitted.scores(test_set), fitted.scores(test_set))
    other = StandIn(replace(local.describe(), digest="another"), lambda shape, _: torch.zeros(shape))
    with pytest.raises(ConfigError, match="was trained with"):
        load_corrector(tmp_path, server=other)
    (tmp_path / "split.json").write_text("{}", encoding="utf-8")
    with pytest.raises(DataError, match="not as sordino wrote it"):
        load_corrector(tmp_path, server=local)
    with pytest.raises(ConfigError, match="no corrector"):
        load_corrector(tmp_path / "nowhere", server=local)
