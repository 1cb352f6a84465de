"""The published systems: sizes and groups from the kept configs, without weights, data or a network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoConfig

from sordino.experiments import load_experiment
from sordino.experiments.planning import plan_report
from sordino.models import ModelOptions, model_shapes
from sordino.models.architectures import KEPT, config_source

PAPER = Path(__file__).parents[2] / "examples" / "paper"
PROJECTOR, LINEAR = 25_165_824, 13_109_248
SYSTEMS = {
    "whisper-turbo-tinyllama": {"encoder": 1_966_080, "connector": LINEAR, "decoder": 1_126_400},
    "whisper-turbo-eurollm": {"encoder": 1_966_080, "connector": LINEAR, "decoder": 1_376_256},
    "voxtral-mini": {"encoder": 1_966_080, "connector": PROJECTOR, "decoder": 2_703_360},
}
LAYERS = {"whisper-turbo-tinyllama": 22, "whisper-turbo-eurollm": 24, "voxtral-mini": 30}


@pytest.fixture(autouse=True)
def no_network_and_no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("SORDINO_DATA", "/nowhere")


def options_of(name: str, *changes: str) -> Any:
    return load_experiment(PAPER / f"{name}.toml", changes)


@pytest.mark.parametrize("name", SYSTEMS)
def test_sizes_are_the_published_ones(name: str) -> None:
    layout = model_shapes(options_of(name).model)
    assert layout.components == SYSTEMS[name]
    matrices = [slot.component for slot in layout.slots]
    assert matrices.count("encoder") == 192
    assert matrices.count("decoder") == 4 * LAYERS[name]
    assert {slot.name for slot in layout.slots if slot.component == "connector"} == (
        {"connector.projection.linear_1.weight", "connector.projection.linear_2.weight"}
        if name == "voxtral-mini"
        else {"connector.projection.weight", "connector.projection.bias"}
    )


def test_sizes_equal_the_reference(data_root: Path) -> None:
    published = json.loads((data_root.parent / "reference.json").read_text())["computed"]["trainable_parameters_r8"]
    tinyllama, eurollm, voxtral = (model_shapes(options_of(name).model).components for name in SYSTEMS)
    assert tinyllama["encoder"] == published["whisper_large_v3_turbo_encoder_qkv"]["parameters"]
    assert tinyllama["decoder"] == published["tinyllama_1.1b_qv"]["parameters"]
    assert tinyllama["connector"] == published["linear_connector_1280k_to_2048_bias"]["k=5"]
    assert eurollm["decoder"] == published["eurollm_1.7b_qv"]["parameters"]
    assert voxtral["decoder"] == published["voxtral_mini_3b_text_qv"]["parameters"]
    assert voxtral["connector"] == published["voxtral_projector"]["parameters"]


def test_frozen_parts_are_not_sent() -> None:
    layout = model_shapes(options_of("voxtral-mini", "model.train_encoder=false", "model.train_connector=false").model)
    assert list(layout.components) == ["decoder"]


def test_the_published_guarantee_is_one_in_name_only() -> None:
    report = plan_report(options_of("whisper-turbo-tinyllama"))
    assert report["epsilon"]["pld"] == pytest.approx(1251.16, rel=1e-3)
    assert report["epsilon"]["rdp"] == pytest.approx(1335.3, rel=5e-3)
    assert report["expected_cohort"] == pytest.approx(94.8)
    assert report["z_eff"]["by_pool"]["encoder"] == pytest.approx(0.4472, abs=1e-4)
    assert min(report["z_eff"]["by_pool"].values()) == pytest.approx(0.1026, abs=1e-4)
    assert "in name only" in report["statement"]


@pytest.mark.parametrize("source", KEPT)
def test_a_kept_config_is_read_as_it_is_written(source: str) -> None:
    written = json.loads((Path(config_source(source)) / "config.json").read_text())
    read = AutoConfig.from_pretrained(config_source(source)).to_dict()
    rope = read.get("text_config", read).get("rope_parameters", {})
    for part, values in {"": written, **{k: v for k, v in written.items() if isinstance(v, dict)}}.items():
        for key, value in values.items():
            if not isinstance(value, dict):
                assert (rope[key] if key == "rope_theta" else (read[part] if part else read)[key]) == value


def test_kept_configs_have_the_sizes_of_the_real_models(weights_root: Path) -> None:
    for name in ("whisper-tiny.en", "smollm2-135m"):
        kept = AutoConfig.from_pretrained(Path(config_source("openai/whisper-tiny.en")).parent / name).to_dict()
        real = AutoConfig.from_pretrained(weights_root / name).to_dict()
        odd = {key for key, value in kept.items() if value != real[key]} - {"architectures", "dtype", "rms_norm_eps"}
        assert not {key for key in odd if not key.startswith("_")}


def test_a_source_that_is_not_known_is_read_where_it_is(tmp_path: Path) -> None:
    assert config_source(str(tmp_path)) == str(tmp_path)
    options = ModelOptions(encoder="openai/whisper-tiny.en", decoder="HuggingFaceTB/SmolLM2-135M-Instruct")
    assert model_shapes(options).components["decoder"] == 30 * 8 * (2 * 576 + 576 + 192)
