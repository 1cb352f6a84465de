"""From options to a model, to a layout without weights, and from a trained model to a base folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import torch
from torch import nn
from transformers import PreTrainedModel

from sordino.layout import ParameterLayout
from sordino.models.adapters import add_lora, copy_tensors, load_adapter
from sordino.models.checkpoints import without_progress_bars
from sordino.models.connectors import Connector
from sordino.models.decoders import Tokens, empty_decoder, load_decoder
from sordino.models.devices import available_device
from sordino.models.encoders import empty_encoder, load_encoder
from sordino.models.flat import trainable
from sordino.models.frame_stack import FrameStack
from sordino.models.options import ModelOptions
from sordino.models.prompts import in_chat
from sordino.models.recipe import BaseSettings, Recipe
from sordino.models.speech_llm import SpeechLLM
from sordino.models.voxtral import empty_voxtral, load_voxtral
from sordino.records import RunFolder

__all__ = ["load_model", "load_trained", "model_shapes", "save_base"]

_Parts: TypeAlias = tuple[PreTrainedModel, FrameStack | Connector, PreTrainedModel]
"""Encoder, a pretrained connector or the options of a new one, and decoder."""


def load_model(options: ModelOptions, *, seed: int = 0) -> SpeechLLM:
    """Loads encoder and decoder, adds connector and adapters, and freezes the rest.

    Args:
        options: the ``[model]`` table.
        seed: of what starts at random (adapters' A, a new connector). All clients must start from the same one, or
            averaging them means nothing.

    Raises:
        ConfigError: a model that is not there or does not fit, an unknown target, a window that does not fit, a device
            that is not there, or an ``options.start`` that is no run of such a model.
    """
    device = available_device(options.device)
    recipe = Recipe.of(options)
    parts = _pretrained(recipe, {"float32": torch.float32, "bfloat16": torch.bfloat16}[options.dtype])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        encoder, connector, decoder = _completed(parts, options)
    if recipe.connector_weights is not None:
        copy_tensors(connector.state_dict(), recipe.connector_weights)
    if options.gradient_checkpointing:
        for part in (encoder, decoder):
            part.activation_checkpointing_enable()
    tokens = Tokens.load(recipe.decoder)
    prompt = in_chat(recipe.prompt, tokens.tokenizer) if options.chat else recipe.prompt
    model = SpeechLLM(encoder, connector, decoder, tokens=tokens, prompt=prompt)
    if options.start is not None:
        load_adapter(model, RunFolder.open(options.start).model)
    return model if device.type == "cpu" else model.to(device)


def load_trained(options: ModelOptions, folder: Path) -> SpeechLLM:
    """Loads a model that a run has finished; where it started from need not be there any more.

    Args:
        options: the run's ``[model]`` table.
        folder: the run's ``model/``.

    Raises:
        ConfigError: as `load_model`, or ``folder`` does not fit the options.
    """
    model = load_model(replace(options, start=None))
    load_adapter(model, folder)
    return model


def model_shapes(options: ModelOptions) -> ParameterLayout:
    """The layout that `load_model` would give, from configs alone: no weights are read or made.

    Raises:
        ConfigError: as `load_model`.
    """
    recipe = Recipe.of(options)
    parts = _empty(recipe)
    with torch.device("meta"):
        encoder, connector, decoder = _completed(parts, options)
    whole = nn.ModuleDict({"encoder": encoder, "connector": connector, "decoder": decoder})
    return ParameterLayout.from_shapes((name, component, tensor.shape) for name, component, tensor in trainable(whole))


def _pretrained(recipe: Recipe, dtype: torch.dtype) -> _Parts:
    if recipe.connector is None:
        return load_voxtral(recipe.encoder, window_s=recipe.window_s, dtype=dtype)
    encoder = load_encoder(recipe.encoder, window_s=recipe.window_s, stack=recipe.connector.stack, dtype=dtype)
    return encoder, recipe.connector, load_decoder(recipe.decoder, dtype=dtype)


def _empty(recipe: Recipe) -> _Parts:
    """The same without weights, on the meta device."""
    if recipe.connector is None:
        return empty_voxtral(recipe.encoder, window_s=recipe.window_s)
    encoder = empty_encoder(recipe.encoder, window_s=recipe.window_s, stack=recipe.connector.stack)
    return encoder, recipe.connector, empty_decoder(recipe.decoder)


def _completed(parts: _Parts, options: ModelOptions) -> tuple[PreTrainedModel, FrameStack, PreTrainedModel]:
    """The parts with a connector and with adapters, and everything else frozen."""
    encoder, connector, decoder = parts
    if isinstance(connector, Connector):
        connector = FrameStack.new(
            connector, frame_width=encoder.config.d_model, token_width=decoder.config.hidden_size
        )
    lora = options.lora
    encoder_targets = lora.encoder_targets if options.train_encoder else ()
    add_lora(encoder, component="encoder", targets=encoder_targets, options=lora)
    connector.requires_grad_(options.train_connector)
    add_lora(decoder, component="decoder", targets=lora.decoder_targets, options=lora)
    return encoder, connector, decoder


def save_base(model: SpeechLLM, folder: Path, *, connector: Connector, dtype: torch.dtype = torch.float16) -> None:
    """Writes a model without adapters as a folder that ``model.base`` can name.

    Args:
        model: trained in full; moved to ``dtype``, so it is of no use afterwards.
        folder: made if absent.
        connector: the options its connector was made with.
        dtype: number format of the files; they are loaded as ``model.dtype`` says.
    """
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    with without_progress_bars():
        for part, name in ((model.encoder, "encoder"), (model.decoder, "decoder")):
            nn.Module.to(part, dtype)
            part.save_pretrained(folder / name)
    model.tokens.tokenizer.save_pretrained(str(folder / "decoder"))
    weights = {name: tensor.detach().to(dtype).cpu() for name, tensor in model.connector.state_dict().items()}
    save_file(weights, folder / "connector.safetensors", {"format": "pt"})
    BaseSettings(window_s=model.window_s, prompt=model.prompt, connector=connector).write(folder)
