from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from sordino import ConfigError
from sordino.config import build, dump
from sordino.models import CONNECTORS, ModelOptions
from sordino.models.connectors.mlp import MLP


def test_room_and_its_options_need_no_torch() -> None:
    program = (
        "import sys; from sordino.models import CONNECTORS, ModelOptions; ModelOptions(); CONNECTORS.names();"
        "assert not {'torch', 'transformers', 'peft'} & set(sys.modules), 'heavy import'"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_nothing_named_means_the_pocket_model() -> None:
    assert ModelOptions().base == "pocket"


def test_table_round_trip() -> None:
    table = {
        "encoder": "e",
        "decoder": "d",
        "connector": {"method": "mlp", "stack": 5},
        "window_s": 3,
        "lora": {"rank": 4, "train": "b", "encoder_targets": ["fc1"]},
    }
    options = build(ModelOptions, table, at="model")
    assert options.connector == MLP(stack=5)
    assert options.lora.encoder_targets == ("fc1",)
    assert build(ModelOptions, dump(options), at="model") == options


def test_connectors_are_found_by_name() -> None:
    assert CONNECTORS.names() == ["linear", "mlp"]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"base": "pocket", "encoder": "e"}, "remove model.base"),
        ({"encoder": "e"}, "model.decoder is missing"),
        ({"decoder": "d"}, "model.encoder is missing"),
        ({"window_s": 2.0}, "remove model.window_s"),
        ({"prompt": "x"}, "remove model.prompt"),
        ({"chat": True}, "remove model.chat"),
        ({"connector": "linear"}, "remove model.connector"),
        ({"encoder": "e", "decoder": "d", "window_s": 0}, "model.window_s"),
        ({"encoder": "e", "decoder": "d", "connector": "linaer"}, "did you mean 'linear'"),
        ({"encoder": "e", "decoder": "d", "connector": {"method": "mlp", "stack": 0}}, "model.connector.stack"),
        ({"lora": {"rank": 0}}, "model.lora.rank"),
        ({"lora": {"alpha": 0}}, "model.lora.alpha"),
        ({"lora": {"dropout": 1}}, "model.lora.dropout"),
        ({"lora": {"train": "a"}}, "choose one of both, b"),
    ],
)
def test_contradictions_are_refused_with_the_remedy(table: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        build(ModelOptions, table, at="model")
